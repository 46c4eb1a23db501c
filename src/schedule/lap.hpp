// SPDX-License-Identifier: Apache-2.0
// A lap: one trial, one epoch: a unit on every shard, then validation. The atom of search decisions.
#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "experiment/assignment.hpp"
#include "experiment/validation_scores.hpp"
#include "schedule/visit.hpp"

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
    std::string from = {};               // resumed: the file in the run directory that the lap starts from; empty: no file
    std::uint64_t from_hash = 0;         // of the state in the file; 0: not known (a file of an older version)
    std::optional<LapId> clone_of = {};  // begins with the end of that lap, of any trial; empty: with its trial's last state
    Route route = {};
    double unit_cost = 0;               // FLOPs of one unit
    std::vector<ShardId> repeats = {};  // of a dispatched policy, trained again: its shards in their original order
    LapId id() const { return {trial, epoch}; }
};

struct UnitRecord {
    ShardId shard;
    TrainerId trainer;
    std::int64_t rows = 0;
    double loss_sum = 0, start_unix_s = 0, seconds = 0;
    double wait_s = 0;  // between the trainer's last unit and this one, while this one was queued; -1: it was not queued
    std::uint64_t state_hash = 0;     // after the unit
    double cpu_s = -1, gpu_use = -1;  // of `seconds`: the thread's CPU seconds, the GPU's busy share; -1: not measured
    std::vector<double> parts = {};   // for the trace alone (core/unit_parts.hpp)
};

struct UnitTotals {
    std::int64_t count = 0, rows = 0;
    double loss_sum = 0, seconds = 0, end_unix_s = 0;         // added in visit order; of all; of the unit that ended last
    double cpu_s = 0, cpu_of_s = 0, gpu_s = 0, gpu_of_s = 0;  // busy seconds, and seconds, of the units that were measured
};

// Where a run directory holds the units of a lap (rundir/unit_file.hpp), and their sums.
struct UnitsAt {
    int job = 0;  // whose file; 0: the units are not in a file
    std::uint64_t offset = 0;
};
struct StoredUnits {
    UnitsAt at;
    UnitTotals totals;
};

enum class Outcome { finished, diverged, failed, stopped };  // stopped: by an order (a user, a limit of hours)
enum class Cause { trial, surroundings };  // of a failure: the model threw; data or memory was missing, which may pass

// An order of a user, or a limit of hours, which acts as one. It comes with the record of a lap and is obeyed when that lap
// is delivered. So a director that gets the same records takes the same decisions (docs/decisions/0024).
struct Order {
    enum class Kind {
        stop,    // the trial ends now, as stopped; the search hears that it failed
        resume,  // a paused or stopped trial goes on to its train.epochs; the search no longer decides about it
        clone,   // a new trial, unknown to the search, begins with the source's state at the end of a lap, once that has
                 // ended; or of its last lap, if it ends before. Without any lap the clone waits until the source is resumed
        finish   // no trial starts or goes on
    } kind = Kind::stop;
    TrialId trial = {};          // clone: the source; finish: none
    int epoch = -1;              // clone: the source's lap
    Assignment assignment = {};  // clone: every value of the new trial
    std::string why;             // for people: "stopped by a user"
};
std::string_view name_of(Order::Kind kind);

struct LapValidation : ValidationScores {
    using ValidationScores::operator=;  // the scores alone
    double start_unix_s = 0, seconds = 0;
    std::vector<TrainerId> trainers;  // if several trainers validated together; else home alone did
};

// The state of a trial after a lap. The hashes of the whole state prove that each lap begins with the right state.
struct LapState {
    double lr = 0;                 // of the last step
    std::uint64_t hash = 0;        // after the last unit
    std::uint64_t begin_hash = 0;  // 0: the initial state, or not known (of an older version)
    std::uint64_t end_hash = 0;    // after validation, which may move counters; 0: the lap did not finish, or not known
    std::uint64_t bytes = 0;
};

// Added by strategies whose trainers wait for each other, for parameters or for rows.
struct SyncFacts {
    std::vector<double> exposed_s;        // by trainer: the seconds without computation, waiting
    std::int64_t rounds = 0;              // all-reduced steps, pushes of a worker, means
    std::vector<std::int64_t> staleness;  // asynchronous servers: number of gradients applied n versions late, by n
    std::vector<std::vector<std::uint16_t>> server_log;  // by part, the workers in the order of their gradients
};

// The result of a lap: all facts that the journal, the metrics and the search need.
struct LapRecord {
    TrialId trial;
    int epoch = 0, attempt = 1;
    Outcome outcome = Outcome::finished;
    Cause cause = Cause::trial;     // failed: why
    std::string reason;             // diverged, failed, stopped: why, with the unit
    std::vector<UnitRecord> units;  // in visit order; of a record from a journal empty, if the journal says where they are
    StoredUnits stored;             // then; else see totals_of
    TrainerId home;
    struct {
        std::int64_t count = 0, bytes = 0;
    } hops;
    LapValidation valid;
    LapState state;
    SyncFacts sync;
    std::vector<Order> orders;  // that came with the lap; added by rank 0
    LapId id() const { return {trial, epoch}; }
};

UnitTotals totals_of(LapRecord const& record);
std::span<TrainerId const> validators_of(LapRecord const& record);  // home alone, or all that validated together
double validation_s_of(LapRecord const& record);                    // summed over them

// A trial's state after `batch` batches of unit `step` of that epoch. No file: it could not be written, and is at risk.
struct SavedState {
    TrialId trial;
    int epoch = 0, step = 0;
    std::int64_t batch = 0;
    std::string file;
    bool whole = true;              // false: a best state without the parts of other trainers; no lap starts from it
    std::uint64_t state_hash = 0;   // of the state in the file; 0: not known (written by an older version)
    std::uint64_t begin_hash = 0;   // LapState::begin_hash of the lap that was under way
    double gap_s = 0, seconds = 0;  // since the copy before it; of writing
    TrainerId trainer = {};         // the writer; -1: not known
};

}  // namespace hopscotch
