// SPDX-License-Identifier: Apache-2.0
// The budgets that look at results (search.budget.target and patience): has the search found enough, or stopped finding?
// Once it is over it stays over.
#pragma once
#include <optional>
#include <set>
#include <string>

#include "core/ids.hpp"
#include "experiment/config.hpp"

namespace hopscotch {

class Goal {
public:
    explicit Goal(SearchConfig const& search);

    static bool is_set(SearchConfig const& search) { return search.budget.target || search.budget.patience; }

    // Every lap with a finite loss (lower is better), after so many epochs of its trial.
    void report(TrialId trial, int epochs, double loss);

    // It has ended, failed or is paused. Counts against patience unless a best of all was its own since it (re)started.
    void left(TrialId trial);

    bool is_over() const { return !why_.empty(); }
    std::string const& why() const { return why_; }

private:
    double value_of(double loss) const { return mode_ == Mode::max ? -loss : loss; }

    std::string metric_;
    Mode mode_;
    SearchBudget budget_;
    std::optional<double> best_;
    std::set<TrialId> improved_;  // in training, and each the best of all at some time since it (re)started
    std::int64_t without_ = 0;    // left in a row without, since the last best
    std::string why_;
};

}  // namespace hopscotch
