// SPDX-License-Identifier: Apache-2.0
// The budgets that look at results: search.budget.target and patience. The search is over when it has reached the target, or
// when too many trials in a row found nothing better. Once over, it stays over.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "experiment/search_config.hpp"
#include "search/front.hpp"

namespace hopscotch {

class Goal {
public:
    explicit Goal(SearchConfig const& search);

    static bool is_set(SearchConfig const& search) { return search.budget.target || search.budget.patience; }

    // Call it for every lap with a finite loss of search.metric (lower is better). epochs: of its trial so far. point: by
    // which trials are compared: with several objectives a trial is better than the others if none dominates it.
    void report(TrialId trial, int epochs, double loss, Point const& point);

    // The trial has ended, failed or is paused. Counts against patience, unless the trial was the best since it (re)started.
    void rests(TrialId trial);

    bool is_over() const { return !why_.empty(); }
    std::string const& why() const { return why_; }

private:
    double value_of(double loss) const { return mode_ == Mode::max ? -loss : loss; }
    bool joins_the_best(Point const& point);

    std::string metric_, better_;  // better_: what patience waits for
    Mode mode_;
    SearchBudget budget_;
    std::vector<Point> best_;     // none dominates another; of one objective one
    std::set<TrialId> improved_;  // in training, and each was the best of all since it (re)started
    std::int64_t without_ = 0;    // trials in a row that rest without a best
    std::string why_;
};

}  // namespace hopscotch
