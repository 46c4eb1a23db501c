// SPDX-License-Identifier: Apache-2.0
// A run between the roll call and the end, on rank 0: laps out, records in.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "app/commands.hpp"
#include "app/continuation.hpp"
#include "app/live_control.hpp"
#include "app/prepared_run.hpp"
#include "run/progress.hpp"
#include "run/recorder.hpp"
#include "strategy/common/dispatcher.hpp"
#include "strategy/common/pump.hpp"

namespace hopscotch {

// A trial begins again from its newest checkpoint: an order has it go on when its state was gone, or it failed and may try
// again. As after a damaged state, the job pauses and goes on.
class TrialGoesBack : public CommError {
public:
    using CommError::CommError;
};

class RunningJob : public LapSink {
public:
    RunningJob(PreparedRun& prepared, Courier& courier, RunOptions const& options);

    // Until every trial has ended, or a signal came.
    void run();

    // After a signal: has the trainers save what they have learned, within run.grace_s. False: not all of them did.
    bool pause();

    // After a loss: prepared.owners is without that trainer. Throws CommError if nobody is left.
    void bury(TrainerLost const& lost);

    // The trainers leave what they are at, save it, and wait to hear how the job goes on. Throws CommError if they do not
    // answer, and as run() does.
    void leave_off();

    // The best trial's numbers on the test shards. Nothing if there are none, or they could not be had.
    std::optional<Metrics> test_best(Summary const& summary);
    // best/model.safetensors and best/model.json.
    void write_best(Summary const& summary);
    // The same of every trial in best/trial-N, from the files that trainers keep (run.keep_best "trial"). What has not
    // reached the disk within run.deadline_s is left out with a warning.
    void write_best_of_trials(Summary const& summary);

    Recorder& recorder() { return recorder_; }
    RunDirectory const& directory() const { return directory_; }

    void lap_done(LapRecord const& record) override;
    void scored(LapRecord const& record) override { test_record_ = record; }
    void saved(Saved const& saved) override {
        recorder_.saved(saved);
        execute_held();
    }

private:
    // Laps of one trial; the first begins with another's state, which has not reached the disk.
    struct Held {
        std::deque<Lap> laps;
        std::optional<double> since_s = {};  // that state exists
    };
    void go_on();
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
    bool is_wrong(LapRecord const& came);
    bool tries_again(LapRecord const& record);
    void take_up();
    void show_progress();
    ProgressState view() const;

    PreparedRun& prepared_;
    Courier& courier_;
    Director& director_;
    RunFacts facts_;
    RunDirectory directory_;
    Recorder recorder_;
    std::unique_ptr<Dispatcher> dispatcher_;
    LiveControl control_;
    std::set<LapId> asked_for_;  // ends of laps that clones begin with and no file holds
    Pump pump_;
    Progress progress_;
    std::map<TrialId, TrainerId> homes_;
    std::set<std::pair<TrialId, int>> here_;  // laps that came to an end in this job
    std::optional<Continuation> continuation_;
    std::optional<LapRecord> test_record_;
    double started_s_ = 0, next_view_s_ = 0;
    double units_ = 0;                              // of laps that have ended, in all jobs
    double units_before_ = 0, counted_before_ = 0;  // when this job began: units_, and what the trainers had counted
    std::set<TrialId> ended_;
    std::map<TrialId, int> released_;  // the last lap of each, in this job
    std::set<TrialId> taken_up_;       // by orders, and the job has not paused for them yet
    std::map<TrialId, Held> held_;
    std::set<TrialId> wrong_;  // laps of theirs began with other states than they had
    bool pausing_ = false;
};

}  // namespace hopscotch
