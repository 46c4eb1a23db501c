// SPDX-License-Identifier: Apache-2.0
// The trainer's half of mop. mop.cpp: laps and their turns on this trainer. mop_hops.cpp: states that come and go.
#pragma once
#include <deque>
#include <exception>
#include <map>
#include <optional>
#include <set>

#include "core/histogram.hpp"
#include "strategy/mop/mop_messages.hpp"
#include "strategy/mop/ready_queue.hpp"
#include "strategy/mop/units_beside.hpp"
#include "strategy/together/unit_group.hpp"
#include "strategy/trainer/trainer_loop.hpp"

namespace hopscotch {

class MopWorker : public TrainerLoop {
public:
    explicit MopWorker(WorkerResources const& resources);

private:
    void handle(Incoming message) override;
    void accept_lap(Lap lap);
    void accept_visit(Visit const& visit);
    void accept_state(Incoming message);
    void start_next(TrialId trial);
    void leave_waiting(TrialId trial) override;
    void leave_lap(ReadyLap& ready);
    void drop(TrialId trial) override;
    void save_queued() override;
    bool may_work() const override;
    void settle() override;
    void between_updates() override;
    void add_totals(Goodbye& goodbye) const override { goodbye.hop_s = hop_s_; }
    void work() override;

    bool validating(ReadyLap const& ready) const;
    void balance();
    // The result of one turn: a unit, a piece of validation (validated: the last one), or neither.
    enum class Step { trained, validates, validated, damaged, failed };
    Step run(ReadyLap& ready);
    void train_unit(ReadyLap& ready, UnitStart const& start);
    bool departs(ReadyLap const& ready);
    void depart(ReadyLap ready);
    void land();
    Step validate_lap(ReadyLap& ready);
    bool prepare(ReadyLap& ready);
    bool is_as_it_left(ReadyLap const& ready, ByteView state) const;
    TrainerId next_of(ReadyLap const& ready) const;
    bool came_damaged(ReadyLap& ready);
    void continue_from_file(ReadyLap ready);
    void enqueue(ReadyLap ready);
    void hold(ReadyLap ready);
    void ask(ReadyLap ready);
    void tell(Turn::What what, ReadyLap const& ready);
    void end_trial(ReadyLap& ready);
    void end_lap(ReadyLap& ready);
    void move_on(ReadyLap ready);
    void hop(TrainerId next, ReadyLap ready);
    void go_to(TrainerId next, Journey& journey, Buffer state, StateLayout const& layout);

    bool dispatched_;  // by rank 0: strategy.policy
    struct AtHome {
        std::deque<Lap> laps;  // released, not yet started
        bool under_way = false;
    };
    std::map<TrialId, AtHome> at_home_;
    ReadyQueue ready_;
    std::optional<UnitGroup> group_;  // that this trainer leads
    std::set<TrialId> dropped_;
    double last_end_s_ = 0;
    Histogram hop_s_;                       // from push to arrival
    double next_look_s_ = 0;                // for arrivals, in the middle of a unit
    std::exception_ptr trouble_;            // of such a look
    std::optional<ReadyLap> leaves_first_;  // place of the lap that departs to this trainer: it may be the next to run
    UnitsBeside beside_;                    // first to go
};

}  // namespace hopscotch
