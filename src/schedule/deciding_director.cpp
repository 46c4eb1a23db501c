// SPDX-License-Identifier: Apache-2.0
#include "schedule/deciding_director.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "experiment/reader.hpp"
#include "schedule/lap_metric.hpp"
#include "schedule/trial_end.hpp"

namespace hopscotch {
namespace {

Verdict go_on_until(int epoch) {
    Verdict out;
    out.until_epoch = epoch;
    return out;
}

}  // namespace

DecidingDirector::DecidingDirector(Experiment const& experiment, std::unique_ptr<Search> search, DirectorOptions options)
    : experiment_(experiment),
      search_(std::move(search)),
      options_(std::move(options)),
      trains_on_(search_->clones() && options_.decide_by == DecideBy::virtual_time),
      clock_(options_.decide_by == DecideBy::arrival
                 ? make_arrival_clock()
                 : make_virtual_clock(options_.shards, options_.lookahead, [this](LapId const& lap, int step) {
                       return step == options_.shards ? 0 : trials_[lap.trial.index()].unit_cost;
                   })) {
    // Never of the trainers: decisions must not depend on them.
    if (options_.in_flight == 0) options_.in_flight = 2 * options_.shards;
    advance();
}

// Whether a lap that is known has ended it.
bool DecidingDirector::failed(Plan const& plan) { return !plan.values.empty() && !std::isfinite(plan.values.back()); }

int DecidingDirector::laps_wanted(Plan const& plan) const {
    return trains_on_ ? std::max(plan.until, plan.epochs) : plan.until;
}

// How many of them cannot turn out to be one too many.
int DecidingDirector::laps_ahead(Plan const& plan) const {
    return plan.apart ? plan.until : plan.stop.certain_laps(plan.reported, laps_wanted(plan));
}

void DecidingDirector::record(LapRecord const& record) {
    require(record.trial.value >= 0 && record.trial.index() < trials_.size(),
            fmt::format("a record of trial {} (there are {} trials)", record.trial.value, trials_.size()));
    auto& view = trials_[record.trial.index()];
    auto& plan = plan_of(record.trial);
    auto const known = static_cast<int>(plan.values.size());
    // A lap that was on its way when its trial ended, or one that an earlier attempt has delivered.
    if (interrupted_) return;
    if (over(plan) || record.epoch < known) {
        for (auto& given : numbered(record.orders)) due_.push_back(std::move(given));
        obey_orders();
        return advance();
    }
    require(record.epoch == known && known < plan.released,
            fmt::format("lap {} of trial {} came when {} were known and {} released", record.epoch, view.id.value, known,
                        plan.released));
    bool const good = record.outcome == Outcome::finished;
    plan.values.push_back(good ? lap_metric(record, experiment_.search.metric, plan.loss) : k_no_score);
    if (good) ++view.epochs_done;
    if (failed(plan)) {
        view.status = good ? TrialStatus::diverged : status_of(record.outcome);
        view.reason = good ? fmt::format("{} is not a finite number", experiment_.search.metric) : record.reason;
    }
    if (auto const clone = plan.clones.extract(record.epoch)) pins_.let_go(clone.mapped().source);
    // On the clock it may have become another since, which it never will in truth.
    if (failed(plan) && !plan.clones.empty()) view.assignment = plan.clones.begin()->second.before;
    if (!record.orders.empty()) orders_[{record.trial, record.epoch}] = numbered(record.orders);
    clock_->arrived({record.trial, record.epoch});
    advance();
}

void DecidingDirector::interrupt() {
    interrupted_ = true;
    out_.clear();
    for (auto& view : trials_) {
        if (has_ended(view.status)) continue;
        view.status = TrialStatus::interrupted;
        view.reason = "the run was interrupted";
    }
}

// As far as the clock may go: not past the report of a lap whose record is missing.
void DecidingDirector::advance() {
    while (!over_ && !interrupted_) {
        while (auto const lap = clock_->due()) {
            if (lap->epoch >= static_cast<int>(plan_of(lap->trial).values.size())) return;
            clock_->pop();
            deliver(*lap);
        }
        fill();
        auto const ended = clock_->step();
        if (!ended && running_ > 0) return;  // by arrival, and nothing has arrived
        if (!ended) {
            end_paused();  // Nobody runs, all is told, and the search starts nothing. It is pure: it never will.
            begin_clones();
            over_ = running_ == 0;
        } else {
            for (auto const& lap : *ended) lap_over(lap);
        }
    }
}

void DecidingDirector::fill() {
    stop_ended();
    if (!finish_.empty()) return end_paused();
    if (nothing_now_) return;
    while (!nothing_now_ && running_ < options_.in_flight) {
        auto const proposal = search_->next();
        nothing_now_ = !proposal;
        if (!proposal) break;
        if (proposal->kind == Proposal::Kind::start)
            start(*proposal);
        else
            resume(*proposal);
    }
    if (nothing_now_ && search_->finished()) end_paused();
}

void DecidingDirector::lap_over(LapId lap) {
    plan_of(lap.trial).runs = false;
    --running_;
    run_on(lap.trial);
}

void DecidingDirector::deliver(LapId lap) {
    if (auto const orders = orders_.extract(lap)) due_.insert(due_.end(), orders.mapped().begin(), orders.mapped().end());
    for (auto const& given : due_)
        if (given.order.kind == Order::Kind::finish) finish(given.order.why);  // nor does this trial go on
    hear(lap);
    if (auto& plan = plan_of(lap.trial); plan.resume && rests(lap.trial))
        resume_apart(*std::exchange(plan.resume, std::nullopt));
    obey_orders();
    begin_clones();
}

void DecidingDirector::hear(LapId lap) {
    auto& plan = plan_of(lap.trial);
    plan.reported = lap.epoch + 1;
    double const value = plan.values[static_cast<std::size_t>(lap.epoch)];
    if (plan.end) return std::isfinite(value) ? conclude(lap.trial) : bury(lap.trial);  // the search is done with it
    if (plan.apart) return hear_apart(lap);
    plan.stop.observe(lap.epoch, value);
    plan.told = objective_value(experiment_.search, plan.told, value);
    auto const loss = search_loss(plan.told, experiment_.search.mode);
    auto const verdict = tell({lap.trial, lap.epoch, loss});
    if (search_->clones()) pins_.reported(lap);
    if (!loss) return bury(lap.trial);
    bool const decision = plan.reported == plan.until;
    bool const finishes = decision && verdict.kind == Verdict::Kind::go_on && verdict.until_epoch <= plan.reported;
    if (plan.stop.due() && !finishes) return plateau(lap.trial, verdict);
    if (decision && !finish_.empty() && !finishes && verdict.kind != Verdict::Kind::stop) return stop(lap.trial, finish_);
    if (decision) obey(lap, verdict);
    run_on(lap.trial);
    release_certain(lap.trial);
}

// The search and the director number trials on their own.
Verdict DecidingDirector::tell(Report report) {
    report.trial = plan_of(report.trial).known_as.value();
    auto verdict = search_->report(report);
    if (verdict.kind == Verdict::Kind::clone) {
        require(verdict.source.value >= 0 && verdict.source.index() < known_.size(),
                fmt::format("a clone of trial {}, which the search has not started", verdict.source.value));
        verdict.source = known_[verdict.source.index()];
    }
    nothing_now_ = false;
    return verdict;
}

void DecidingDirector::start(Proposal const& proposal) {
    require(proposal.trial.index() == known_.size() && proposal.until_epoch > 0,
            fmt::format("the search starts trial {} until epoch {} ({} trials exist)", proposal.trial.value,
                        proposal.until_epoch, known_.size()));
    TrialId const trial(trials_.size());
    Problems told("");  // what is wrong with an assignment was said when the experiment was read
    auto const train = resolve(experiment_, proposal.assignment, told).train;
    if (train.early_stopping.patience > 0 && search_->clones())
        throw ConfigError(
            fmt::format("/train/early_stopping: {} replaces what does badly (a trial that has stopped could not "
                        "be replaced) leave it out",
                        experiment_.search.procedure));
    TrialView view;
    view.id = trial;
    view.assignment = proposal.assignment;
    view.status = TrialStatus::running;
    view.epochs_wanted = proposal.until_epoch;
    view.unit_cost = options_.unit_cost(proposal.assignment);
    trials_.push_back(std::move(view));
    Plan plan{train.loss, EarlyStop(train.early_stopping, experiment_.search.metric, experiment_.search.mode)};
    plan.epochs = train.epochs;
    plan.until = proposal.until_epoch;
    plan.known_as = proposal.trial;
    plans_.push_back(std::move(plan));
    known_.push_back(trial);
    decide({Decision::Kind::start, trial, -1, proposal.until_epoch});
    run_on(trial);
}

void DecidingDirector::resume(Proposal const& proposal) {
    auto const trial = known_.at(proposal.trial.index());
    if (plan_of(trial).apart) {  // only the search believes that it has paused it
        tell({trial, plan_of(trial).heard_of, std::nullopt});
        return;
    }
    require(paused_.contains(trial) && proposal.until_epoch > plan_of(trial).until,
            fmt::format("the search resumes trial {} until epoch {}, which is not paused before it", trial.value,
                        proposal.until_epoch));
    paused_.erase(trial);
    auto& plan = plan_of(trial);
    if (plan.end) return plateau(trial, go_on_until(proposal.until_epoch));  // only the search believes that it could go on
    decide({Decision::Kind::resume, trial, plan.until - 1, proposal.until_epoch});
    plan.until = proposal.until_epoch;
    trials_[trial.index()].status = TrialStatus::running;
    run_on(trial);
}

// The next lap of a trial, if it stands and may go on.
void DecidingDirector::run_on(TrialId trial) {
    auto& plan = plan_of(trial);
    if (plan.runs || plan.end || paused_.contains(trial) || plan.begun >= laps_ahead(plan)) return;
    if (plan.begun == plan.reported) {  // after a decision; those that are let go on at the same time are equals
        if (clock_->now() > granted_at_) ++grants_;
        granted_at_ = clock_->now();
        plan.release = grants_;
    }
    if (plan.clone) become_clone(trial);
    auto& view = trials_[trial.index()];
    double const lap_cost = view.unit_cost * options_.shards;
    clock_->start({{trial, plan.begun}, plan.release, lap_cost * (laps_wanted(plan) - plan.begun)});
    ++plan.begun;
    view.epochs_wanted = std::max(plan.until, plan.begun);
    ++running_;
    plan.runs = true;
    release_certain(trial);
}

void DecidingDirector::become_clone(TrialId trial) {
    auto& plan = plan_of(trial);
    auto& view = trials_[trial.index()];
    plan.clones[plan.begun] = {{plan.clone->source, plan.clone->source_epoch}, view.assignment};
    view.unit_cost = options_.unit_cost(plan.clone->assignment);
    if (!failed(plan)) view.assignment = std::move(plan.clone->assignment);
    plan.clone.reset();
}

// Where trials train on past decision points, a lap is certain when the one before is over on the clock; else up to the next
// one.
void DecidingDirector::release_certain(TrialId trial) {
    auto& plan = plan_of(trial);
    auto const& view = trials_[trial.index()];
    if (plan.end || failed(plan)) return;
    for (int const certain = trains_on_ ? plan.begun : laps_ahead(plan); plan.released < certain; ++plan.released) {
        Lap lap;
        lap.trial = trial;
        lap.epoch = plan.released;
        lap.release = plan.release;
        lap.remaining_cost = view.unit_cost * options_.shards * (laps_wanted(plan) - lap.epoch);
        lap.assignment = view.assignment;
        if (auto const clone = plan.clones.find(lap.epoch); clone != plan.clones.end()) lap.clone_of = clone->second.source;
        out_.push_back(std::move(lap));
    }
    trials_[trial.index()].epochs_released = plan.released;
}

}  // namespace hopscotch
