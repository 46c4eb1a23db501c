// SPDX-License-Identifier: Apache-2.0
// One attempt of a job, on rank 0: sends laps and takes records, until it ends (attempt_end.hpp). If the job goes on,
// rank0.cpp makes the next attempt, which continues from the run directory.
//   director -> release() -> held_ -> trainers: laps
//   trainers -> lap_done() -> triage_ -> director, recorder: records. The director then releases more laps.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "job/attempt_end.hpp"
#include "job/attempt_view.hpp"
#include "job/best_states.hpp"
#include "job/catch_up.hpp"
#include "job/held_laps.hpp"
#include "job/live_control.hpp"
#include "job/record_triage.hpp"
#include "job/recorder.hpp"
#include "strategy/common/lap_sink.hpp"
#include "strategy/common/pump.hpp"

namespace hopscotch {

class Courier;
class RunMeter;
struct PreparedRun;
struct RunOptions;

class Attempt : public LapSink {
public:
    // Of the job, over all attempts. publish: gets the content of live.json.
    struct OfJob {
        OwnerMoves& moves;
        RunMeter& meter;
        LiveView::Publish publish;
    };
    // All must outlive it.
    Attempt(PreparedRun& prepared, Courier& courier, RunOptions const& options, OfJob of_job);

    // Trains until every trial has ended, or until something else ends the attempt.
    AttemptEnd run();
    // The event that has ended the attempt since run(), while best() waited for trainers. Nothing: there was none.
    std::optional<AttemptEnd> const& end() const { return end_; }

    // After a signal: the trainers save their states, within run.grace_s.
    Pump::Answers pause();

    // After a loss: takes the trainer out of prepared.fleet.owners. Throws CommError if no trainer is left.
    void bury(LostTrainer const& lost);

    // The trainers leave their units, save their states, and wait for the next welcome. Throws CommError if some trainer
    // does not answer.
    std::optional<Setback> leave_off();

    Recorder& recorder() { return recorder_; }
    BestStates& best() { return best_; }

    // Acts on the record by its meaning (RecordTriage::Meaning).
    void lap_done(LapRecord record) override;
    void scored(LapRecord const& record) override { best_.scored(record); }
    void analysed(std::string const& errors) override { best_.analysed(errors); }
    void fetched(Buffer&& state) override;
    void saved(SavedState const& saved) override;

private:
    Attempt(PreparedRun& prepared, Courier& courier, RunOptions const& options, OfJob of_job, RunFacts const& facts);
    void finish();
    bool work_is_left() const;
    void hear(double timeout_s);
    void end_with(AttemptEnd end);
    void go_on(bool job_begins);
    void release();
    void execute(Lap lap);
    void end_trials();
    void take_up();
    void retry(LapRecord const& record);
    void refuse(LapRecord const& record);
    void confirm(LapRecord const& record);
    void deliver(LapRecord record);

    PreparedRun& prepared_;
    OwnerMoves& moves_;
    Recorder recorder_;
    Pump pump_;
    std::unique_ptr<CatchUp> catch_up_;  // null: nothing of earlier jobs
    LiveControl control_;
    RecordTriage triage_;
    HeldLaps held_;
    BestStates best_;
    AttemptView view_;
    std::optional<AttemptEnd> end_;  // from then on nothing is sent to trainers
};

}  // namespace hopscotch
