// SPDX-License-Identifier: Apache-2.0
#include "direct/deciding_director.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/error.hpp"
#include "core/ids.hpp"
#include "direct/trial_end.hpp"
#include "experiment/measures.hpp"
#include "search/search.hpp"

namespace hopscotch {
namespace {

Verdict go_on_until(int epoch) {
    Verdict out;
    out.until_epoch = epoch;
    return out;
}

}  // namespace

// The default of in_flight never depends on trainers: decisions must not.
DecidingDirector::DecidingDirector(Experiment const& experiment, Search& search, Timeline& timeline)
    : search_config_(experiment.search),
      objectives_(objectives_of(experiment.search)),
      search_(search),
      timeline_(timeline),
      in_flight_(timeline.options().in_flight > 0 ? timeline.options().in_flight : 2 * timeline.options().shards) {}

void DecidingDirector::fill() {
    stop_ended();
    if (!timeline_.finish_reason().empty()) return end_paused();
    if (nothing_now_) return;
    while (!nothing_now_ && timeline_.running() < in_flight_) {
        auto const proposal = search_.next();
        nothing_now_ = !proposal;
        if (!proposal) break;
        if (proposal->kind == Proposal::Kind::start)
            start(*proposal);
        else
            resume(*proposal);
    }
    if (nothing_now_ && search_.finished()) end_paused();
}

void DecidingDirector::start(Proposal const& proposal) {
    require(proposal.until_epoch > 0, fmt::format("the search starts trial {} until epoch {} (it must be at least 1)",
                                                  proposal.trial.value, proposal.until_epoch));
    auto const trial = timeline_.add(proposal.assignment);
    require(trial == proposal.trial,
            fmt::format("the search starts trial {} (the next number is {})", proposal.trial.value, trial.value));
    auto& run = timeline_.run(trial);
    if (run.stop.may_be_due() && timeline_.clones())
        throw ConfigError(
            fmt::format("/train/early_stopping: {} replaces bad trials (a stopped trial cannot be replaced); leave it out",
                        search_config_.procedure));
    run.until = proposal.until_epoch;
    timeline_.view(trial).status = TrialStatus::running;
    timeline_.view(trial).epochs_wanted = proposal.until_epoch;
    plans_[trial];
    timeline_.decide({.kind = Decision::Kind::start, .trial = trial, .until_epoch = proposal.until_epoch});
    run_on(trial);
}

void DecidingDirector::resume(Proposal const& proposal) {
    auto const trial = proposal.trial;
    auto& run = timeline_.run(trial);
    require(paused_.contains(trial) && proposal.until_epoch > run.until,
            fmt::format("the search resumes trial {} until epoch {} (the trial is not paused before that epoch)",
                        trial.value, proposal.until_epoch));
    paused_.erase(trial);
    if (run.end) return plateau(trial, go_on_until(proposal.until_epoch));  // only the search assumed that it could go on
    timeline_.decide(
        {.kind = Decision::Kind::resume, .trial = trial, .epoch = run.until - 1, .until_epoch = proposal.until_epoch});
    run.until = proposal.until_epoch;
    timeline_.view(trial).status = TrialStatus::running;
    run_on(trial);
}

void DecidingDirector::run_on(TrialId trial) {
    if (paused_.contains(trial) || !timeline_.may_run_on(trial)) return;
    if (plans_.at(trial).clone) become_clone(trial);
    timeline_.run_on(trial);
}

void DecidingDirector::become_clone(TrialId trial) {
    auto const clone = *std::exchange(plans_.at(trial).clone, std::nullopt);
    timeline_.become(trial, {clone.source, clone.source_epoch}, clone.assignment);
}

Verdict DecidingDirector::tell(Report const& report) {
    nothing_now_ = false;
    return search_.report(report);
}

void DecidingDirector::hear(LapId lap) {
    auto& run = timeline_.run(lap.trial);
    auto& plan = plans_.at(lap.trial);
    auto const& values = run.values[static_cast<std::size_t>(lap.epoch)];
    run.stop.observe(lap.epoch, values.metric);
    plan.told = objective_value(search_config_, plan.told, values.metric);
    plan.losses = losses_of(values);
    auto const loss = run.failed && run.reported == run.known() ? std::nullopt : search_loss(plan.told, search_config_.mode);
    auto const verdict = tell({lap.trial, lap.epoch, loss, plan.losses});
    if (timeline_.clones()) timeline_.pins().reported(lap);
    if (!loss) {
        drop_clone(lap.trial);
        return timeline_.end_failed(lap.trial);
    }
    bool const decision = run.reported == run.until;
    bool const finishes = decision && verdict.kind == Verdict::Kind::go_on && verdict.until_epoch <= run.reported;
    if (run.stop.due() && !finishes) return plateau(lap.trial, verdict);
    auto const& finish = timeline_.finish_reason();
    if (decision && !finish.empty() && !finishes && verdict.kind != Verdict::Kind::stop) return stop(lap.trial, finish);
    if (decision) obey(lap, verdict);
    run_on(lap.trial);
    timeline_.release_certain(lap.trial);
}

std::vector<double> DecidingDirector::losses_of(LapValues const& values) const {
    std::vector<double> out;
    if (values.objectives.empty()) return out;  // the lap has failed, or there is one objective
    for (auto const& each : objectives_)
        if (each.is_metric) out.push_back(each.loss(values.objectives.at(out.size())));
    return out;
}

void DecidingDirector::obey(LapId lap, Verdict const& verdict) {
    auto& run = timeline_.run(lap.trial);
    switch (verdict.kind) {
        case Verdict::Kind::go_on:
            if (verdict.until_epoch <= lap.epoch + 1) {
                timeline_.decide(
                    {.kind = Decision::Kind::finish, .trial = lap.trial, .epoch = lap.epoch, .why = verdict.why});
                return end(lap.trial, TrialStatus::finished, "");
            }
            timeline_.decide({.kind = Decision::Kind::go_on,
                              .trial = lap.trial,
                              .epoch = lap.epoch,
                              .until_epoch = verdict.until_epoch,
                              .why = verdict.why});
            run.until = verdict.until_epoch;
            return;
        case Verdict::Kind::stop: return stop(lap.trial, verdict.why);
        case Verdict::Kind::pause:
            require(!run.runs, "a search that clones cannot pause trials (they train on during its decisions)");
            timeline_.decide({.kind = Decision::Kind::pause, .trial = lap.trial, .epoch = lap.epoch, .why = verdict.why});
            paused_.insert(lap.trial);
            timeline_.view(lap.trial).status = TrialStatus::paused;
            return;
        case Verdict::Kind::clone: return replace(lap, verdict);
    }
}

void DecidingDirector::replace(LapId lap, Verdict const& verdict) {
    LapId const source{verdict.source, verdict.source_epoch};
    bool const kept =
        plans_.contains(source.trial) && source.epoch >= 0 && timeline_.run(source.trial).reported == source.epoch + 1;
    require(kept && timeline_.clones() && verdict.until_epoch > lap.epoch + 1,
            fmt::format("trial {} cannot become a clone of trial {} after lap {} until epoch {} (only the last lap that was "
                        "reported is kept)",
                        lap.trial.value, source.trial.value, source.epoch, verdict.until_epoch));
    timeline_.decide({.kind = Decision::Kind::clone,
                      .trial = lap.trial,
                      .epoch = lap.epoch,
                      .until_epoch = verdict.until_epoch,
                      .source = source,
                      .why = verdict.why});
    timeline_.pins().hold(source);
    drop_clone(lap.trial);
    plans_.at(lap.trial).clone = verdict;
    timeline_.run(lap.trial).until = verdict.until_epoch;
}

// A trial's own early stopping has ended it. For the search the trial goes on, in no time, with its last reported value.
void DecidingDirector::plateau(TrialId trial, Verdict verdict) {
    auto& run = timeline_.run(trial);
    if (!run.end) stop(trial, run.stop.reason());
    auto const loss = search_loss(plans_.at(trial).told, search_config_.mode);
    for (;;) {
        bool const decision = run.reported == run.until;
        if (decision && (verdict.kind != Verdict::Kind::go_on || verdict.until_epoch <= run.until)) break;
        if (decision) run.until = verdict.until_epoch;
        verdict = tell({trial, run.reported++, loss, plans_.at(trial).losses});
    }
    if (verdict.kind == Verdict::Kind::pause) paused_.insert(trial);
}

void DecidingDirector::stop(TrialId trial, std::string const& why) {
    timeline_.decide({.kind = Decision::Kind::stop, .trial = trial, .epoch = timeline_.run(trial).reported - 1, .why = why});
    end(trial, TrialStatus::stopped, why);
}

void DecidingDirector::end(TrialId trial, TrialStatus status, std::string const& why) {
    drop_clone(trial);
    timeline_.end(trial, status, why);
}

// Paused trials that the search has ended.
void DecidingDirector::stop_ended() {
    for (auto const& [trial, why] : search_.take_ended()) {
        bool const over = timeline_.run(trial).end.has_value();  // by its early stopping, or with the run
        bool const waited = paused_.erase(trial) > 0;
        require(over || waited, fmt::format("the search ends trial {} (the trial is not paused)", trial.value));
        if (!over) stop(trial, why);
    }
}

void DecidingDirector::end_paused() {
    stop_ended();
    auto const& finish = timeline_.finish_reason();
    for (auto const trial : std::exchange(paused_, {}))
        if (!timeline_.run(trial).end) stop(trial, finish.empty() ? search_.why_not_resumed() : finish);
}

bool DecidingDirector::grow() {
    if (!timeline_.finish_reason().empty() || !search_.grow()) return false;
    nothing_now_ = false;
    return true;
}

// The search hears of the failure now; of a paused trial it hears when it would take the trial up (NumberedSearch).
void DecidingDirector::fail(TrialId trial) {
    auto const& run = timeline_.run(trial);
    bool const waits = paused_.erase(trial) > 0;
    if (!run.end && !waits) tell({trial, run.reported, std::nullopt});
    drop_clone(trial);
    plans_.erase(trial);
}

void DecidingDirector::drop_clone(TrialId trial) {
    auto const clone = std::exchange(plans_.at(trial).clone, std::nullopt);
    if (clone) timeline_.pins().release({clone->source, clone->source_epoch});
}

}  // namespace hopscotch
