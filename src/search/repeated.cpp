// SPDX-License-Identifier: Apache-2.0
#include "search/repeated.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "experiment/config.hpp"
#include "experiment/search_config.hpp"
#include "search/race.hpp"

namespace hopscotch {

RepeatedSearch::RepeatedSearch(std::unique_ptr<Search> inner, SearchConfig const& search, LastEpoch last_epoch)
    : inner_(std::move(inner)),
      repeats_(search.copies.repeats),
      folds_(search.copies.folds),
      copies_(search.copies.count()),
      first_copies_(search.copies.first()),
      budget_(search.budget.epochs),
      last_epoch_(std::move(last_epoch)),
      race_is_over_(!search.copies.race) {
    require(copies_ >= 1 && !inner_->clones(), "copies of a configuration cannot take over other trials' states");
}

std::optional<Proposal> RepeatedSearch::next() {
    if (!resumes_.empty()) return resume_copy();
    if (has_copies_to_start()) return start_copy(groups_.size() - 1, groups_.back().until);
    if (auto const proposal = inner_->next()) {
        ++undecided_;
        if (proposal->kind == Proposal::Kind::start) {
            int const until = proposal->until_epoch;
            groups_.push_back({proposal->assignment, {}, until, last_epoch_ ? last_epoch_(proposal->assignment) : until});
            return start_copy(groups_.size() - 1, until);
        }
        groups_[proposal->trial.index()].until = proposal->until_epoch;
        resume_waiting(proposal->trial.index());
        return resume_copy();
    }
    open_round();
    if (racers_.empty()) return std::nullopt;
    auto const group = racers_.front();
    racers_.pop_front();
    ++racing_;
    return start_copy(group, groups_[group].last);
}

bool RepeatedSearch::has_copies_to_start() const {
    return !groups_.empty() && std::ssize(groups_.back().copies) < first_copies_;
}

// The search gives ids one after the other: so a copy also starts if its group has failed meanwhile, for one lap.
Proposal RepeatedSearch::start_copy(std::size_t number, int until) {
    auto& group = groups_[number];
    TrialId const trial(places_.size());
    auto const copy = static_cast<int>(group.copies.size());
    places_.push_back({number, group.copies.size()});
    if (!group.alive && !races(trial)) until = 1;
    group.copies.push_back({.trial = trial, .until = until});
    auto assignment = group.assignment;
    if (repeats_ > 1) assignment.emplace_back(k_repeat_entry, copy / folds_);
    if (folds_ > 1) assignment.emplace_back(k_fold_entry, copy % folds_);
    return {Proposal::Kind::start, trial, std::move(assignment), until};
}

Proposal RepeatedSearch::resume_copy() {
    auto const trial = resumes_.front();
    resumes_.pop_front();
    auto& copy = copy_of(trial);
    copy.state = Copy::State::running;
    copy.until = group_of(trial).until;
    return {Proposal::Kind::resume, trial, {}, copy.until};
}

void RepeatedSearch::resume_waiting(std::size_t group) {
    for (auto const& copy : groups_[group].copies)
        if (copy.state == Copy::State::waiting) resumes_.push_back(copy.trial);
}

Verdict RepeatedSearch::report(Report const& report) {
    auto const trial = report.trial;
    require(trial.value >= 0 && trial.index() < places_.size(),
            fmt::format("a report of trial {} (the trial has not started)", trial.value));
    auto& copy = copy_of(trial);
    if (copy.state == Copy::State::ended) return stopped("");
    require(copy.state == Copy::State::running, fmt::format("a report of trial {} (the trial is paused)", trial.value));
    if (!report.loss || !std::isfinite(*report.loss)) {
        copy.state = Copy::State::ended;
        group_of(trial).failed = true;
        races(trial) ? finish_racer() : fail(trial);
        return stopped("");
    }
    auto& lap = copy.losses.emplace_back(std::vector{*report.loss});
    lap.insert(lap.end(), report.metrics.begin(), report.metrics.end());
    bool const whole = !races(trial) && lap_is_whole(group_of(trial));
    auto const verdict = whole ? tell(number_of_group(trial)) : Verdict{};
    if (std::ssize(copy.losses) < copy.until) {
        Verdict on;
        on.until_epoch = copy.until;
        return on;
    }
    if (races(trial)) {
        copy.state = Copy::State::ended;
        finish_racer();
        return {};
    }
    return whole ? obey(trial, verdict) : wait(trial);
}

// Have all copies trained the next lap that the inner search is to hear of?
bool RepeatedSearch::lap_is_whole(Group const& group) const {
    return group.alive && std::ssize(group.copies) == first_copies_ &&
           std::ranges::all_of(group.copies, [&](Copy const& copy) { return std::ssize(copy.losses) > group.told; });
}

// Added in the order of the copies, not of their arrival.
Verdict RepeatedSearch::tell(std::size_t number) {
    auto& group = groups_[number];
    auto const lap = static_cast<std::size_t>(group.told);
    std::vector<double> means(group.copies.front().losses[lap].size(), 0.0);
    for (auto const& copy : group.copies)
        for (std::size_t i = 0; i < means.size(); ++i) means[i] += copy.losses[lap][i];
    for (auto& mean : means) mean /= first_copies_;
    int const epoch = group.told++;
    return inner_->report({TrialId(number), epoch, means.front(), {means.begin() + 1, means.end()}});
}

// The first copies at a decision point wait for the others. A copy at its end does not wait.
Verdict RepeatedSearch::wait(TrialId trial) {
    auto& copy = copy_of(trial);
    auto const& group = group_of(trial);
    bool const ends = is_at_its_end(group, copy);
    copy.state = group.alive && !ends ? Copy::State::waiting : Copy::State::ended;
    if (ends) return {};
    if (!group.alive) return stopped(group.why);
    Verdict out;
    out.kind = Verdict::Kind::pause;
    out.why = fmt::format("epoch {}: waits for the other trials of its configuration", copy.until);
    return out;
}

// The last copy to come gets the verdict of the inner search for all of them.
Verdict RepeatedSearch::obey(TrialId trial, Verdict const& verdict) {
    auto& group = group_of(trial);
    auto& copy = copy_of(trial);
    require(verdict.kind != Verdict::Kind::clone, "copies of a configuration cannot take over other trials' states");
    if (verdict.kind == Verdict::Kind::go_on && verdict.until_epoch > copy.until) {
        group.until = copy.until = verdict.until_epoch;
        resume_waiting(number_of_group(trial));
        return verdict;
    }
    --undecided_;
    if (verdict.kind == Verdict::Kind::pause) {
        copy.state = Copy::State::waiting;
        return verdict;
    }
    copy.state = Copy::State::ended;
    end_group(number_of_group(trial), verdict.why);
    if (!is_at_its_end(group, copy)) return verdict;
    Verdict out;
    out.why = verdict.why;
    return out;
}

bool RepeatedSearch::is_at_its_end(Group const& group, Copy const& copy) const { return copy.until >= group.last; }

void RepeatedSearch::fail(TrialId trial) {
    auto const number = number_of_group(trial);
    if (!groups_[number].alive) return;
    inner_->report({TrialId(number), groups_[number].told, std::nullopt});
    --undecided_;
    end_group(number, fmt::format("trial {} of the same configuration has failed", trial.value));
}

// Waiting copies are stopped now; copies in training, at their next decision point.
void RepeatedSearch::end_group(std::size_t number, std::string const& why) {
    auto& group = groups_[number];
    group.alive = false;
    group.why = why;
    for (auto& copy : group.copies) {
        if (copy.state != Copy::State::waiting) continue;
        copy.state = Copy::State::ended;
        std::erase(resumes_, copy.trial);
        ended_.push_back({copy.trial, why});
    }
}

bool RepeatedSearch::is_decided() const {
    return resumes_.empty() && !has_copies_to_start() && inner_->finished() && (decides_nothing() || undecided_ == 0);
}

// A round begins when the one before it has ended, so its configurations do not depend on the order of events.
void RepeatedSearch::open_round() {
    if (race_is_over_ || racing_ > 0 || !racers_.empty() || !is_decided()) return;
    std::vector<CopyLosses> losses;
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
        auto const& group = groups_[i];
        if (group.failed || std::ssize(group.copies.front().losses) < group.last) continue;  // or the rule has ended it
        numbers.push_back(i);
        auto& out = losses.emplace_back();
        for (auto const& copy : group.copies) out.push_back(copy.losses.back().front());
    }
    auto epochs = trained_epochs();
    for (auto const i : racers(losses, static_cast<std::size_t>(copies_))) {
        if (budget_ && epochs >= *budget_) break;
        epochs += groups_[numbers[i]].last;
        racers_.push_back(numbers[i]);
    }
    race_is_over_ = racers_.empty();
}

void RepeatedSearch::finish_racer() {
    --racing_;
    open_round();
}

std::int64_t RepeatedSearch::trained_epochs() const {
    std::int64_t out = 0;
    for (auto const& group : groups_)
        for (auto const& copy : group.copies) out += std::ssize(copy.losses);
    return out;
}

bool RepeatedSearch::grow() {
    if (!inner_->grow()) return false;
    for (auto& group : groups_)
        for (auto& copy : group.copies)
            if (copy.state == Copy::State::waiting) copy.state = Copy::State::ended;
    return true;
}

bool RepeatedSearch::finished() const { return is_decided() && race_is_over_ && racing_ == 0; }

}  // namespace hopscotch
