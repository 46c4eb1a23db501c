// SPDX-License-Identifier: Apache-2.0
// A trial as the schedule sees it: its status, and the decisions that change it.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "schedule/lap.hpp"

namespace hopscotch {

struct TrialConfig;

enum class TrialStatus { waiting, running, finished, stopped, paused, diverged, failed, interrupted };
std::string_view name_of(TrialStatus status);
bool has_ended(TrialStatus status);  // neither waiting nor running nor paused

struct TrialView {
    TrialId id;
    Assignment assignment;  // of the last released lap: a trial that becomes a clone takes new values
    std::shared_ptr<TrialConfig const> config = {};  // the experiment with this assignment
    TrialStatus status = TrialStatus::waiting;
    std::string reason;
    int epochs_wanted = 0, epochs_done = 0;  // wanted: up to the next decision
    int first_epoch = 0;                     // of a clone: the epochs before were its source's, and count as done
    int epochs_released = 0;                 // laps before this one are done or with trainers
    double unit_cost = 0;                    // FLOPs of one unit
    Route route = {};
};

// A decision of the search or of an order, in the order of the decisions: for the journal and for people.
struct Decision {
    enum class Kind { start, resume, go_on, finish, pause, clone, stop } kind = Kind::start;
    TrialId trial = {};
    int epoch = -1;       // the last lap that the search had heard of; start: -1
    int until_epoch = 0;  // start, resume, go_on, clone: the next decision point
    LapId source = {};    // clone
    std::string why = {};
    double virtual_time = 0;  // by arrival: the number of records so far
};
std::string_view name_of(Decision::Kind kind);

}  // namespace hopscotch
