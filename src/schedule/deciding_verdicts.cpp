// SPDX-License-Identifier: Apache-2.0
// What becomes of a trial: the half of deciding_director.hpp that obeys the search.
#include <fmt/format.h>

#include "core/error.hpp"
#include "schedule/deciding_director.hpp"
#include "schedule/trial_end.hpp"

namespace hopscotch {

void DecidingDirector::obey(LapId lap, Verdict const& verdict) {
    auto& plan = plan_of(lap.trial);
    auto& view = trials_[lap.trial.index()];
    switch (verdict.kind) {
        case Verdict::Kind::go_on:
            if (verdict.until_epoch <= lap.epoch + 1) {
                decide({Decision::Kind::finish, lap.trial, lap.epoch, 0, {}, verdict.why});
                return close(lap.trial, TrialStatus::finished, "");
            }
            decide({Decision::Kind::go_on, lap.trial, lap.epoch, verdict.until_epoch, {}, verdict.why});
            plan.until = verdict.until_epoch;
            return;
        case Verdict::Kind::stop: return stop(lap.trial, verdict.why);
        case Verdict::Kind::pause:
            require(!plan.runs, "a search that clones cannot pause trials (they train on while it decides)");
            decide({Decision::Kind::pause, lap.trial, lap.epoch, 0, {}, verdict.why});
            paused_.insert(lap.trial);
            view.status = TrialStatus::paused;
            return;
        case Verdict::Kind::clone: return replace(lap, verdict);
    }
}

void DecidingDirector::replace(LapId lap, Verdict const& verdict) {
    auto& plan = plan_of(lap.trial);
    LapId const source{verdict.source, verdict.source_epoch};
    bool const kept = source.trial.value >= 0 && source.trial.index() < plans_.size() && source.epoch >= 0 &&
                      plan_of(source.trial).reported == source.epoch + 1;
    require(kept && search_->clones() && verdict.until_epoch > lap.epoch + 1,
            fmt::format("trial {} cannot become a clone of trial {} after lap {} until epoch {} (only the last lap that was "
                        "reported is kept)",
                        lap.trial.value, source.trial.value, source.epoch, verdict.until_epoch));
    decide({Decision::Kind::clone, lap.trial, lap.epoch, verdict.until_epoch, source, verdict.why});
    pins_.hold(source);
    drop_clone(plan);
    plan.clone = verdict;
    plan.until = verdict.until_epoch;
}

// Its own early stopping has ended the trial. For the search it goes on with what it was told last, in no time.
void DecidingDirector::plateau(TrialId trial, Verdict verdict) {
    auto& plan = plan_of(trial);
    if (!plan.end) stop(trial, plan.stop.reason());
    auto const loss = search_loss(plan.told, experiment_.search.mode);
    for (;;) {
        bool const decision = plan.reported == plan.until;
        if (decision && (verdict.kind != Verdict::Kind::go_on || verdict.until_epoch <= plan.until)) break;
        if (decision) plan.until = verdict.until_epoch;
        verdict = tell({trial, plan.reported++, loss});
    }
    if (verdict.kind == Verdict::Kind::pause) paused_.insert(trial);
}

void DecidingDirector::stop(TrialId trial, std::string const& why) {
    decide({Decision::Kind::stop, trial, plan_of(trial).reported - 1, 0, {}, why});
    close(trial, TrialStatus::stopped, why);
}

// The search is done with it; a lap that is under way is trained to its end.
void DecidingDirector::close(TrialId trial, TrialStatus status, std::string const& why) {
    auto& plan = plan_of(trial);
    plan.end = status;
    plan.why = why;
    drop_clone(plan);
    conclude(trial);
}

void DecidingDirector::conclude(TrialId trial) {
    auto& view = trials_[trial.index()];
    auto const& plan = plan_of(trial);
    if (plan.reported < plan.begun || has_ended(view.status)) return;
    view.status = *plan.end;
    view.reason = plan.why;
}

// It has failed, and now it has on the clock too.
void DecidingDirector::bury(TrialId trial) {
    auto& plan = plan_of(trial);
    clock_->forget(trial);
    if (plan.runs) --running_;
    plan.runs = false;
    plan.begun = plan.reported;
    plan.end = trials_[trial.index()].status;
    forget_clones(trial);
}

// What it was to become, and will not.
void DecidingDirector::forget_clones(TrialId trial) {
    auto& plan = plan_of(trial);
    drop_clone(plan);
    for (auto const& [lap, clone] : plan.clones) pins_.let_go(clone.source);
    plan.clones.clear();
}

// The search has decided on trials that wait for its decision.
void DecidingDirector::stop_ended() {
    for (auto const& [known_as, why] : search_->take_ended()) {
        auto const trial = known_.at(known_as.index());
        bool const over = plan_of(trial).apart || plan_of(trial).end;  // by order, or with the run
        if (over && paused_.erase(trial) == 0) continue;
        require(over || paused_.erase(trial) == 1,
                fmt::format("the search ends trial {}, which is not paused", trial.value));
        if (!plan_of(trial).end) stop(trial, why);
    }
}

void DecidingDirector::end_paused() {
    stop_ended();
    for (auto const trial : std::exchange(paused_, {}))
        if (!plan_of(trial).end) stop(trial, finish_.empty() ? search_->why_left() : finish_);
}

void DecidingDirector::drop_clone(Plan& plan) {
    if (plan.clone) pins_.let_go({plan.clone->source, plan.clone->source_epoch});
    plan.clone.reset();
}

void DecidingDirector::decide(Decision decision) {
    decision.virtual_time = clock_->now();
    decisions_.push_back(std::move(decision));
}

}  // namespace hopscotch
