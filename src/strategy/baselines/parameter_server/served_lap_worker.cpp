// SPDX-License-Identifier: Apache-2.0
#include "strategy/baselines/parameter_server/served_lap_worker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "comm/codec.hpp"
#include "comm/courier.hpp"
#include "core/error.hpp"
#include "model/state/state.hpp"
#include "strategy/baselines/parameter_server/served_part.hpp"
#include "strategy/baselines/parameter_server/server_messages.hpp"
#include "strategy/together/shared_lap.hpp"

namespace hopscotch {

ServedLapWorker::ServedLapWorker(Courier& courier, SharedLap& mine, ServedLap const& lap, Seat seat)
    : courier_(courier), mine_(mine), lap_(lap), seat_(std::move(seat)), log_(seat_.parts.size()) {}

std::span<float> ServedLapWorker::parameters() {
    return {floats(), mine_.layout().end_of(Block::parameter) / sizeof(float)};
}

float* ServedLapWorker::floats() { return reinterpret_cast<float*>(mine_.state().data()); }

void ServedLapWorker::push_step(std::int64_t step) {
    missing_.clear();
    for (auto const& part : seat_.parts) missing_.push_back(part.range.size);
    here_.assign(seat_.parts.size(), false);
    awaited_ = seat_.parts.size();
    auto const ready = [&](std::size_t first, std::size_t last) {
        for (std::size_t p = 0; p < seat_.parts.size(); ++p) {
            auto const& range = seat_.parts[p].range;
            auto const from = std::max(first, range.first), to = std::min(last, range.first + range.size);
            if (from >= to || missing_[p] == 0) continue;
            missing_[p] -= std::min(missing_[p], to - from);
            if (missing_[p] == 0) push(p, step);
        }
    };
    mine_.next_gradient(ready);
    for (std::size_t p = 0; p < seat_.parts.size(); ++p)
        if (std::exchange(missing_[p], 0) > 0) push(p, step);
}

// The parts of front layers come last out of the backward pass. Idle servers answer these parts first.
void ServedLapWorker::push(std::size_t part, std::int64_t step) {
    auto const& [range, server] = seat_.parts[part];
    auto const gradient = mine_.gradient().subspan(range.first, range.size);
    auto buffer = courier_.pool().acquire(range.size * sizeof(float));
    auto* const to = reinterpret_cast<float*>(buffer.bytes().data());
    auto const share = static_cast<float>(lap_.share(seat_.self, step));
    std::ranges::transform(gradient, to, [share](float x) { return share == 1 ? x : x * share; });
    GradientPart const header{mine_.lap().trial, mine_.lap().epoch, static_cast<int>(part), seat_.self, step};
    courier_.push(seat_.servers[static_cast<std::size_t>(server)], encode(header), std::move(buffer), MessageKind::gradient);
}

void ServedLapWorker::ask() {
    here_.assign(seat_.parts.size(), false);
    awaited_ = seat_.parts.size();
    for (std::size_t p = 0; p < seat_.parts.size(); ++p) {
        GradientPart const header{mine_.lap().trial, mine_.lap().epoch, static_cast<int>(p), seat_.self, -1};
        courier_.send(seat_.servers[static_cast<std::size_t>(seat_.parts[p].server)], MessageKind::pull, encode(header));
    }
}

void ServedLapWorker::await_ends() {
    bool const slots = !slot_ranges(mine_.layout()).empty();
    bool const some = (slots || lap_.config.server.mode != ServerMode::sync) && lap_.last_version() > 0;
    awaited_ends_ = some ? seat_.parts.size() - ends_ : 0;
}

void ServedLapWorker::take(Incoming message) {
    ++courier_.activity().batches;  // a sign of life: other workers have progressed
    if (message.kind == MessageKind::slots) return take_end(message);
    take_parameters(message);
}

void ServedLapWorker::take_parameters(Incoming const& message) {
    auto const about = decode<ParametersPart>(message.body);
    if (about.part < 0) return;
    auto const p = static_cast<std::size_t>(about.part);
    require(about.trial == mine_.lap().trial && about.epoch == mine_.lap().epoch && p < here_.size() && !here_[p],
            fmt::format("parameters of part {} of trial {}, epoch {} came unasked", p, about.trial.value, about.epoch));
    auto const& range = seat_.parts[p].range;
    auto const bytes = message.state.bytes();
    require(bytes.size() == range.size * sizeof(float), "the length of parameters is not that of their part");
    std::copy_n(reinterpret_cast<float const*>(bytes.data()), range.size, floats() + range.first);
    here_[p] = true;
    step_staleness_ = std::max(step_staleness_, about.staleness);
    if (--awaited_ > 0) return;
    auto const staleness = static_cast<std::size_t>(std::exchange(step_staleness_, 0));
    if (about.step < 0 || lap_.config.server.mode == ServerMode::sync) return;
    staleness_.resize(std::max(staleness_.size(), staleness + 1));
    ++staleness_[staleness];
}

void ServedLapWorker::take_end(Incoming const& message) {
    auto end = decode<PartEnd>(message.body);
    auto const p = static_cast<std::size_t>(end.part);
    require(end.trial == mine_.lap().trial && end.epoch == mine_.lap().epoch && p < seat_.parts.size(),
            "slots that no one awaits");
    auto const& range = seat_.parts[p].range;
    auto const* from = reinterpret_cast<float const*>(message.state.bytes().data());
    auto const slots = slot_ranges(mine_.layout());
    require(message.state.bytes().size() == slots.size() * range.size * sizeof(float),
            "the length of slots is not that of their part");
    for (auto const& slot : slots) {
        std::copy_n(from, range.size, floats() + slot.first + range.first);
        from += range.size;
    }
    log_[p] = std::move(end.order);
    ++ends_;
    if (awaited_ends_ > 0) --awaited_ends_;
}

std::string ServedLapWorker::servers_awaited() const {
    std::set<int> ranks;
    for (std::size_t p = 0; p < here_.size(); ++p)
        if (!here_[p]) ranks.insert(seat_.servers[static_cast<std::size_t>(seat_.parts[p].server)].value);
    std::string out;
    for (int const rank : ranks) out += fmt::format("{}{}", out.empty() ? "" : ", ", rank);
    return out;
}

}  // namespace hopscotch
