// SPDX-License-Identifier: Apache-2.0
// The states that a run has on the disk: which file holds which state, which states are still needed, and which files are
// deleted. On rank 0; trainers write the files. A trial that goes on keeps its run.checkpoint_keep newest files, a stopped
// one its newest, because an order may resume it. Every trial keeps the states that others need: the end of the run (the
// best epoch), a clone that begins with the file, a lap that began with the file in this job.
#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "rundir/checkpoint.hpp"
#include "rundir/journal.hpp"
#include "schedule/state_chain.hpp"

namespace hopscotch {

// The place of its trial in a file.
inline auto place_of(SavedState const& file) { return std::tuple(file.epoch, file.step, file.batch); }
inline auto start_of_epoch(int epoch) { return std::tuple(epoch, 0, std::int64_t{0}); }
// The file of a trial with its state after that epoch; null: there is none.
SavedState const* file_after(std::vector<SavedState> const& files, int epoch);

// The names of the files in that run directory, as the journal has them.
std::set<std::string> checkpoints_in(std::filesystem::path const& run_dir);

class CheckpointShelf {
public:
    // for_clones: the search clones trials, so the end of every lap is kept until let_go() names the lap.
    enum class Ends { newest, for_clones };
    // last: the end of the lap that was saved last stays until the next. So a killed run has a model, even if its best state
    // is in no file yet and cannot be trained again alone.
    enum class KeepEnd { none, last };
    CheckpointShelf(std::filesystem::path directory, Ends ends, KeepEnd end, int keep,
                    StateChain::TrainedAgain trained_again)
        : directory_(std::move(directory)), ends_(ends), keep_end_(end), keep_(keep), chain_(trained_again) {}

    void restore(Journal const& journal);  // laps and files of earlier jobs
    void released(Lap const& lap);
    void ended(LapRecord const& record) { chain_.ended(record); }
    // A lap that this job sends out. The state that the lap begins with (lap.from, or lap.clone_of where that is empty)
    // stays until this job has saved a later state of the trial, even if earlier jobs left later files.
    void sent(Lap const& lap);
    void saved(SavedState const& saved);  // without a file: the trial's newest state is at risk
    // Files that this job found damaged. They are not states, and they go before any file that can be used.
    void distrust(std::vector<SavedState> const& damaged);
    void let_go(LapId lap);  // Director::take_releases
    // Ordered clones will begin with the ends of these laps: the files stay.
    void hold(std::set<LapId> sources);
    // The end of the trial is in the journal. A stopped trial may be resumed, others begin no lap any more.
    enum class AfterEnd { resumable, over };
    void trial_ended(TrialId trial, AfterEnd after);
    void trial_lives(TrialId trial) { ended_.erase(trial); }
    void look_again(TrialId trial) { surplus_.insert(trial); }  // it may have files that are no longer needed

    SavedState const* file_after(TrialId trial, int epoch) const;  // null: no file has the state of that place
    std::optional<int> newest_boundary(TrialId trial) const;       // the newest epoch whose end a file holds
    bool at_risk(TrialId trial) const { return facts_.at_risk.contains(trial); }
    StateChain const& chain() const { return chain_; }
    CheckpointFacts const& facts() const { return facts_; }

    bool has_surplus() const { return !surplus_.empty(); }  // of trials that may have too many files
    // Call it when the journal's lines about newer files and ended trials are durable. best_epoch: of a trial, the epoch
    // whose state is wanted at the end of the run; none: no epoch.
    using BestEpoch = std::function<std::optional<int>(TrialId)>;
    void delete_surplus(BestEpoch const& best_epoch);

private:
    void add(SavedState const& saved);
    bool is_usable(SavedState const& file) const;
    bool begins_a_lap(SavedState const& file) const;
    bool is_wanted_by_clones(LapId lap) const;
    bool is_needed(SavedState const& file, std::optional<int> best_epoch) const;
    int newest_to_keep(TrialId trial, std::optional<int> best_epoch) const;
    void look_again_at_sources_of(TrialId clone);

    std::filesystem::path directory_;
    Ends ends_;
    KeepEnd keep_end_;
    int keep_;
    std::map<TrialId, std::vector<SavedState>> files_;  // that are there, by place
    std::set<std::string> damaged_;
    std::optional<SavedState> last_end_;  // KeepEnd::last
    std::set<TrialId> surplus_;
    std::set<LapId> ordered_;                        // hold()
    std::set<LapId> let_go_;                         // ends of laps that no decision can ask for any more
    std::map<LapId, std::vector<LapId>> clones_of_;  // laps that begin with the end of this one
    std::map<TrialId, std::set<TrialId>> sources_;   // of clones: the trials that they began with
    std::map<TrialId, AfterEnd> ended_;
    std::set<LapId> begun_again_;                // of these, laps that this job trains and has no file of yet
    std::map<TrialId, std::string> begun_with_;  // files of trials that this job has saved nothing of yet
    StateChain chain_;
    CheckpointFacts facts_;
};

}  // namespace hopscotch
