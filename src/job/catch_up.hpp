// SPDX-License-Identifier: Apache-2.0
// Catches up with the journal of earlier jobs: feeds its laps to the director, and starts every trial that has not ended at
// its furthest checkpoint. Laps between the checkpoint and the end of the journal are trained again, to the same bits.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "job/usable_files.hpp"
#include "schedule/lap.hpp"

namespace hopscotch {

class Director;
class Recorder;
struct EarlierJobs;
struct Experiment;
struct TrialView;

class CatchUp {
public:
    // Both must outlive it. most_file_bytes: of a checkpoint.
    CatchUp(EarlierJobs const& earlier, Experiment const& experiment, std::uint64_t most_file_bytes);

    // Call once, before anything is released. Returns the laps to execute.
    std::vector<Lap> begin(Director& director, Recorder& recorder);

    // Puts the file that a trial starts from into the trial's first lap of this attempt.
    void place(Lap& lap) const;

    // True if the journal has this lap, and it had to be trained again.
    bool knows(LapRecord const& record) const { return again_.contains({record.trial, record.epoch}); }
    // Checks a known lap. Throws Error if its end differs from the journal's.
    void confirm(LapRecord const& record);
    // Laps whose ends must go to files, because clones begin with them or are ordered to.
    std::set<LapId> const& ends_to_keep() const { return pinned_; }
    bool waits() const { return !again_.empty(); }  // laps are being trained again
    bool waits_for(TrialId trial) const;
    // For trials whose lap goes on from its middle: the number of units of the lap in their file.
    std::map<TrialId, double> units_in_files(std::vector<TrialView> const& trials) const;

    // The file with the state after that lap. Null if no file has it.
    SavedState const* file_after(TrialId trial, int epoch) { return files_.after(trial, epoch); }

private:
    struct Start {
        int epoch = 0, last = 0;           // the first and the last lap to train
        SavedState const* file = nullptr;  // the state to start from; null: a new state
    };
    // Collected while the director hears the journal: released laps in order, and laps that the journal has.
    struct Heard {
        std::vector<Lap> released;
        std::map<std::pair<TrialId, int>, std::uint64_t> known;  // finished: the hash of the state at the end
        std::map<TrialId, int> last;                             // the newest released epoch
        void add(Lap lap);
    };
    Heard tell(Director& director, Recorder& recorder);
    void pin_ends(Director& director, Recorder& recorder);
    void pin_sources_of_orders(Director const& director, Recorder& recorder);
    std::vector<Lap> laps_from_starts(Heard heard, Recorder& recorder);
    bool find_starts(std::vector<TrialView> const& trials, Recorder const& recorder);
    bool has_all_laps(TrialView const& trial) const;
    bool needs_best(LapId best, Recorder const& recorder) const;
    std::optional<Start> start_of(TrialView const& trial, Recorder const& recorder);
    // The last lap up to this epoch that begins with the state of another trial.
    std::optional<LapId> last_clone(TrialId trial, int epoch) const;
    std::optional<int> wanted_by_clones(TrialId trial);

    EarlierJobs const& earlier_;
    UsableFiles files_;
    Experiment const& experiment_;
    std::map<std::pair<TrialId, int>, std::uint64_t> again_;  // the hash of the state at its end
    std::map<TrialId, Start> starts_;                         // of trials that have not begun in this attempt
    std::map<LapId, LapId> clones_;                           // lap -> the lap whose end it begins with
    std::set<LapId> pinned_;                                  // laps whose ends clones may begin with
};

}  // namespace hopscotch
