// SPDX-License-Identifier: Apache-2.0
#include "direct/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "direct/trial_end.hpp"
#include "experiment/reader.hpp"
#include "schedule/lap_metric.hpp"
#include "search/search.hpp"

namespace hopscotch {

Timeline::Timeline(Experiment const& experiment, DirectorOptions options, Search const& search)
    : experiment_(experiment),
      options_(std::move(options)),
      decides_(!search.decides_nothing()),
      clones_(search.clones()),
      trains_on_(clones_ && options_.decide_by == DecideBy::virtual_time),
      objectives_(objectives_of(experiment.search)),
      routes_(options_.routes, experiment.seed, options_.shards),
      clock_(!decides_ || options_.decide_by == DecideBy::arrival
                 ? make_arrival_clock()
                 : make_virtual_clock(options_.shards, options_.lookahead, [this](LapId const& lap, int step) {
                       return step == options_.shards ? 0 : view(lap.trial).unit_cost;
                   })) {
    std::erase_if(objectives_, [](ObjectiveMeasure const& each) { return !each.is_metric; });
}

std::shared_ptr<TrialConfig const> Timeline::config_of(Assignment const& assignment) const {
    Problems told("");  // these problems were reported to the giver of the assignment
    return std::make_shared<TrialConfig const>(resolve(experiment_, assignment, told));
}

TrialId Timeline::add(Assignment assignment, std::shared_ptr<TrialConfig const> config) {
    TrialId const trial(trials_.size());
    TrialView view;
    view.id = trial;
    view.assignment = std::move(assignment);
    view.config = std::move(config);
    view.unit_cost = options_.unit_cost(view);
    // With the trials of lower ids: those of higher ids may not be known yet. A few of them are not enough.
    bool const comparable = trial.value >= options_.shards;
    view.route = routes_.of(trial, view.unit_cost, comparable ? costs_ / trial.value : 0);
    costs_ += view.unit_cost;
    auto const& train = view.config->train;
    TrialRun run{EarlyStop(train.early_stopping, experiment_.search.metric, experiment_.search.mode)};
    run.epochs = train.epochs;
    trials_.push_back(std::move(view));
    runs_.push_back(std::move(run));
    return trial;
}

void Timeline::all_added() {
    if (trials_.empty()) return;
    if (options_.plan) {
        auto const plan = options_.plan(trials_);
        options_.in_flight = plan.in_flight;
        options_.routes = plan.routes;
    }
    routes_ = Routes(options_.routes, experiment_.seed, options_.shards);
    for (auto& view : trials_)
        view.route = routes_.of(view.id, view.unit_cost, costs_ / static_cast<double>(trials_.size()));
    for (auto const& begun : options_.begun)
        if (begun.trial.index() < trials_.size()) view(begun.trial).route = begun.route;  // else an ordered clone
}

int Timeline::laps_wanted(TrialRun const& run) const { return trains_on_ ? std::max(run.until, run.epochs) : run.until; }

// The number of them that are certain to be wanted.
int Timeline::laps_ahead(TrialRun const& run) const { return run.stop.certain_laps(run.reported, laps_wanted(run)); }

bool Timeline::take(LapRecord const& record) {
    auto& run = this->run(record.trial);
    auto& view = this->view(record.trial);
    // A lap that was on its way when its trial ended, or one that an earlier attempt has delivered.
    bool const over = run.failed || (run.end && run.all_reported()) || view.status == TrialStatus::waiting;
    if (over || record.epoch < run.known()) return false;
    require(record.epoch == run.known() && run.known() < run.released,
            fmt::format("lap {} of trial {} came when {} were known and {} released", record.epoch, view.id.value,
                        run.known(), run.released));
    bool const good = record.outcome == Outcome::finished;
    auto const& values = run.values.emplace_back(good ? values_of(record, view.config->train.loss) : LapValues{});
    auto const missing = not_finite(values);
    run.failed = !good || (decides_ && !missing.empty());
    if (good) ++view.epochs_done;
    if (run.failed) {
        view.status = good ? TrialStatus::diverged : status_of(record.outcome);
        view.reason = good ? fmt::format("{} is not a finite number", missing) : record.reason;
    }
    if (auto const clone = run.clones.extract(record.epoch)) pins_.release(clone.mapped().source);
    // On the clock the trial may have become a clone since; in reality it never will.
    if (run.failed) take_back_values(record.trial);
    clock_->arrived(record.id());
    return true;
}

LapValues Timeline::values_of(LapRecord const& record, LossKind loss) const {
    LapValues out{lap_metric(record, experiment_.search.metric, loss)};
    for (auto const& each : objectives_) out.objectives.push_back(lap_metric(record, each.name, loss));
    return out;
}

std::string Timeline::not_finite(LapValues const& values) const {
    if (!std::isfinite(values.metric)) return experiment_.search.metric;
    for (std::size_t i = 0; i < values.objectives.size(); ++i)
        if (!std::isfinite(values.objectives[i])) return objectives_[i].name;
    return "";
}

bool Timeline::may_run_on(TrialId trial) {
    auto const& run = this->run(trial);
    return !run.runs && !run.end && run.begun < laps_ahead(run);
}

void Timeline::run_on(TrialId trial) {
    if (!may_run_on(trial)) return;
    auto& run = this->run(trial);
    if (run.all_reported() && decides_) {  // after a decision; trials that go on at the same time are equals
        if (clock_->now() > granted_at_) ++grants_;
        granted_at_ = clock_->now();
        run.release = grants_;
    }
    auto& view = this->view(trial);
    double const lap_cost = view.unit_cost * options_.shards;
    clock_->start({{trial, run.begun}, run.release, lap_cost * (laps_wanted(run) - run.begun)});
    ++run.begun;
    view.epochs_wanted = std::max(run.until, run.begun);
    ++running_;
    run.runs = true;
    release_certain(trial);
}

void Timeline::lap_over(TrialId trial) {
    run(trial).runs = false;
    --running_;
}

// Where trials train on past decision points, a lap is certain when the one before is over on the clock; else up to the next
// one.
void Timeline::release_certain(TrialId trial) {
    auto& run = this->run(trial);
    auto& view = this->view(trial);
    if (run.end || run.failed) return;
    for (int const certain = trains_on_ ? run.begun : laps_ahead(run); run.released < certain; ++run.released) {
        Lap lap;
        lap.trial = trial;
        lap.epoch = run.released;
        lap.release = run.release;
        lap.remaining_cost = view.unit_cost * options_.shards * (laps_wanted(run) - lap.epoch);
        lap.assignment = view.assignment;
        lap.unit_cost = view.unit_cost;
        lap.route = view.route;
        if (auto const clone = run.clones.find(lap.epoch); clone != run.clones.end()) lap.clone_of = clone->second.source;
        out_.push_back(std::move(lap));
    }
    view.epochs_released = run.released;
}

void Timeline::become(TrialId trial, LapId source, Assignment assignment) {
    auto& run = this->run(trial);
    auto& view = this->view(trial);
    auto clone = view;
    clone.assignment = std::move(assignment);
    clone.config = config_of(clone.assignment);
    run.clones[run.begun] = {source, view.assignment, view.config};
    view.unit_cost = options_.unit_cost(clone);
    if (run.failed) return;
    view.assignment = std::move(clone.assignment);
    view.config = std::move(clone.config);
}

// Those from before the trial became a clone on the clock.
void Timeline::take_back_values(TrialId trial) {
    auto const& clones = run(trial).clones;
    if (clones.empty()) return;
    view(trial).assignment = clones.begin()->second.before;
    view(trial).config = clones.begin()->second.config_before;
}

void Timeline::end(TrialId trial, TrialStatus status, std::string const& why) {
    auto& run = this->run(trial);
    run.end = status;
    run.why = why;
    if (!decides_) {  // laps were released at once, whether or not a trainer has come to them
        forget(trial);
        run.begun = run.reported;
    }
    show_end(trial);
}

void Timeline::show_end(TrialId trial) {
    auto const& run = this->run(trial);
    auto& view = this->view(trial);
    if (!run.all_reported() || has_ended(view.status)) return;
    view.status = *run.end;
    view.reason = run.why;
}

void Timeline::end_failed(TrialId trial) {
    auto& run = this->run(trial);
    forget(trial);
    run.begun = run.reported;
    run.end = view(trial).status;
    drop_clones(trial);
}

void Timeline::rewind(TrialId trial) {
    auto& run = this->run(trial);
    forget(trial);
    // On the clock the trial may have become a clone since; in reality it never will.
    take_back_values(trial);
    drop_clones(trial);
    run.begun = run.reported = run.known();
    std::erase_if(out_, [&](Lap const& lap) { return lap.trial == trial; });
}

void Timeline::forget(TrialId trial) {
    auto& run = this->run(trial);
    clock_->forget(trial);
    if (run.runs) --running_;
    run.runs = false;
}

void Timeline::drop_clones(TrialId trial) {
    for (auto const& [lap, clone] : std::exchange(run(trial).clones, {})) pins_.release(clone.source);
}

void Timeline::interrupt() {
    out_.clear();
    for (auto& view : trials_) {
        if (has_ended(view.status)) continue;
        view.status = TrialStatus::interrupted;
        view.reason = "the run was interrupted";
    }
}

void Timeline::decide(Decision decision) {
    if (!decides_) return;
    decision.virtual_time = clock_->now();
    decisions_.push_back(std::move(decision));
}

}  // namespace hopscotch
