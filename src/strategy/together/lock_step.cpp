// SPDX-License-Identifier: Apache-2.0
#include "strategy/together/lock_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "comm/codec.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "experiment/config.hpp"
#include "model/state/layout.hpp"
#include "strategy/common/lap_codec.hpp"
#include "strategy/together/buckets.hpp"
#include "strategy/together/group.hpp"
#include "strategy/together/shared_lap.hpp"
#include "strategy/together/step_plan.hpp"
#include "strategy/together/sync_statistics.hpp"
#include "strategy/together/weighted_sum.hpp"

namespace hopscotch {

template <class A>
void fields(A& a, MemberEnd& m) {
    a(m.outcome, m.reason, m.units, m.hash, m.exposed_s, m.sync_rounds, m.staleness, m.gpu_use);
}

void train_steps(LockStep const& with, SharedLap& mine, StepPlan const& plan, std::int64_t first_step,
                 std::function<void(std::int64_t)> const& after_step) {
    auto& group = with.group;
    mine.before_waits([&sum = with.sum] { sum.settle(); });
    Buckets buckets(with.sum, cut_buckets(mine.layout(), bucket_sizes(with.strategy), with.config.train.optimizer));
    // A step that reports its gradients on the way cannot be a CUDA graph, and one bucket alone cannot start early.
    GradientReady ready;
    if (!with.on_device || buckets.ranges().size() > 1)
        ready = [&](std::size_t first, std::size_t last) { buckets.ready(first, last); };
    SyncStatistics statistics(group, mine.training(), with.strategy.batch_norm);
    for (auto step = first_step; step < plan.steps(); ++step) {
        statistics.begin_step(fmt::format("batch statistics of {}", place_of(mine.lap(), step)));
        buckets.begin(with.on_device ? *mine.device_gradient() : in_host_memory(mine.gradient()),
                      plan.share(group.self(), step), fmt::format("gradient of {}", place_of(mine.lap(), step)));
        mine.next_gradient(ready);
        statistics.end_step();
        buckets.finish();
        group.delay_if_injected();
        mine.update(plan.total(step));
        after_step(step + 1);
    }
    with.sum.settle();
}

namespace {

// By rows trained. Statistics of all members' rows (SyncBN) are the same on all that took part to the end, and old on
// others.
double buffer_share(Group const& group, StepPlan const& plan, NormStatistics statistics) {
    double mine = 0, all = 0;
    for (int k = 0; k < group.size(); ++k) {
        if (statistics == NormStatistics::sync && plan.rows(k, plan.steps() - 1) == 0) continue;
        for (std::int64_t step = 0; step < plan.steps(); ++step) {
            auto const rows = static_cast<double>(plan.rows(k, step));
            all += rows;
            mine += k == group.self() ? rows : 0;
        }
    }
    return mine / all;
}

template <class FloatWork, class IntegerWork>
void each_buffer(SharedLap& mine, FloatWork float_work, IntegerWork integer_work) {
    auto const state = mine.state();
    for (auto const& tensor : mine.layout().tensors) {
        if (tensor.block != Block::buffer) continue;
        auto* const at = state.data() + tensor.offset;
        if (tensor.element == Element::float32)
            float_work(reinterpret_cast<float*>(at), tensor.bytes / sizeof(float));
        else
            integer_work(reinterpret_cast<std::int64_t*>(at), tensor.bytes / sizeof(std::int64_t));
    }
}

}  // namespace

void BufferMean::average(SharedLap& mine, StepPlan const& plan, NormStatistics statistics) {
    auto const share = static_cast<float>(buffer_share(group_, plan, statistics));
    floats_.clear();
    integers_.clear();
    each_buffer(
        mine,
        [&](float const* at, std::size_t n) {
            std::transform(at, at + n, std::back_inserter(floats_), [&](float x) { return x * share; });
        },
        [&](std::int64_t const* at, std::size_t n) { integers_.insert(integers_.end(), at, at + n); });
    if ((floats_.empty() && integers_.empty()) || group_.size() == 1) return;
    auto const what = fmt::format("buffers of {}", place_of(mine.lap(), 0));
    group_.wait({group_.sum(AllReduce::deterministic, floats_, what),
                 group_.broadcast(std::as_writable_bytes(std::span(integers_)), what)});
    std::size_t f = 0, i = 0;
    each_buffer(
        mine, [&](float* at, std::size_t n) { std::copy_n(&floats_[std::exchange(f, f + n)], n, at); },
        [&](std::int64_t* at, std::size_t n) { std::copy_n(&integers_[std::exchange(i, i + n)], n, at); });
}

namespace {

void add(MemberEnd const& each, LapRecord& record) {
    bool const worse =
        record.outcome == Outcome::finished || (record.outcome == Outcome::diverged && each.outcome == Outcome::failed);
    if (each.outcome != Outcome::finished && worse) {
        record.outcome = each.outcome;
        record.reason = each.reason;
    }
    for (auto unit : each.units) {
        unit.gpu_use = each.gpu_use;
        record.units.push_back(unit);
    }
    record.sync.staleness.resize(std::max(record.sync.staleness.size(), each.staleness.size()));
    for (std::size_t i = 0; i < each.staleness.size(); ++i) record.sync.staleness[i] += each.staleness[i];
}

}  // namespace

void agree(Group& group, MemberEnd const& mine, LapRecord& record, int trainers) {
    auto const what = fmt::format("the end of trial {}, epoch {}", record.trial.value, record.epoch);
    auto const all = group.share(encode(mine), what);
    std::vector<std::uint64_t> hashes;
    std::int64_t rounds = 0;
    record.sync.exposed_s.resize(static_cast<std::size_t>(trainers));
    for (std::size_t k = 0; k < all.size(); ++k) {
        auto const each = decode<MemberEnd>(all[k]);
        add(each, record);
        hashes.push_back(each.hash);
        rounds = std::max(rounds, each.sync_rounds);
        record.sync.exposed_s[group.trainers()[k].index()] += each.exposed_s;
    }
    record.sync.rounds += rounds;
    for (std::size_t k = 1; k < hashes.size() && record.outcome == Outcome::finished; ++k)
        if (hashes[k] != hashes.front())
            throw Error(fmt::format(
                "at {}, trainers {} and {} hold different parameters ({} and {}): their gradients were not "
                "combined alike (different hardware or a damaged message?); run it again",
                what, group.trainers().front().value, group.trainers()[k].value, to_hex(hashes.front()), to_hex(hashes[k])));
}

}  // namespace hopscotch
