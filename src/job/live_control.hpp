// SPDX-License-Identifier: Apache-2.0
// Rank 0: requests of users (`hopscotch ctl`) and the limits of hours become orders. An order comes with the next lap that
// ends. It is in the journal before the user gets the answer, so a job that resumes the run obeys it, too.
#pragma once
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "experiment/assignment.hpp"
#include "rundir/inbox.hpp"
#include "schedule/lap.hpp"

namespace hopscotch {

class Dispatcher;
class Recorder;
struct PreparedRun;
struct TrialView;

class LiveControl {
public:
    // All arguments must outlive this. leave: makes the trainers leave the lap of a trial.
    using Leave = std::function<void(TrialId, std::string const& why)>;
    LiveControl(PreparedRun const& prepared, Recorder& recorder, Leave leave, Dispatcher& dispatcher);

    // Takes and answers new requests, at most every half second.
    void tick();

    // The orders that come with this lap. They no longer wait.
    std::vector<Order> orders_with(LapRecord const& record);

    // False if an order stopped the lap and was taken back since: then the lap never happened.
    bool counts(LapRecord const& record) const { return record.outcome != Outcome::stopped || left_.contains(record.trial); }

    // Laps whose ends ordered clones will begin with, once these are released.
    std::set<LapId> sources_to_hold() const;

    bool has_ordered() const { return has_ordered_; }  // in any job of this run

private:
    Answer answer_to(LiveRequest const& request);
    Answer finish();
    Answer stop(TrialView const& trial);
    Answer resume(TrialView const& trial);
    Answer clone(TrialView const& trial, Assignment const& changes);
    std::optional<int> epoch_to_clone(TrialView const& trial) const;
    void give(Order order);
    void check_hours(LapRecord const& record);
    bool finishing() const;
    bool is_waiting(Order::Kind kind, TrialId trial) const;
    void leave(TrialId trial, std::string const& why);

    PreparedRun const& prepared_;
    Recorder& recorder_;
    Leave leave_;
    Dispatcher& dispatcher_;
    Inbox inbox_;
    std::vector<Order> waiting_;  // for a lap
    std::set<TrialId> left_;      // by orders of this job
    bool has_ordered_ = false;
    double started_s_, next_look_s_ = 0;
};

}  // namespace hopscotch
