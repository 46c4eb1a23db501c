// SPDX-License-Identifier: Apache-2.0
#include "search/goal.hpp"

#include <fmt/format.h>

namespace hopscotch {

Goal::Goal(SearchConfig const& search) : metric_(search.metric), mode_(search.mode), budget_(search.budget) {}

void Goal::report(TrialId trial, int epochs, double loss) {
    if (is_over()) return;
    double const value = value_of(loss);
    bool const reached = budget_.target && (mode_ == Mode::max ? value >= *budget_.target : value <= *budget_.target);
    if (reached)
        why_ = fmt::format("budget.target: trial {} has {} {:.6g} after epoch {}", trial.value, metric_, value, epochs);
    if (best_ && loss >= *best_) return;
    best_ = loss;
    without_ = 0;
    improved_.insert(trial);
}

void Goal::rests(TrialId trial) {
    if (is_over() || improved_.erase(trial) > 0) return;
    ++without_;
    if (!budget_.patience || without_ < *budget_.patience) return;
    why_ =
        fmt::format("budget.patience: {} trial{} in a row without a better {}", without_, without_ == 1 ? "" : "s", metric_);
}

}  // namespace hopscotch
