// SPDX-License-Identifier: Apache-2.0
#include "strategy/baselines/parameter_server/server_replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "comm/activity.hpp"
#include "comm/buffer_pool.hpp"
#include "core/error.hpp"
#include "core/ids.hpp"
#include "data/dataset/manifest.hpp"
#include "model/state/layout.hpp"
#include "model/trial/trial_state.hpp"
#include "schedule/lap.hpp"
#include "strategy/baselines/parameter_server/parts.hpp"
#include "strategy/baselines/parameter_server/served_part.hpp"
#include "strategy/together/shared_lap.hpp"

namespace hopscotch {
namespace {

Experiment without_injection(Experiment experiment) {
    experiment.run.inject = {};
    return experiment;
}

std::span<float> floats_at(MutableBytes state, std::size_t offset) {
    return {reinterpret_cast<float*>(state.data() + offset), (state.size() - offset) / sizeof(float)};
}

// As GroupTrainer does at the end of a lap.
void average_buffers(std::vector<MutableBytes> const& states, std::vector<double> const& shares, StateLayout const& layout) {
    for (auto const& tensor : layout.tensors) {
        if (tensor.block != Block::buffer || states.size() == 1) continue;
        std::vector<float> mean(tensor.element == Element::float32 ? tensor.bytes / sizeof(float) : 0);
        for (std::size_t k = 0; k < states.size(); ++k)
            for (std::size_t i = 0; i < mean.size(); ++i) {
                auto const term = floats_at(states[k], tensor.offset)[i] * static_cast<float>(shares[k]);
                mean[i] = k == 0 ? term : mean[i] + term;
            }
        for (auto const& state : states) {
            std::ranges::copy(mean, floats_at(state, tensor.offset).begin());
            if (mean.empty() && state.data() != states.front().data())
                std::memcpy(state.data() + tensor.offset, states.front().data() + tensor.offset, tensor.bytes);
        }
    }
}

}  // namespace

struct ServerReplay::Worker {
    Worker(Experiment const& experiment, OwnerTable const& owners, TrainerId trainer, ModelFactory const& factory)
        : runner(experiment, owners.shards_of(trainer), {trainer}, factory) {}

    TrialRunner runner;
    Activity activity;
    Buffer state;
    std::optional<SharedLap> mine;
    std::int64_t step = -1;      // of the gradient that the model holds
    std::vector<bool> sent;      // parts of it that a server has taken
    std::vector<bool> returned;  // parts that came back since
};

ServerReplay::ServerReplay(Experiment experiment, OwnerTable owners, ModelFactory const& factory)
    : experiment_(without_injection(std::move(experiment))),
      owners_(std::move(owners)),
      pool_(std::make_shared<BufferPool>()) {
    auto const group = group_of(owners_);
    for (auto const trainer : group) {
        workers_.push_back(std::make_unique<Worker>(experiment_, owners_, trainer, factory));
        if (experiment_.strategy.scale_lr) workers_.back()->runner.scale_lr(static_cast<int>(group.size()));
    }
}

ServerReplay::~ServerReplay() = default;

void ServerReplay::begin(Lap const& lap) {
    auto const& config = worker(0).runner.config_of(lap);
    auto const sizes = local_batches(experiment_.strategy, config, static_cast<int>(workers_.size()));
    for (std::size_t k = 0; k < workers_.size(); ++k) {
        auto& each = *workers_[k];
        if (!each.state) each.state = each.runner.initial_state(lap, *pool_);
        each.mine.emplace(each.runner,
                          SharedLap::Part{lap, each.state.bytes(), own_visits(owners_, each.runner.self(), lap.trial),
                                          sizes[k]},
                          each.activity);
        each.step = -1;
    }
    auto& first = worker(0);
    auto const& layout = first.runner.layout(lap);
    auto const counters = counters_of(first.state.bytes(), layout);
    lap_ = std::make_shared<ServedLap>(ServedLap{
        experiment_.strategy, config.train, make_step_plan({first.runner.manifest(), owners_, config, lap.trial, sizes})});
    lap_->train_rows = first.runner.manifest().rows(Split::train);
    lap_->steps = *counters.steps;
    lap_->samples = *counters.samples;
    lap_->reductions = counters.reductions == nullptr ? 0 : *counters.reductions;
    auto const servers = servers_of(experiment_.strategy, static_cast<int>(workers_.size()));
    bool const fresh = parts_.empty();
    for (auto const& [range, server] : parts_of(experiment_.strategy, config.train, layout, servers))
        if (fresh) parts_.emplace_back(PartUpdate(config.train, layout, {range.first, range.size}, first.state.bytes()));
    for (auto& part : parts_) part.begin(lap_);
}

// The next gradient, with the parameters that came back. Between two gradients the state is in host memory.
void ServerReplay::compute(int k) {
    auto& each = worker(k);
    if (each.step >= 0) each.mine->store();
    if (++each.step == lap_->plan.own_steps(k)) return;
    each.mine->next_gradient();
    each.mine->fetch();
    each.sent.assign(parts_.size(), false);
    each.returned.assign(parts_.size(), false);
}

// False: the worker has not come so far yet.
bool ServerReplay::take(std::size_t p, int k) {
    auto& each = worker(k);
    if (each.step >= lap_->plan.own_steps(k) || each.sent[p]) return false;
    auto& part = parts_[p];
    auto const range = part.values().range();
    auto gradient = pool_->acquire(range.size * sizeof(float));
    auto const share = static_cast<float>(lap_->share(k, each.step));
    std::ranges::transform(each.mine->gradient().subspan(range.first, range.size), floats_at(gradient.bytes(), 0).begin(),
                           [share](float x) { return share == 1 ? x : x * share; });
    each.sent[p] = true;
    for (auto const& answer : part.take(k, each.step, std::move(gradient))) {
        auto& reader = worker(answer.worker);
        std::ranges::copy(part.values().parameters(), floats_at(reader.state.bytes(), range.first * sizeof(float)).begin());
        reader.returned[p] = true;
        if (std::ranges::find(reader.returned, false) == reader.returned.end()) compute(answer.worker);
    }
    return true;
}

// Every part goes on as far as its log and the workers allow, in turns. Gradients after the end of a log change nothing
// there.
void ServerReplay::follow(std::vector<std::vector<std::uint16_t>> const& log) {
    auto const workers = static_cast<int>(workers_.size());
    std::vector<std::size_t> at(parts_.size(), 0);
    for (bool moved = true; std::exchange(moved, false);) {
        for (std::size_t p = 0; p < parts_.size(); ++p) {
            for (; at[p] < log[p].size() && log[p][at[p]] < workers && take(p, log[p][at[p]]); ++at[p]) moved = true;
            for (int k = 0; at[p] == log[p].size() && k < workers; ++k) moved |= take(p, k);
        }
    }
    for (int k = 0; k < workers; ++k)
        if (worker(k).step < lap_->plan.own_steps(k))
            throw DataError(fmt::format("the servers' log ends before worker {} has finished step {}: it is not of this lap",
                                        k, worker(k).step));
}

void ServerReplay::end() {
    auto const& layout = worker(0).mine->layout();
    std::vector<MutableBytes> states;
    std::vector<double> shares;
    std::int64_t all = 0;
    for (std::int64_t step = 0; step < lap_->plan.steps(); ++step) all += lap_->plan.total(step);
    for (int k = 0; k < static_cast<int>(workers_.size()); ++k) {
        auto& each = worker(k);
        each.mine->finish();
        auto const counters = counters_of(each.state.bytes(), layout);
        *counters.steps += lap_->last_version();
        *counters.samples += all;
        std::int64_t rows = 0;
        for (std::int64_t step = 0; step < lap_->plan.own_steps(k); ++step) rows += lap_->plan.rows(k, step);
        shares.push_back(static_cast<double>(rows) / static_cast<double>(all));
        states.push_back(each.state.bytes());
        for (auto const& part : parts_)  // of a worker without rows, too
            std::ranges::copy(part.values().parameters(),
                              floats_at(states.back(), part.values().range().first * sizeof(float)).begin());
    }
    average_buffers(states, shares, layout);
    auto const slots = slot_ranges(layout);
    for (auto const& part : parts_)
        for (int kind = 0; kind < part.values().slots(); ++kind) {
            auto const first = slots[static_cast<std::size_t>(kind)].first + part.values().range().first;
            std::ranges::copy(part.values().slot(kind), floats_at(states.front(), first * sizeof(float)).begin());
        }
}

std::uint64_t ServerReplay::train(Lap const& lap, std::vector<std::vector<std::uint16_t>> const& log,
                                  LapRecord const& recorded) {
    begin(lap);
    if (log.size() != parts_.size())
        throw DataError(fmt::format("the servers' log of trial {}, epoch {} has {} parts, the model {}", lap.trial.value,
                                    lap.epoch, log.size(), parts_.size()));
    for (int k = 0; k < static_cast<int>(workers_.size()); ++k) compute(k);
    follow(log);
    end();
    auto const hash = state_hash(worker(0).state.bytes(), worker(0).mine->layout());
    for (auto& each : workers_) {
        if (each->mine->outcome() != Outcome::finished) throw DataError(each->mine->reason());
        each->mine.reset();
        each->runner.end_epoch(lap, each->state.bytes(), recorded);
    }
    return hash;
}

}  // namespace hopscotch
