// SPDX-License-Identifier: Apache-2.0
#include "strategy/mop/ready_queue.hpp"

#include <algorithm>
#include <tuple>

#include "strategy/mop/units_beside.hpp"

namespace hopscotch {

MutableBytes ReadyLap::state() const { return hand ? hand->buffer.bytes() : MutableBytes{}; }

bool ReadyQueue::any(double now_s) const {
    return std::ranges::any_of(laps_, [=](ReadyLap const& lap) { return lap.ready_s <= now_s; });
}

bool ReadyQueue::goes_before(ReadyLap const& a, ReadyLap const& b) const {
    auto const rank = [this](ReadyLap const& ready) {
        auto const& [lap, step] = std::tie(ready.journey.lap, ready.journey.step);
        return std::tuple(step == shards_ ? 0 : 1, lap.release, step * lap.unit_cost - lap.remaining_cost);
    };
    return rank(a) < rank(b);
}

std::list<ReadyLap>::iterator ReadyQueue::find_first(double now_s) {
    return std::ranges::min_element(laps_, [&](ReadyLap const& a, ReadyLap const& b) {
        bool const a_late = a.ready_s > now_s, b_late = b.ready_s > now_s;
        return a_late == b_late ? goes_before(a, b) : b_late;
    });
}

ReadyLap* ReadyQueue::first(double now_s) {
    auto const found = find_first(now_s);
    return found == laps_.end() || found->ready_s > now_s ? nullptr : &*found;
}

bool ReadyQueue::goes_before_all(ReadyLap const& lap) const {
    return std::ranges::all_of(laps_, [&](ReadyLap const& other) { return goes_before(lap, other); });
}

ReadyLap ReadyQueue::take_first(double now_s) {
    auto const first = find_first(now_s);
    auto out = std::move(*first);
    laps_.erase(first);
    return out;
}

std::optional<ReadyLap> ReadyQueue::take(std::function<bool(ReadyLap const&)> const& is_it) {
    auto const found = std::ranges::find_if(laps_, is_it);
    if (found == laps_.end()) return std::nullopt;
    auto out = std::move(*found);
    laps_.erase(found);
    return out;
}

void ReadyQueue::erase(TrialId trial) {
    std::erase_if(laps_, [&](ReadyLap const& lap) { return lap.journey.lap.trial == trial; });
}

std::vector<ReadyLap const*> ReadyQueue::in_order() const {
    std::vector<ReadyLap const*> out;
    for (auto const& lap : laps_) out.push_back(&lap);
    std::ranges::stable_sort(out, [this](auto* a, auto* b) { return goes_before(*a, *b); });
    return out;
}

}  // namespace hopscotch
