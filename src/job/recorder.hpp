// SPDX-License-Identifier: Apache-2.0
// Writes the files of a run, on rank 0. The caller's loop, with a director and a strategy:
//   RunDirectory directory(path, use, facts);   Recorder recorder(directory, facts, experiment);
//   for (auto const& lap : director.release()) { recorder.released(lap); strategy.execute(lap); }
//   sink: director.record(record); recorder.lap_done(record, director.trials()[record.trial.index()]);   // and release
//   again while waiting for messages: recorder.tick(); at the end: Summary const summary = recorder.finish(end,
//   director.trials());
// Writes journal.jsonl, metrics.jsonl, trace.json, tb/ and, where there is one, server_log.jsonl as it goes, trials.csv and
// summary.json in finish().
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "experiment/config.hpp"
#include "rundir/checkpoint_shelf.hpp"
#include "rundir/journal.hpp"
#include "rundir/metrics.hpp"
#include "rundir/run_directory.hpp"
#include "rundir/tally.hpp"

namespace hopscotch {

class JournalWriter;
class MetricsFile;
class TraceWriter;
class TrialEvents;
struct BestSoFar;
struct FileIdentity;
struct RunEnd;
struct Summary;
struct TrialView;

class Recorder {
public:
    Recorder(RunDirectory const& directory, RunFacts const& facts, Experiment const& experiment);
    ~Recorder();

    // Call it first in a resumed run: takes the records of earlier jobs. Starts a new incarnation.
    void restore(Journal const& journal);

    void released(Lap const& lap);
    // In their order. Decisions that earlier jobs journalled are compared: throws Error if the search now decides otherwise.
    // In an extended run only decisions of one trial have an order: those of later trials come between the journalled ones.
    void decided(Decision const& decision);
    void ordered(Order const& order);
    void retried(LapRecord const& record);  // of a failure that does not end the trial
    int retries_of(TrialId trial) const;
    void lives(TrialId trial);  // an order resumes a trial that had ended
    double seconds_of(TrialId trial) const { return tally_.of(trial).train_s + tally_.of(trial).valid_s; }
    void trial_ended(TrialView const& trial);
    void trainer_lost(TrainerLoss loss);   // the job goes on without it
    void owners_moved(OwnersMoved moved);  // the job goes on with other owners
    void saved(SavedState const& saved);   // older files of that trial are deleted once the journal's line is durable
    CheckpointShelf& shelf() { return shelf_; }
    CheckpointShelf const& shelf() const { return shelf_; }
    // trial: the director's view after it took the record. An end of the trial is journalled too. Returns the metrics.
    Metrics lap_done(LapRecord const& record, TrialView const& trial);
    void tick();
    // Throws Error if another job has taken the directory over (a resumed run, while this one seemed dead): from then on
    // this one writes and deletes nothing there. lap_done(), tick() and finish() check this, too.
    void stop_if_replaced();
    // Is current as long as the run belongs to this job. For other code that writes into the directory.
    FileIdentity journal() const;
    bool finished() const { return finished_; }
    Tally const& tally() const { return tally_; }
    std::optional<BestSoFar> best() const;  // trial and value of search.metric, for the progress view
    // The epoch of this trial whose state is wanted at the end: if the trial is the best one, or keeps_every_best().
    std::optional<int> wanted_epoch(TrialId trial) const;

    // The summary of the records so far; writes nothing.
    Summary summarise(RunEnd const& end, std::vector<TrialView> const& trials) const;

    // summary.json of a run that a signal ends: the launcher may kill rank 0 before the end of the job.
    void write_summary_so_far(RunEnd const& end, std::vector<TrialView> trials) const;

    // Journals the trials that have not ended and the run's end, writes trials.csv and summary.json, closes the trace.
    // A second call writes trials.csv and summary.json once more, with the facts that the caller has by then.
    Summary finish(RunEnd const& end, std::vector<TrialView> const& trials);
    // Tries once more to write the files that the run can do without: since finish(), checkpoints may have made room.
    void complete(Summary const& summary);

private:
    void show(Json const& journal_line);  // in trace.json
    void append_metrics(LapRecord const& record, Metrics const& metrics, Assignment const& assignment);
    std::optional<int> wanted_epoch(TrialId trial, std::optional<TrialId> best_trial) const;
    void had_ended(TrialEnd const& end);
    std::deque<Decision>::iterator journalled(TrialId trial);
    void delete_surplus();

    std::filesystem::path directory_;
    RunFacts facts_;
    Experiment experiment_;
    std::unique_ptr<JournalWriter> journal_;
    std::unique_ptr<MetricsFile> metrics_;
    std::unique_ptr<TraceWriter> trace_;
    std::unique_ptr<TrialEvents> events_;  // null: not wanted
    Tally tally_;
    std::set<TrialId> ended_;
    std::deque<Decision> decisions_;  // of earlier jobs, to come again
    std::map<TrialId, int> retries_;
    std::map<LapId, std::optional<LapId>> known_;  // laps that earlier jobs released: whose clones they begin as
    std::set<LapId> told_;                         // laps that metrics.jsonl has
    CheckpointShelf shelf_;
    std::vector<TrainerLoss> lost_;
    std::vector<OwnersMoved> moved_;
    int incarnation_ = 1;
    bool finished_ = false, table_is_written_ = false, told_of_table_ = false;
    double next_look_s_ = 0, next_deletion_s_ = 0;
    std::optional<TrialId> best_before_;  // at the last deletion
};

}  // namespace hopscotch
