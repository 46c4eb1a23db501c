// SPDX-License-Identifier: Apache-2.0
#include "job/attempt_view.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "comm/courier.hpp"
#include "core/clock.hpp"
#include "core/counted.hpp"
#include "direct/director.hpp"
#include "job/prepared_run.hpp"
#include "job/recorder.hpp"
#include "job/run_meter.hpp"
#include "strategy/common/pump.hpp"
#include "view/terminal.hpp"

namespace hopscotch {

bool AttemptView::start(double now_s) { return meter_.start(now_s); }

void AttemptView::go_on(std::vector<TrialView> const& trials, std::map<TrialId, double> const& units, bool job_begins) {
    if (job_begins) meter_.begin(trials, units);
    flops_before_ = RunMeter::flops_of(trials, units) - pump_.flops_done();
}

void AttemptView::begin() {
    auto const& experiment = prepared_.inputs.experiment;
    live_ = std::make_unique<LiveView>(
        LiveView::Job{.name = experiment.name,
                      .label =
                          fmt::format("{}, {}, {}, {}", experiment.search.procedure, experiment.strategy.name,
                                      counted(prepared_.plan.shards, "shard"), counted(prepared_.fleet.trainers, "trainer")),
                      .trainers = prepared_.fleet.trainers,
                      .mode = options_.quiet ? ProgressMode::quiet : progress_mode(terminal_of(2)),
                      .publish = options_.publish},
        recorder_.tally(), pump_.courier().peers());
}

void AttemptView::lap_done(LapRecord const& record, TrialView const& trial) {
    flops_of_laps_ += static_cast<double>(record.units.size()) * trial.unit_cost;
    meter_.learn(record, trial);
}

void AttemptView::show(std::int64_t trials_ended, double now_s) {
    if (now_s < next_view_s_) return;
    next_view_s_ = now_s + 0.1;
    auto const now = state(trials_ended);
    live_->update(now, now_s);
    if (live_->look_is_due(now_s)) live_->look(now, prepared_.trials(), now_s);
}

void AttemptView::finish(std::int64_t trials_ended) {
    auto last = state(trials_ended);
    last.done = last.total;  // orders have changed the amount of work
    live_->finish(last);
}

ProgressState AttemptView::state(std::int64_t trials_ended) const {
    auto const& trials = prepared_.trials();
    bool const grows = prepared_.plan.decides && !prepared_.director->finished();
    // The trainers' counters are ahead of the laps that have ended. They keep counting over all attempts.
    auto const ahead = flops_before_ + pump_.flops_done() - flops_of_laps_;
    auto const work =
        meter_.work(trials, std::max(0.0, ahead), grows ? static_cast<double>(prepared_.plan.search.epochs) : 0);
    ProgressState out;
    out.elapsed_s = monotonic_s() - *meter_.started_s();
    out.total = work.total;
    out.done = work.done;
    out.done_before = work.before;
    out.busy = pump_.busy_trainers();
    out.trainers = prepared_.fleet.trainers;
    out.trials_done = trials_ended;
    out.trials = std::max(grows ? prepared_.plan.search.trials : 0, static_cast<std::int64_t>(trials.size()));
    out.metric = prepared_.inputs.experiment.search.metric;
    out.best = recorder_.best();
    return out;
}

}  // namespace hopscotch
