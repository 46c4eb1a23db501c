// SPDX-License-Identifier: Apache-2.0
// Successive halving (Jamieson and Talwalkar 2016): one bracket. The best after some epochs: a bracket of two rungs, often
// as good as longer ones at a part of the cost (arXiv 2307.15422). Hyperband (Li et al. 2018): brackets that trade many
// trials for long ones, and iterations of them. Brackets do not depend on each other, so they run interleaved: the earliest
// that has work gives it, and a new one opens when all others wait for results.
#include <fmt/format.h>

#include <algorithm>

#include "experiment/config.hpp"
#include "experiment/objectives.hpp"
#include "search/bracket.hpp"

namespace hopscotch {
namespace {

constexpr std::int64_t k_tried_for_each = 10;  // trials for each that best_after keeps by default

Halving halving_of(Experiment const& experiment) {
    return {experiment.search.rule.eta, first_decision(experiment), most_epochs(experiment)};
}

class Hyperband : public Rule {
public:
    enum class Iterations { one, endless };

    Hyperband(std::vector<std::vector<Rung>> table, int eta, Iterations iterations, std::size_t objectives)
        : table_(std::move(table)), eta_(eta), iterations_(iterations), objectives_(objectives) {}

    bool wants() const override {
        return !closed_ &&
               (iterations_ == Iterations::endless || brackets_.size() < table_.size() || brackets_.back().wants());
    }
    // The first bracket of the table starts at rung 0, the next one at rung 1, and so on.
    int next_rung() const override { return static_cast<int>(open_bracket() % table_.size()); }
    int start(TrialId, int) override {
        auto const open = open_bracket();
        if (open == brackets_.size()) add_bracket();
        bracket_of_.push_back(open);
        return brackets_[open].start();
    }
    void close() override {
        closed_ = true;
        for (auto& each : brackets_) each.close();
    }
    // Brackets do not depend on each other: new trials open further ones.
    void grow(std::int64_t) override {
        closed_ = false;
        for (auto& each : brackets_) each.end();
    }

    bool pauses() const override { return true; }
    bool can_resume() const override {
        return std::any_of(brackets_.begin(), brackets_.end(), [](Bracket const& each) { return each.can_resume(); });
    }
    std::optional<Resumption> resume() override {
        while (first_ < brackets_.size() && brackets_[first_].finished()) ++first_;
        for (auto i = first_; i < brackets_.size(); ++i)
            if (brackets_[i].can_resume()) return brackets_[i].resume();
        return std::nullopt;
    }

    Verdict decide(TrialId trial, History const& history) override {
        return brackets_[bracket_of_[trial.index()]].decide(trial, history.of(trial).last_point());
    }
    void fail(TrialId trial, History const& history) override {
        brackets_[bracket_of_[trial.index()]].fail(trial, history.of(trial).last_point());
    }

private:
    // The earliest that wants a trial; the number of brackets: a new one.
    std::size_t open_bracket() const {
        auto const open = std::ranges::find_if(brackets_, [](Bracket const& each) { return each.wants(); });
        return static_cast<std::size_t>(open - brackets_.begin());
    }
    void add_bracket() {
        auto const number = brackets_.size();
        auto const name = table_.size() == 1 ? "" : fmt::format("bracket {}, ", number);
        brackets_.emplace_back(table_[number % table_.size()], eta_, name, objectives_);
    }

    std::vector<std::vector<Rung>> table_;
    int eta_;
    Iterations iterations_;
    std::size_t objectives_;
    bool closed_ = false;
    std::vector<Bracket> brackets_;
    std::vector<std::size_t> bracket_of_;  // by trial
    std::size_t first_ = 0;                // all before it are finished
};

}  // namespace

std::unique_ptr<Rule> make_successive_halving(Experiment const& experiment, std::optional<std::int64_t> most) {
    auto const halving = halving_of(experiment);
    // Not known with a budget of epochs alone: as many as leave one for the last rung.
    auto const trials = most.value_or(lone_survivor_trials(halving));
    std::vector<std::vector<Rung>> table{halving_bracket(trials, halving)};
    return std::make_unique<Hyperband>(std::move(table), halving.eta, Hyperband::Iterations::one,
                                       objective_count(experiment.search));
}

std::vector<Rung> best_after_rungs(Experiment const& experiment, std::optional<std::int64_t> most) {
    auto const& search = experiment.search;
    std::int64_t const first = first_decision(experiment), last = most_epochs(experiment);
    auto const kept = [&](std::int64_t trials) {
        return std::min<std::int64_t>(trials,
                                      search.rule.keep.value_or(std::max<std::int64_t>(trials / k_tried_for_each, 1)));
    };
    auto trials = most.value_or(k_most_trials);
    if (search.budget.epochs) {  // at most as many as it can pay
        auto const budget = *search.budget.epochs / search.copies.first();
        auto const costs = [&](std::int64_t number) { return number * first + kept(number) * (last - first); };
        std::int64_t paid = 1;
        while (paid < trials && costs(paid + 1) <= budget) ++paid;
        trials = paid;
    }
    std::vector<Rung> out{{trials, static_cast<int>(first)}};
    if (last > first) out.push_back({kept(trials), static_cast<int>(last)});
    return out;
}

std::unique_ptr<Rule> make_best_after(Experiment const& experiment, std::optional<std::int64_t> most) {
    constexpr int no_halving = 1;  // `keep` trials go on, also if fewer than the table says have come
    std::vector<std::vector<Rung>> table{best_after_rungs(experiment, most)};
    return std::make_unique<Hyperband>(std::move(table), no_halving, Hyperband::Iterations::one,
                                       objective_count(experiment.search));
}

std::unique_ptr<Rule> make_hyperband(Experiment const& experiment, std::optional<std::int64_t> most) {
    auto const halving = halving_of(experiment);
    bool const bounded = most || experiment.search.budget.epochs;
    return std::make_unique<Hyperband>(hyperband_table(halving), halving.eta,
                                       bounded ? Hyperband::Iterations::endless : Hyperband::Iterations::one,
                                       objective_count(experiment.search));
}

}  // namespace hopscotch
