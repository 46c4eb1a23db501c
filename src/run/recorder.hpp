// SPDX-License-Identifier: Apache-2.0
// Everything a run leaves behind, on rank 0. The caller's loop, with a director and a strategy:
//   RunDirectory directory(path, use, facts);   Recorder recorder(directory, facts, experiment);
//   for (auto const& lap : director.release()) { recorder.released(lap); strategy.execute(lap); }
//   sink: director.record(record); recorder.lap_done(record, director.trials()[record.trial.index()]);   // and release
//   again while waiting for messages: recorder.tick(); at the end: Summary const summary = recorder.finish(end,
//   director.trials());
// Writes journal.jsonl, metrics.jsonl, trace.json and, where there is one, server_log.jsonl as it goes, trials.csv and
// summary.json in finish().
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "experiment/config.hpp"
#include "run/journal.hpp"
#include "run/progress.hpp"
#include "run/run_directory.hpp"
#include "run/summary.hpp"
#include "run/trace.hpp"
#include "schedule/state_chain.hpp"

namespace hopscotch {

// What only the caller knows at the end.
struct RunEnd {
    RunStatus status = RunStatus::finished;
    std::string reason;           // interrupted, failed: why
    std::optional<Metrics> test;  // Summary::test
    double wall_s = 0, setup_s = 0;
    ByteCounts bytes;
    std::vector<ByteCounts> bytes_by_rank;
    std::int64_t storage_bytes = 0, staged_bytes = 0, weight_bytes = 0, spilled_bytes = 0;  // as in Summary
    std::vector<std::int64_t> peak_rss_bytes;                                               // by rank
    std::vector<float> hop_s;              // seconds of every hop that was measured; may be empty
    std::map<TrialId, Measures> measures;  // of trials, where search.pareto asks for them
    bool synthetic = false;                // ZooEntry::synthetic of the model
};

// How far its trial has come in a file.
inline auto place_of(LapSink::Saved const& file) { return std::tuple(file.epoch, file.step, file.batch); }
inline auto start_of_epoch(int epoch) { return std::tuple(epoch, 0, std::int64_t{0}); }
// Of a trial's files the one with its state after that epoch; null: there is none.
LapSink::Saved const* file_after(std::vector<LapSink::Saved> const& files, int epoch);

class Recorder {
public:
    Recorder(RunDirectory const& directory, RunFacts const& facts, Experiment const& experiment);

    // First, if the run goes on: what earlier jobs recorded. loss: of a trial. Starts a new incarnation in the journal.
    void restore(Journal const& journal, std::function<LossKind(TrialId)> const& loss);

    void released(Lap const& lap);
    // In their order. What earlier jobs have journalled is only compared: throws Error if the search now decides otherwise.
    void decided(Decision const& decision);
    void let_go(LapId lap);  // Director::take_releases
    // A lap of this job that is sent out, and begins with lap.from, or with lap.clone_of where that is empty: what it begins
    // with stays until this job has saved what comes of it. Files of earlier jobs may lie behind it.
    void sent(Lap const& lap);
    void ordered(Order const& order);
    // With whose ends clones that are ordered will begin: those files stay.
    void hold(std::set<LapId> sources) { ordered_ = std::move(sources); }
    void retried(LapRecord const& record);  // it ended nothing
    int retries_of(TrialId trial) const;
    void lives(TrialId trial) { ended_.erase(trial); }  // an order has it go on
    double seconds_of(TrialId trial) const { return tally_.of(trial).train_s + tally_.of(trial).valid_s; }
    // The newest of its epochs whose end a file holds.
    std::optional<int> newest_boundary(TrialId trial) const;
    void trial_ended(TrialView const& trial) { end_trial(trial); }  // without a lap of its own that has just come
    bool at_risk(TrialId trial) const {
        return checkpoints_.at_risk.contains(trial);
    }  // its newest state could not be written
    StateChain const& chain() const { return chain_; }
    void trained_again(LapRecord const& record) { chain_.ended(record); }  // of a lap that an earlier job recorded
    void trainer_lost(TrainerLoss loss);                                   // the job goes on without it
    void saved(LapSink::Saved const& saved);  // older files of that trial go once the journal's line is durable
    LapSink::Saved const* file_after(TrialId trial, int epoch) const;  // null: none has been saved of just that place
    // trial: the director's view after it took the record. An end of the trial is journalled too. Returns the metrics.
    Metrics lap_done(LapRecord const& record, TrialView const& trial);
    void tick();
    // Throws Error if another job has taken the directory over (a resumed run, while this one seemed dead): from then on
    // this one writes and deletes nothing there. tick() and finish() look too.
    void stop_if_replaced();
    bool finished() const { return finished_; }
    std::optional<BestSoFar> best() const;  // trial and value of search.metric, for the progress view
    // The epoch of this trial whose state is wanted at the end: if the trial is the best one, or keeps_every_best().
    std::optional<int> wanted_epoch(TrialId trial) const;

    // What the records add up to so far; writes nothing.
    Summary summarise(RunEnd const& end, std::vector<TrialView> const& trials) const;

    // summary.json of a run that is about to be interrupted, in case the end does not come to writing it.
    void write_summary_so_far(RunEnd const& end, std::vector<TrialView> trials) const;

    // Journals the trials that have not ended and the run's end, writes trials.csv and summary.json, closes the trace.
    // Again: trials.csv and summary.json once more, with what the caller knows by then.
    Summary finish(RunEnd const& end, std::vector<TrialView> const& trials);

private:
    void append_metrics(LapRecord const& record, Metrics const& metrics);
    void end_trial(TrialView const& trial);
    void add_file(LapSink::Saved const& saved);
    bool is_kept(LapSink::Saved const& file) const;
    bool is_wanted_by_clones(LapId lap) const;
    void delete_surplus();

    std::filesystem::path directory_;
    RunFacts facts_;
    Experiment experiment_;
    JournalWriter journal_;
    MetricsFile metrics_;
    TraceWriter trace_;
    Tally tally_;
    std::set<TrialId> ended_;
    std::deque<Decision> decisions_;  // of earlier jobs, to come again
    bool clones_;                     // the search does
    std::set<LapId> ordered_;         // hold()
    std::map<TrialId, int> retries_;
    std::set<LapId> let_go_;                                // boundary states that no decision can ask for any more
    std::map<LapId, std::vector<LapId>> clones_of_;         // laps that begin with one
    std::set<LapId> begun_again_;                           // of them, those that this job trains and has no file of yet
    std::map<TrialId, std::string> begun_with_;             // files of trials that this job has saved nothing of yet
    std::map<TrialId, std::vector<LapSink::Saved>> files_;  // that are there, by place
    std::set<TrialId> surplus_;                             // trials that may have too many of them
    std::map<LapId, std::optional<LapId>> known_;           // laps that earlier jobs released: whose clones they begin as
    std::set<LapId> told_;                                  // laps that metrics.jsonl has
    StateChain chain_;
    CheckpointFacts checkpoints_;
    std::vector<TrainerLoss> lost_;
    int incarnation_ = 1;
    bool finished_ = false;
    double next_look_s_ = 0;
};

}  // namespace hopscotch
