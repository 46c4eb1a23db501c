// SPDX-License-Identifier: Apache-2.0
// The states that a run has on the disk: which file holds which state, which states somebody may still need, and which files
// are deleted. On rank 0; trainers write the files. A trial keeps its two newest files, and every file that one of these
// needs: the end of the run (the best epoch), a clone that begins with the file, a lap that began with the file in this job.
#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "run/checkpoint.hpp"
#include "run/journal.hpp"
#include "schedule/state_chain.hpp"

namespace hopscotch {

// How far its trial has come in a file.
inline auto place_of(LapSink::Saved const& file) { return std::tuple(file.epoch, file.step, file.batch); }
inline auto start_of_epoch(int epoch) { return std::tuple(epoch, 0, std::int64_t{0}); }
// Of a trial's files the one with its state after that epoch; null: there is none.
LapSink::Saved const* file_after(std::vector<LapSink::Saved> const& files, int epoch);

// The names of the files in that run directory, as the journal has them.
std::set<std::string> checkpoints_in(std::filesystem::path const& run_dir);

class CheckpointShelf {
public:
    // for_clones: the search clones trials, so the end of every lap is kept until let_go() names the lap.
    enum class Ends { newest, for_clones };
    CheckpointShelf(std::filesystem::path directory, Ends ends, StateChain::TrainedAgain trained_again)
        : directory_(std::move(directory)), ends_(ends), chain_(trained_again) {}

    void restore(Journal const& journal);  // laps and files of earlier jobs
    void released(Lap const& lap);
    void ended(LapRecord const& record) { chain_.ended(record); }
    // A lap that this job sends out. The state that the lap begins with (lap.from, or lap.clone_of where that is empty)
    // stays until this job has saved a later state of the trial, even if earlier jobs left later files.
    void sent(Lap const& lap);
    void saved(LapSink::Saved const& saved);  // without a file: the trial's newest state is at risk
    void let_go(LapId lap);                   // Director::take_releases
    // Ordered clones will begin with the ends of these laps: the files stay.
    void hold(std::set<LapId> sources) { ordered_ = std::move(sources); }

    LapSink::Saved const* file_after(TrialId trial, int epoch) const;  // null: no file has the state of that place
    std::optional<int> newest_boundary(TrialId trial) const;           // the newest epoch whose end a file holds
    bool at_risk(TrialId trial) const { return facts_.at_risk.contains(trial); }
    StateChain const& chain() const { return chain_; }
    CheckpointFacts const& facts() const { return facts_; }

    bool has_surplus() const { return !surplus_.empty(); }  // of trials that may have too many files
    // Call it when the journal's lines about newer files are durable. best_epoch: of a trial, the epoch whose state is
    // wanted at the end of the run; none: no epoch. ended: these trials begin no lap any more.
    void delete_surplus(std::function<std::optional<int>(TrialId)> const& best_epoch, std::set<TrialId> const& ended);

private:
    void add(LapSink::Saved const& saved);
    bool begins_a_lap(LapSink::Saved const& file) const;
    bool is_wanted_by_clones(LapId lap, std::set<TrialId> const& ended) const;

    std::filesystem::path directory_;
    Ends ends_;
    std::map<TrialId, std::vector<LapSink::Saved>> files_;  // that are there, by place
    std::set<TrialId> surplus_;
    std::set<LapId> ordered_;                        // hold()
    std::set<LapId> let_go_;                         // ends of laps that no decision can ask for any more
    std::map<LapId, std::vector<LapId>> clones_of_;  // laps that begin with the end of this one
    std::set<LapId> begun_again_;                    // of these, laps that this job trains and has no file of yet
    std::map<TrialId, std::string> begun_with_;      // files of trials that this job has saved nothing of yet
    StateChain chain_;
    CheckpointFacts facts_;
};

}  // namespace hopscotch
