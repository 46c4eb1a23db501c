// SPDX-License-Identifier: Apache-2.0
// The laps that wait at one trainer, and the rule for the next one.
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/byte_view.hpp"
#include "core/ids.hpp"
#include "strategy/common/journey.hpp"
#include "strategy/trainer/waiting_state.hpp"

namespace hopscotch {

class StateInHand;  // mop/units_beside.hpp

// A lap whose next unit is here.
struct ReadyLap {
    static constexpr double k_asks = std::numeric_limits<double>::infinity();

    Journey journey;
    WaitingState waiting;  // empty: the state is in the file lap.from, or the trial's very first unit builds it
    double ready_s = 0;    // run.inject can delay a hop: not before this time; k_asks: rank 0 has not answered yet
    std::uint64_t expected_hash = 0;  // of a state that arrived from another trainer, until it is in hand; 0: it is good
    Rank from = {};                   // that trainer's
    std::shared_ptr<StateInHand> hand = {};  // while it trains, or trains next; then `waiting` is empty

    MutableBytes state() const;  // in hand; empty: none is
    bool asks() const { return ready_s == k_asks; }
};

// Validation first, then release order, then the most work left, then the lap that came first. The work left counts units,
// not laps: else, of equal trials, the last would wait until the others have ended their laps.
class ReadyQueue {
public:
    explicit ReadyQueue(int shards) : shards_(shards) {}

    void push(ReadyLap lap) { laps_.push_back(std::move(lap)); }
    bool any(double now_s) const;  // that may go now
    // Requires any. Times are monotonic seconds.
    ReadyLap take_first(double now_s);
    std::optional<ReadyLap> take(std::function<bool(ReadyLap const&)> const& is_it);
    void erase(TrialId trial);

    ReadyLap* first(double now_s);  // that take_first would take, and that may go now; null: none
    bool goes_before_all(ReadyLap const& lap) const;
    std::list<ReadyLap>& laps() { return laps_; }   // in the order in which they came
    std::vector<ReadyLap const*> in_order() const;  // in which they will go

private:
    std::list<ReadyLap>::iterator find_first(double now_s);
    bool goes_before(ReadyLap const& a, ReadyLap const& b) const;

    int shards_;
    std::list<ReadyLap> laps_;
};

}  // namespace hopscotch
