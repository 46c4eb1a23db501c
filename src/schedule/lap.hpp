// SPDX-License-Identifier: Apache-2.0
// A lap: one trial, one epoch: a unit on every shard, then validation. The atom of search decisions.
#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "experiment/config.hpp"
#include "experiment/validation_scores.hpp"
#include "schedule/order.hpp"

namespace hopscotch {

inline constexpr double k_no_score = ValidationScores::none;

// A lap, and the state that a trial has at its end.
struct LapId {
    TrialId trial;
    int epoch = 0;
    constexpr auto operator<=>(LapId const&) const = default;
};

struct Lap {
    TrialId trial;
    int epoch = 0;
    int attempt = 1;
    std::int64_t release = 0;   // laps released together are equals; earlier releases run first
    double remaining_cost = 0;  // of the trial from this lap on, in FLOPs: among equals the longest runs first
    Assignment assignment;
    std::string from =
        {};  // resumed: the file in the run directory with the state to go on with; empty: where the lap before ended
    std::uint64_t from_hash = 0;  // that this state has; 0: not known (a file of an older version)
    // It starts from the state after that lap, of this trial or another, which is kept for it; empty: from its own.
    std::optional<LapId> clone_of = {};
};

struct UnitRecord {
    ShardId shard;
    TrainerId trainer;
    std::int64_t rows = 0;
    double loss_sum = 0;
    double start_unix_s = 0, seconds = 0;
    double wait_s =
        0;  // from the end of the trainer's unit before to this one's start, while it was queued; -1: was not queued
    std::uint64_t state_hash = 0;  // after the unit
};

// stopped: from outside, by what is not a function of the experiment (a user, a limit of hours).
enum class Outcome { finished, diverged, failed, stopped };

// Whose fault a failure is: the trial's own (its model threw), or that of where it ran (data that could not be read, memory
// that was not there), so that it may do better another time.
enum class Cause { trial, surroundings };

// What came of a lap; everything the journal, the metrics and the search need.
struct LapRecord {
    TrialId trial;
    int epoch = 0;
    int attempt = 1;
    Outcome outcome = Outcome::finished;
    Cause cause = Cause::trial;     // failed: through what
    std::string reason;             // diverged, failed, stopped: why, with the unit
    std::vector<UnitRecord> units;  // in visit order
    TrainerId home;
    std::int64_t hops = 0, hop_bytes = 0;
    ValidationScores valid;
    double valid_start_unix_s = 0, valid_seconds = 0;
    double lr = 0;                 // of the lap's last step
    std::uint64_t state_hash = 0;  // after its last unit
    // Of the whole state, so that each lap can be seen to begin with the right one. begin: 0: the initial state, or not
    // known (a record of an older version). end: after validation, which may move counters (a plateau schedule's); 0: the
    // lap did not finish, or not known.
    std::uint64_t begin_hash = 0, end_hash = 0;
    std::uint64_t state_bytes = 0;
    // Where trainers wait for each other; by trainer.
    std::vector<double> exposed_s;  // waited for the others, for parameters or rows, while there was nothing to compute
    std::int64_t sync_rounds = 0;   // all-reduced steps, pushes of a worker, means
    std::vector<std::int64_t> staleness;  // asynchronous servers: gradients applied n versions after the one they were of
    // Servers whose combining depends on timing: by part, the workers in the order in which their gradients came. Not
    // journalled.
    std::vector<std::vector<std::uint16_t>> server_log;
    std::vector<Order> orders;  // that came with it; given by rank 0
};

// Where finished laps go (rank 0).
class LapSink {
public:
    virtual ~LapSink() = default;
    virtual void lap_done(LapRecord const& record) = 0;
    // A file in the run directory holds a trial now: after `batch` batches of unit `step` of that epoch. Or, without a file:
    // it could not be written, and the trial is at risk until one is.
    struct Saved {
        TrialId trial;
        int epoch = 0, step = 0;
        std::int64_t batch = 0;
        std::string file;
        bool whole = true;             // false: a best state of which other trainers held parts; nobody goes on from it
        double gap_s = 0;              // what a loss would have cost a moment before: since the copy before it was made
        std::uint64_t state_hash = 0;  // of the state in the file; 0: not known (written by an older version)
        std::uint64_t begin_hash = 0;  // LapRecord::begin_hash of the lap under way there
    };
    virtual void saved(Saved const&) {}
    virtual void scored(LapRecord const&) {}  // the best trial on the test shards, in LapRecord::valid
};

}  // namespace hopscotch
