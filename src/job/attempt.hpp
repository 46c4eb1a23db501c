// SPDX-License-Identifier: Apache-2.0
// One attempt of a job, on rank 0: sends laps and takes records. The attempt ends when every trial has ended, at a signal,
// or when trainers or states are lost. In the last case rank0.cpp makes the next attempt, which continues from the run
// directory.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "core/error.hpp"
#include "core/ids.hpp"
#include "job/catch_up.hpp"
#include "job/live_control.hpp"
#include "job/recorder.hpp"
#include "job/trial_set.hpp"
#include "rundir/run_directory.hpp"
#include "schedule/lap.hpp"
#include "strategy/common/pump.hpp"

namespace hopscotch {

class Buffer;
class Courier;
class Director;
class Dispatcher;
class LiveView;
class OwnerMoves;
struct PreparedRun;
struct ProgressState;
struct RunOptions;
struct RunView;

// A trial must continue from its newest checkpoint: an order resumed it after its state was dropped, or it failed and may
// try again. The job pauses, and makes the next attempt, as after a damaged state.
class TrialGoesBack : public CommError {
public:
    using CommError::CommError;
};

class Attempt : public LapSink {
public:
    Attempt(PreparedRun& prepared, Courier& courier, RunOptions const& options, OwnerMoves& moves,
            std::function<void(RunView)> publish);
    ~Attempt() override;

    void run();  // until every trial has ended, or a signal has come

    // After a signal: the trainers save their states, within run.grace_s. False if some trainer did not.
    bool pause();

    // After a loss: takes the trainer out of prepared.owners. Throws CommError if no trainer is left.
    void bury(TrainerLost const& lost);

    // The trainers leave their units, save their states, and wait for the next welcome. Throws as run(), and CommError if
    // some trainer does not answer.
    void leave_off();

    // The best trial's metrics on the test shards. None if the dataset has no test shards, or if scoring failed.
    std::optional<Metrics> test_best(Summary const& summary);
    void write_best(Summary const& summary, std::optional<Metrics> const& test);  // best/model.safetensors, best/model.json
    Json analyse_best(Summary const& summary);  // then best/validation.json, the errors of this model; null: not known
    // Writes the same files for every trial into best/trial-N, from the files that trainers keep (run.keep_best "trial").
    // A trial whose file is not on the disk within run.deadline_s is left out with a warning.
    void write_best_of_trials(Summary const& summary);

    Recorder& recorder() { return recorder_; }
    RunDirectory const& directory() const { return directory_; }

    // Acts on the record by its meaning (RecordMeaning).
    void lap_done(LapRecord const& record) override;
    void scored(LapRecord const& record) override { test_record_ = record; }
    void analysed(std::string const& errors) override { errors_ = errors; }
    void saved(Saved const& saved) override {
        recorder_.saved(saved);
        execute_held();
    }

private:
    // The meaning of a lap's record to this attempt. Only `news` reaches the director and the journal.
    enum class RecordMeaning {
        undone,       // an order stopped the lap, and was taken back since: the lap never happened
        retry,        // the lap failed through no fault of its trial, which goes back to its last checkpoint
        outdated,     // an order changed the trial while the lap was under way
        wrong_start,  // the lap, or one before it, began with another state than its trial had
        known,        // the journal has the lap; it was trained again after a resume, and must give the same hash
        news
    };
    // Laps of one trial that wait: the first begins with the state of another trial, and no file holds that state yet.
    struct Held {
        std::deque<Lap> laps;
        std::optional<double> since_s = {};  // the state exists since then
    };
    void go_on(bool job_begins);
    std::optional<std::pair<Lap, TrainerId>> best_lap(Summary const& summary);
    LapSink::Saved const* file_of_best(TrialId trial, int epoch);
    Buffer best_state(TrialId trial, int epoch);
    Buffer state_in(LapSink::Saved const& saved);
    LapSink::Saved const* await_file_after(TrialId trial, int epoch, double until_s);
    void release();
    void execute(Lap lap);
    void execute_held();
    LapSink::Saved const* file_to_begin_with(Lap const& lap, Held& held);
    void check_held();
    void end_trials();
    RecordMeaning meaning_of(LapRecord const& record) const;
    bool may_retry(LapRecord const& record) const;
    void retry(LapRecord const& record);
    void refuse(LapRecord const& record);
    void confirm(LapRecord const& record);
    void deliver(LapRecord record);
    void take_up();
    void show_progress();
    void start_view();
    ProgressState view();

    PreparedRun& prepared_;
    Courier& courier_;
    OwnerMoves& moves_;
    Director& director_;
    RunFacts facts_;
    RunDirectory directory_;
    Recorder recorder_;
    std::unique_ptr<Dispatcher> dispatcher_;
    LiveControl control_;
    std::set<LapId> asked_for_;  // laps whose ends clones begin with, and no file holds
    Pump pump_;
    RunOptions const& options_;
    std::function<void(RunView)> publish_;
    std::unique_ptr<LiveView> live_;  // from run() on
    std::map<TrialId, TrainerId> homes_;
    std::set<std::pair<TrialId, int>> here_;  // laps that ended in this attempt
    std::optional<CatchUp> catch_up_;
    std::optional<LapRecord> test_record_;
    std::optional<std::string> errors_;
    double next_view_s_ = 0;
    // FLOPs: of laps that have ended in this attempt; what began with units of earlier jobs, less the trainers' count then.
    double flops_of_laps_ = 0, flops_before_ = 0;
    TrialSet ended_;
    std::map<TrialId, int> released_;  // the last released lap of each trial
    std::set<TrialId> taken_up_;       // resumed by orders; the job must pause for them
    std::map<TrialId, Held> held_;
    std::set<TrialId> wrong_;  // trials with a lap of wrong_start
    bool pausing_ = false;
};

}  // namespace hopscotch
