// SPDX-License-Identifier: Apache-2.0
#include "model/gpu/admission.hpp"

#include <c10/util/Exception.h>

#include <algorithm>

namespace hopscotch {
namespace {

// Libraries allocate workspaces in the first batch and keep them. Trainers that are threads of one process see each other's
// allocations in the peak: the least of several batches is what a batch takes for certain.
constexpr int k_measured = 3;

}  // namespace

std::int64_t Admission::activations(BatchKind const& kind) const {
    auto const found = taken_.find(kind);
    return found == taken_.end() ? 0 : found->second.bytes;
}

void Admission::admit(TrainingNeed missing, std::int64_t held, std::string const& model) {
    missing.activations = activations({model, missing.batch_size});
    auto const lasting = missing.state + missing.gradient, all = lasting + missing.activations;
    if (all == 0 || (lasting == 0 && all <= allocator_->spare())) return;  // as for every unit but the first
    if (lasting > 0) make_room_(lasting);
    auto memory = allocator_->memory();
    if (all > memory.free) {
        make_room_(all);
        memory = allocator_->memory();
    }
    auto const why = refusal(missing, memory, device_);
    memory.free += held;
    if (why) throw DoesNotFit(*why, why_it_does_not_fit(memory));
}

void Admission::note(Taken& known, std::int64_t bytes) {
    known.bytes = known.batches == 0 ? bytes : std::min(known.bytes, bytes);
    ++known.batches;
}

std::optional<Admission::Failure> Admission::try_once(Attempt const& attempt) {
    auto& known = taken_[attempt.kind];
    bool const measures = known.batches < k_measured;
    if (measures) allocator_->watch_peak();
    auto const before = measures ? allocator_->allocated() : 0;
    auto const taken = [&] { return measures ? std::max<std::int64_t>(0, allocator_->peak() - before) : known.bytes; };
    try {
        attempt.work();
    } catch (c10::OutOfMemoryError const& error) {
        return Failure{taken(), error.what_without_backtrace()};
    }
    if (measures) note(known, taken());
    return std::nullopt;
}

void Admission::run(Attempt const& attempt) {
    auto failure = try_once(attempt);
    if (failure && attempt.undo) {
        make_room_(k_everything);
        allocator_->empty_cache();
        attempt.undo();
        failure = try_once(attempt);
    }
    if (!failure) return;
    auto need = attempt.held;
    need.batch_size = attempt.kind.rows;
    need.activations = std::max(activations(attempt.kind), failure->taken + requested_bytes(failure->torch_says));
    auto memory = allocator_->memory();
    memory.free += need.state + need.gradient;  // they are there
    throw DoesNotFit(out_of_memory(need, memory, device_, failure->torch_says), why_it_does_not_fit(memory));
}

}  // namespace hopscotch
