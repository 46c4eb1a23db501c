// SPDX-License-Identifier: Apache-2.0
// The view of an attempt for people: the progress of the job, and its display by live_view.hpp.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "core/ids.hpp"
#include "job/live_view.hpp"

namespace hopscotch {

class Pump;
class Recorder;
class RunMeter;
struct LapRecord;
struct PreparedRun;

class AttemptView {
public:
    struct Options {
        bool quiet = false;
        LiveView::Publish publish;
    };
    // All must outlive it.
    AttemptView(PreparedRun const& prepared, Recorder const& recorder, Pump const& pump, RunMeter& meter, Options options)
        : prepared_(prepared), recorder_(recorder), pump_(pump), meter_(meter), options_(std::move(options)) {}

    bool start(double now_s);  // RunMeter::start
    // Before begin(), if trials continue from files that have this many units of their laps. job_begins: in its first
    // attempt.
    void go_on(std::vector<TrialView> const& trials, std::map<TrialId, double> const& units, bool job_begins);
    void begin();
    void lap_done(LapRecord const& record, TrialView const& trial);
    void show(std::int64_t trials_ended, double now_s);  // call it often
    void leave() { live_->leave(); }
    void finish(std::int64_t trials_ended);

private:
    ProgressState state(std::int64_t trials_ended) const;

    PreparedRun const& prepared_;
    Recorder const& recorder_;
    Pump const& pump_;
    RunMeter& meter_;
    Options options_;
    std::unique_ptr<LiveView> live_;  // from begin() on
    double next_view_s_ = 0;
    // FLOPs: of laps that have ended in this attempt; of units of earlier jobs in laps that go on, less the trainers' count
    // then.
    double flops_of_laps_ = 0, flops_before_ = 0;
};

}  // namespace hopscotch
