// SPDX-License-Identifier: Apache-2.0
// journal.jsonl: decisions and results in order, a JSON object a line (docs/formats.md). The journal is enough to replay and
// to resume a run. Each line is written at once and synced in groups; a resumed run repeats the laps that a crash cuts off.
//   {"event": "decision", ...}   {"event": "run_resumed", ...}   {"event": "checkpoint", ...}
//   {"event": "order", ...}   {"event": "retry", ...}   {"event": "owners_moved", ...}
//   {"event": "lap_released", ...}   {"event": "lap_done", ...}   {"event": "trial_ended", ...}   {"event": "run_ended",
//   ...}
#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.hpp"
#include "direct/trial_view.hpp"
#include "schedule/lap.hpp"

namespace hopscotch {

// A lost trainer: the job continued without it.
struct TrainerLoss {
    TrainerId trainer;
    std::string host, reason;
    double unix_s = 0;
};

// Shards changed owners, for the sake of speed.
struct OwnersMoved {
    std::vector<double> speed;  // of the trainers, of the fastest
    std::string reason;
    double unix_s = 0;
};

struct TrialEnd {
    TrialId trial;
    std::string status, reason;  // status: a name_of(TrialStatus)
    int epochs = 0;
};

// A line that trace.json shows beside the units.
struct TraceMark {
    enum class Row { rank0, checkpoints } row = Row::rank0;
    std::string name, why;
    double unix_s = 0;
    int trainer = 0;     // that wrote the checkpoint
    double seconds = 0;  // before unix_s: the duration of the checkpoint
};

// None for the lines of laps, which trace.json shows as units, and for checkpoints of older versions, which have no
// duration.
std::optional<TraceMark> mark_of(Json const& journal_line);

// All jobs that have written a journal.
struct JobHistory {
    int count = 1;
    double seconds = 0;                             // that they worked, together
    std::vector<std::pair<double, double>> pauses;  // between jobs: from, until (seconds since 1970)
    double last_unix_s = 0;                         // of the last line
    std::vector<TrainerLoss> lost;
    std::vector<OwnersMoved> moved;
};

struct JournalEnd {
    std::string status;      // of the run, as the last job said that ended it; empty while it has not ended
    std::size_t trials = 0;  // that the run had when it last finished; 0: it never has
};

struct Journal {
    std::vector<Lap> released;
    std::vector<LapRecord> laps;                // finished, diverged and failed ones, in the order of their ends; the
                                                // units of each are read with a UnitReader
    std::map<TrialId, Assignment> assignments;  // of every trial that was released
    std::vector<Decision> decisions;            // of the search
    std::vector<TrialEnd> ended;
    std::set<TrialId> alive;         // begun and not ended; interrupted ones are
    std::size_t most_alive = 0;      // at one time
    std::vector<Order> orders;       // that have not come with a lap
    std::map<TrialId, int> retries;  // failures that were not the trial's own and did not end it
    std::vector<SavedState> saved;   // files that may have been deleted since
    std::vector<TraceMark> marks;    // for trace.json, in the order of the lines
    JobHistory jobs;
    JournalEnd end;
    std::uintmax_t complete_bytes = 0;  // up to the end of the last whole line; the rest of the file is a torn tail
};

// Of every trial the assignment of its last release: a clone takes new values.
std::map<LapId, Lap const*> released_laps(Journal const& journal);

// The laps that count, each after the lap before and, for a clone, after the lap of its source. A trial that was stopped and
// resumed may have a lap twice: the later one counts. A lap does not count if it began with a state that the trial later
// gave up.
std::vector<LapRecord const*> laps_that_count(Journal const& journal);

// A last line without its end is dropped. Throws DataError "<file>:<line>: ..." for any other line that is malformed.
Journal read_journal(std::filesystem::path const& path);

}  // namespace hopscotch
