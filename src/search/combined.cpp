// SPDX-License-Identifier: Apache-2.0
#include "search/combined.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "experiment/procedures.hpp"
#include "experiment/reader.hpp"
#include "search/known.hpp"

namespace hopscotch {
namespace {

constexpr int k_most_refused = 1000;  // configurations in a row that the reader refuses

// Every trial trains to its end.
class NoRule : public Rule {
public:
    bool wants() const override { return true; }
    int start(TrialId, int wanted) override { return wanted; }
    Verdict decide(TrialId, History const&) override { return {}; }
    void fail(TrialId, History const&) override {}
    bool decides() const override { return false; }
};

// Likewise, but with a decision after every lap: a result may end the search.
class LapByLap : public Rule {
public:
    bool wants() const override { return true; }
    int start(TrialId, int wanted) override {
        wanted_.push_back(wanted);
        return 1;
    }
    Verdict decide(TrialId trial, History const& history) override {
        Verdict out;
        out.until_epoch = std::min(history.of(trial).epochs() + 1, wanted_[trial.index()]);
        return out;
    }
    void fail(TrialId, History const&) override {}

private:
    std::vector<int> wanted_;  // by trial
};

}  // namespace

std::unique_ptr<Rule> make_no_rule(Experiment const& experiment) {
    if (Goal::is_set(experiment.search)) return std::make_unique<LapByLap>();
    return std::make_unique<NoRule>();
}

int most_epochs(Experiment const& experiment) { return experiment.search.rule.max_epochs.value_or(experiment.train.epochs); }

int first_decision(Experiment const& experiment) {
    auto const& rule = experiment.search.rule;
    if (rule.min_epochs) return *rule.min_epochs;
    int const share = procedure_traits(experiment.search.procedure).first_share, most = most_epochs(experiment);
    if (share == 0) return 1;
    return std::clamp(most / rule.eta, 1, std::max(2, (most + share - 1) / share));
}

CombinedSearch::CombinedSearch(std::unique_ptr<SearchInput const> input, std::unique_ptr<Sampler> sampler,
                               std::unique_ptr<Rule> rule, std::optional<std::int64_t> most, std::deque<std::int64_t> later)
    : input_(std::move(input)),
      sampler_(std::move(sampler)),
      rule_(std::move(rule)),
      most_(most),
      later_(std::move(later)),
      history_(input_->known),
      goal_(input_->experiment.search),
      points_(decides_nothing() ? SearchConfig{} : input_->experiment.search, input_->measure),
      listed_(sampler_->remaining(input_->known).has_value()) {}

std::optional<Proposal> CombinedSearch::next() {
    for (;;) {
        if (is_spent() || goal_.is_over()) return std::nullopt;
        if (auto const again = rule_->resume()) {
            auto& trial = history_.of(again->trial);
            trial.state = TrialHistory::State::running;
            trial.until_epoch = again->until_epoch;
            ++running_;
            grant(trial.until_epoch - trial.epochs());
            return Proposal{Proposal::Kind::resume, again->trial, {}, again->until_epoch};
        }
        if (closed_ || !rule_->wants()) return std::nullopt;
        int epochs = 0;
        if (auto assignment = configuration(epochs)) return start(std::move(*assignment), epochs);
        close();  // the rule may let a paused trial go on now
    }
}

namespace {

std::string text_of(Constraint const& constraint) {
    if (!constraint.above) return fmt::format("below {:.10g}", *constraint.below);
    auto const above = fmt::format("above {:.10g}", *constraint.above);
    return constraint.below ? fmt::format("{} and below {:.10g}", above, *constraint.below) : above;
}

}  // namespace

// needed_by: the reason why this configuration must be tried: its exclusion is an error. Empty: it is skipped.
bool CombinedSearch::is_allowed(Assignment const& assignment, std::string const& needed_by) const {
    auto const missed = missed_bound(input_->experiment.search, input_->measure, assignment);
    if (!missed) return true;
    if (needed_by.empty()) return false;
    throw ConfigError(fmt::format("/search/subject_to/{}: must be {}, and is {:.10g} of {} ({}); change one of the two",
                                  missed->bound.name, text_of(missed->bound), missed->value, to_json(assignment).dump(),
                                  needed_by));
}

// start_with comes first. A configuration that the reader refuses is an error if all trials are known before the first
// starts; else it is skipped. A configuration that search.subject_to excludes is skipped, too.
std::optional<Assignment> CombinedSearch::configuration(int& epochs) {
    auto const& starts = input_->space.start_with;
    bool const ablates = sampler_traits(input_->experiment.search.sampler).configurations == Configurations::one_changed;
    sampler_->start_at_rung(rule_->next_rung());
    for (int refused = 0, excluded = 0;;) {
        bool const first = history_.size() < starts.size() && refused + excluded == 0;
        bool const enough = excluded > k_most_refused && !listed_;  // almost nothing else is left
        auto assignment = first ? std::optional(starts[history_.size()]) : enough ? std::nullopt : sampler_->ask(history_);
        if (!assignment && excluded > 0 && history_.size() == 0 && input_->known.results() == 0)
            throw ConfigError(
                "/search/subject_to: excludes every configuration (nothing is left to train); remove a condition");
        if (!assignment) return std::nullopt;
        Problems problems(fmt::format("trial {}", history_.size()));
        epochs = resolve(input_->experiment, *assignment, problems).train.epochs;
        if (!problems.empty()) {
            if (decides_nothing() || first || refused++ == k_most_refused) problems.throw_if_any();
        } else {
            if (is_allowed(*assignment, first ? "start_with names it" : ablates ? "ablation needs all of its trials" : ""))
                return assignment;
            ++excluded;
        }
        history_.refuse(*assignment);
    }
}

Proposal CombinedSearch::start(Assignment assignment, int epochs) {
    TrialId const trial(history_.size());
    int const until = rule_->start(trial, epochs);
    history_.add(assignment, until);
    ++running_;
    grant(until);
    if (std::ssize(history_.trials()) >= most_.value_or(k_most_trials)) close();
    return {Proposal::Kind::start, trial, std::move(assignment), until};
}

Verdict CombinedSearch::report(Report const& report) {
    require(report.trial.value >= 0 && report.trial.index() < history_.size(),
            fmt::format("a report of trial {} (there are {})", report.trial.value, history_.size()));
    auto& trial = history_.of(report.trial);
    if (trial.state == TrialHistory::State::ended) return {Verdict::Kind::stop, 0, {}, 0, {}, ""};
    require(trial.state == TrialHistory::State::running,
            fmt::format("a report of trial {} (the trial is paused)", report.trial.value));
    if (!report.loss || !std::isfinite(*report.loss)) {
        granted_epochs_ += trial.epochs() + 1 - trial.until_epoch;  // its other copies, if any, train on to their decision
        history_.add_loss(report.trial, k_worst);
        if (points_.are_used()) history_.add_point(report.trial, k_worst_point);
        trial.state = TrialHistory::State::ended;
        --running_;
        rule_->fail(report.trial, history_);
        goal_.rests(report.trial);
        return {Verdict::Kind::stop, 0, {}, 0, {}, ""};
    }
    require(report.epoch == trial.epochs(),
            fmt::format("lap {} of trial {} was reported after {} laps", report.epoch, report.trial.value, trial.epochs()));
    history_.add_loss(report.trial, *report.loss);
    if (points_.are_used()) history_.add_point(report.trial, points_.of(trial.assignment, report.metrics));
    goal_.report(report.trial, trial.epochs(), *report.loss, trial.last_point());
    Verdict on;
    on.until_epoch = trial.until_epoch;
    return trial.epochs() < trial.until_epoch ? on : decide(report.trial);
}

Verdict CombinedSearch::decide(TrialId id) {
    auto& trial = history_.of(id);
    auto verdict = rule_->decide(id, history_);
    bool const further = verdict.until_epoch > trial.epochs();
    if (goal_.is_over() && (further || verdict.kind == Verdict::Kind::pause))
        verdict = stopped(goal_.why());
    else if (further && is_spent())
        verdict = stopped(spent_text());
    follow(trial, verdict);
    if (trial.state != TrialHistory::State::running) goal_.rests(id);
    // Also at the end of a trial: it may be the last one, and the reason must be reported with a trial.
    if (trial.state == TrialHistory::State::ended && goal_.is_over() && verdict.why.empty()) verdict.why = goal_.why();
    return verdict;
}

void CombinedSearch::follow(TrialHistory& trial, Verdict const& verdict) {
    using enum Verdict::Kind;
    if (verdict.kind == clone) trial.assignment = verdict.assignment;
    bool const goes_on = (verdict.kind == go_on || verdict.kind == clone) && verdict.until_epoch > trial.epochs();
    if (goes_on) {
        grant(verdict.until_epoch - trial.epochs());
        trial.until_epoch = verdict.until_epoch;
        return;
    }
    trial.state = verdict.kind == pause ? TrialHistory::State::paused : TrialHistory::State::ended;
    --running_;
}

void CombinedSearch::close() {
    closed_ = true;
    rule_->close();
}

bool CombinedSearch::grow() {
    if (later_.empty()) return false;
    require(running_ == 0, fmt::format("a search gets more trials while {} are in training", running_));
    most_ = later_.front();
    later_.pop_front();
    history_.end_paused();
    closed_ = false;
    rule_->grow(*most_);
    if (std::ssize(history_.trials()) >= *most_) close();
    return true;
}

void CombinedSearch::grant(int epochs) {
    granted_epochs_ += static_cast<std::int64_t>(epochs) * input_->experiment.search.copies.first();
}

bool CombinedSearch::is_spent() const {
    auto const& most = input_->experiment.search.budget.epochs;
    return most && granted_epochs_ >= *most;
}

std::string CombinedSearch::spent_text() const {
    return fmt::format("the budget of {} epochs is spent", input_->experiment.search.budget.epochs.value_or(0));
}

std::string CombinedSearch::why_not_resumed() const {
    if (goal_.is_over()) return goal_.why();
    return is_spent() ? spent_text() : Search::why_not_resumed();
}

bool CombinedSearch::finished() const {
    // Granted epochs may come back when a trial fails.
    if (is_spent() || goal_.is_over()) return running_ == 0;
    bool const starts = !closed_ && rule_->wants();
    return !starts && !(rule_->pauses() && (running_ > 0 || rule_->can_resume()));
}

}  // namespace hopscotch
