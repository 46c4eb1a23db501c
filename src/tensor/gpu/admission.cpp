// SPDX-License-Identifier: Apache-2.0
#include "tensor/gpu/admission.hpp"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "core/error.hpp"
#include "core/log.hpp"

namespace hopscotch {
namespace {

// Libraries allocate workspaces in the first batch and keep them. Trainers that are threads of one process see each other's
// allocations in the peak: the least of several batches is certain to be the batch's own.
constexpr int k_measured = 3;

bool contains_any(std::string_view text, std::span<std::string_view const> words) {
    return std::ranges::any_of(words, [&](std::string_view each) { return text.find(each) != text.npos; });
}

std::string first_line_of(std::string const& text) { return text.substr(0, text.find('\n')); }

}  // namespace

NoMemory no_memory_in(std::string_view text) {
    using namespace std::string_view_literals;
    constexpr std::array k_always{"out of memory"sv, "cudaErrorMemoryAllocation"sv, "CUBLAS_STATUS_ALLOC_FAILED"sv,
                                  "CUDNN_STATUS_ALLOC_FAILED"sv, "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED"sv};
    // Messages about handles and plans that could not be made.
    constexpr std::array k_maybe{"unable to find an engine"sv,      "CUBLAS_STATUS_NOT_INITIALIZED"sv,
                                 "CUDNN_STATUS_NOT_INITIALIZED"sv,  "CUDNN_STATUS_INTERNAL_ERROR"sv,
                                 "CUDNN_STATUS_EXECUTION_FAILED"sv, "CUSOLVER_STATUS_INTERNAL_ERROR"sv};
    if (contains_any(text, k_always)) return NoMemory::yes;
    return contains_any(text, k_maybe) ? NoMemory::maybe : NoMemory::no;
}

bool Admission::found_no_memory(std::string_view text) const try {
    auto const said = no_memory_in(text);
    if (said != NoMemory::maybe) return said == NoMemory::yes;
    auto const memory = allocator_->memory();
    return memory.free < memory.total / 16;
} catch (std::exception const&) {  // a kernel has broken the device: the text tells more than this error
    return false;
}

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
    auto const refused_before = allocator_->refusals();
    auto const taken = [&] { return measures ? std::max<std::int64_t>(0, allocator_->peak() - before) : known.bytes; };
    try {
        attempt.work();
    } catch (c10::OutOfMemoryError const& error) {
        return Failure{taken(), error.what_without_backtrace()};
    } catch (DoesNotFit const&) {
        throw;
    } catch (std::exception const& error) {
        if (!found_no_memory(error.what())) throw;
        return Failure{taken(), first_line_of(error.what())};
    }
    if (measures) note(known, taken());
    if (allocator_->refusals() > refused_before) warn_of_refusals(attempt.kind);
    return std::nullopt;
}

void Admission::warn_of_refusals(BatchKind const& kind) {
    if (!warned_.insert(kind.model).second) return;
    log_warning(fmt::format(
        "a batch of {} rows was trained on {}, but a library found no memory for its workspace and took another algorithm: "
        "bits may differ from those of a trainer with more memory ({}); take a smaller train.batch_size, or fewer trainers "
        "for each GPU",
        kind.rows, device_, kind.model));
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
