// SPDX-License-Identifier: Apache-2.0
// Trains trials of a run again, each alone in this process, in the way of the journal, and compares the hash after every
// unit.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "core/byte_view.hpp"
#include "core/ids.hpp"
#include "schedule/lap.hpp"

namespace hopscotch {

class BufferPool;
struct Journal;
struct RecordedRun;

struct Verdicts {
    std::int64_t units = 0;
    std::vector<std::string> differences;  // the first of each trial
};

// These trials, and the trials whose states they took over.
std::set<TrialId> with_sources(Journal const& journal, std::set<TrialId> trials);

// Called after each lap, with the state at its end. False: enough.
using AfterLap = std::function<bool(LapId const&, ByteView state)>;

// Trains the laps of these trials in the order of their ends. Of trials with clones, the sources too. Throws DataError if
// the journal is damaged.
Verdicts train_again(RecordedRun const& run, std::set<TrialId> const& wanted, BufferPool& pool, AfterLap const& after_lap);

}  // namespace hopscotch
