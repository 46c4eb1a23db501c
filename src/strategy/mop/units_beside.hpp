// SPDX-License-Identifier: Apache-2.0
// The pipeline of units (trainer/unit_pipeline.hpp) as mop uses it. The states in hand are those that train, that train
// next, and that leave. Without a helper the hash of a unit is a part of the unit, and nothing departs here.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "comm/buffer_pool.hpp"
#include "strategy/mop/ready_queue.hpp"
#include "strategy/trainer/unit_pipeline.hpp"

namespace hopscotch {

class StateStore;
class TrialState;
struct StateLayout;
struct WorkerResources;

class StateInHand final : public PassingState {
public:
    StateInHand(Buffer state, std::shared_ptr<StateLayout const> of_state)
        : buffer(std::move(state)), layout(std::move(of_state)) {}
    std::size_t bytes() const override { return buffer.bytes().size(); }
    std::uint64_t hash() override;

    Buffer buffer;
    std::shared_ptr<StateLayout const> layout;
    std::shared_ptr<TrialState> model;  // that copies it to and from the device; null: none was here yet
    bool announced = false;
    bool trained = false;  // then hash() finds out whether each value is finite, too
    bool finite = true;
};

class UnitsBeside {
public:
    enum class Wanted { yes, no };
    UnitsBeside(WorkerResources const& resources, StateStore& store, Wanted wanted);
    ~UnitsBeside();

    // Into the hand, and out of it to another owner. take: from where it waits; no state: nothing happens.
    void take(ReadyLap& ready);
    void take(ReadyLap& ready, Buffer state);
    Buffer release(ReadyLap& ready);
    void put_back(ReadyLap& ready);  // to where it waits

    // A state in hand, before it trains or leaves otherwise. False: it was damaged on its way here.
    bool is_sound(ReadyLap const& ready) { return pipeline_->admit(as_passing(ready)); }

    // The lap that trains next, while a unit trains: its state is checked, and goes to the device, if that can be done now.
    void announce(ReadyLap& next);

    // Whether a unit's hash is computed beside the next unit. depart: the helper hashes the state, completes the record, and
    // calls leave if the trial goes on. landed: the laps that did not leave, or whose trial has diverged or failed.
    bool departs(ReadyLap const& ready) const;
    enum class Then { left, lands };
    void depart(ReadyLap ready, std::function<Then(ReadyLap&)> leave);
    std::vector<ReadyLap> landed();
    bool has_helper() const { return helper_ != nullptr; }
    bool busy() const;  // a state departs, or has landed
    void settle() { pipeline_->settle(); }

private:
    static std::shared_ptr<PassingState> as_passing(ReadyLap const& ready) { return ready.hand; }

    WorkerResources const& resources_;
    StateStore& store_;
    std::unique_ptr<TransferSlots> slots_;
    std::unique_ptr<Helper> helper_;  // null: none
    std::size_t worth_bytes_ = 0;
    mutable std::mutex mutex_;
    std::vector<ReadyLap> landed_;
    std::unique_ptr<UnitPipeline> pipeline_;  // first to go: it waits for what uses the others
};

}  // namespace hopscotch
