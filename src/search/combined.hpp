// SPDX-License-Identifier: Apache-2.0
// A search procedure from its two halves: the sampler picks the next configuration, the rule decides which trials go on.
// This class does the book-keeping that all procedures share: ids, start_with, limits, duplicates, failures, budgets. When a
// budget is used up, no trial starts any more, and a trial in training goes on to its next decision.
#pragma once
#include <deque>
#include <memory>

#include "search/goal.hpp"
#include "search/rule.hpp"
#include "search/sampler.hpp"
#include "search/search.hpp"
#include "search/trial_points.hpp"

namespace hopscotch {

// Inputs of both halves; must not move while they live.
struct SearchInput {
    Experiment experiment;
    Space space;
    Measure measure = {};  // none: search.subject_to is ignored; needed for sizes among search.objectives
    History known = {};    // of an earlier run
};

class CombinedSearch : public Search {
public:
    // most: configurations in all; none: until the rule wants no more or the sampler has no more.
    // later: likewise, of each further stage.
    CombinedSearch(std::unique_ptr<SearchInput const> input, std::unique_ptr<Sampler> sampler, std::unique_ptr<Rule> rule,
                   std::optional<std::int64_t> most, std::deque<std::int64_t> later = {});

    std::optional<Proposal> next() override;
    Verdict report(Report const& report) override;
    bool finished() const override;
    bool decides_nothing() const override { return !rule_->decides() && !sampler_->learns(); }
    bool grow() override;
    bool clones() const override { return rule_->clones(); }
    std::string why_not_resumed() const override;

private:
    std::optional<Assignment> configuration(int& epochs);
    bool is_allowed(Assignment const& assignment, std::string const& needed_by) const;  // by search.subject_to
    Proposal start(Assignment assignment, int epochs);
    Verdict decide(TrialId trial);
    void follow(TrialHistory& trial, Verdict const& verdict);
    void close();
    void grant(int epochs);  // or take back
    bool is_spent() const;   // budget.epochs
    std::string spent_text() const;

    std::unique_ptr<SearchInput const> input_;
    std::unique_ptr<Sampler> sampler_;
    std::unique_ptr<Rule> rule_;
    std::optional<std::int64_t> most_;
    std::deque<std::int64_t> later_;
    History history_;
    Goal goal_;
    TrialPoints points_;  // not used if nothing is decided
    std::int64_t running_ = 0, granted_epochs_ = 0;
    bool closed_ = false;  // no further trial starts
    bool listed_;          // the sampler has a finite list
};

}  // namespace hopscotch
