// SPDX-License-Identifier: Apache-2.0
// Rank 0 hears its trainers: records of laps, saved files, bad news, and who makes no progress.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "comm/courier.hpp"
#include "core/error.hpp"
#include "schedule/lap.hpp"

namespace hopscotch {

// Rank 0: a trainer is lost, but the job may go on without it (Courier::survive_losses).
class TrainerLost : public CommError {
public:
    explicit TrainerLost(Lost const& lost) : CommError(lost.why), rank(lost.rank) {}
    Rank rank;
};

// Rank 0: a state did not arrive as it left, and is gone. Its trial must begin again from a checkpoint.
class StateDamaged : public CommError {
public:
    using CommError::CommError;
};

// Rank 0. Throws what a message tells of: CommError with a trainer's own words if it failed, TrainerLost, StateDamaged.
// Nothing otherwise.
void throw_bad_news(Incoming const& message);

// Rank 0. Takes messages into the sink until `finished` says so or nothing came for `idle_s`. Throws CommError with a
// trainer's own words if one of them fails, and names rank, host, trial, unit and seconds when one makes no batch progress.
class Pump {
public:
    Pump(Courier& courier, std::vector<std::string> hosts, double stall_s);
    void take(LapSink& sink, double timeout_s);
    int busy_trainers() const;
    std::uint64_t units_done() const;

    // Has all living trainers stop at their next batch and write every state that has no copy of its present place on the
    // disk. Returns after deadline_s at the latest: true if all of them have done both. What comes meanwhile reaches the
    // sink.
    bool pause(LapSink& sink, double deadline_s);

    // Until all living trainers have done what they were told, and what they had to say about it has reached the sink: none
    // trains a lap of a trial that has been forgotten. enough: gives up.
    void settle(LapSink& sink, std::function<bool()> const& enough);

private:
    void check_stalls();
    bool hear_from_all(MessageKind kind, LapSink& sink, double until_s);
    void hear(Rank from, MessageKind kind, int round);

    struct Progress {
        std::uint64_t batches = 0;
        double since = 0;
    };
    Courier& courier_;
    std::vector<std::string> hosts_;
    double stall_s_;
    std::vector<Progress> progress_;
    double next_check_ = 0;
    int round_ = 0;                                        // of pauses
    std::map<MessageKind, std::set<std::int32_t>> heard_;  // of this round: paused, all_saved, from these ranks
};

}  // namespace hopscotch
