// SPDX-License-Identifier: Apache-2.0
#include "search/goal.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hopscotch {

Goal::Goal(SearchConfig const& search)
    : metric_(search.metric),
      better_(search.front.compares ? "one that joins the Pareto front" : "a better " + metric_),
      mode_(search.mode),
      budget_(search.budget) {}

bool Goal::joins_the_best(Point const& point) {
    auto const covers = [&](Point const& each) { return each == point || dominates(each, point); };
    if (std::ranges::any_of(best_, covers)) return false;
    std::erase_if(best_, [&](Point const& each) { return dominates(point, each); });
    best_.push_back(point);
    return true;
}

void Goal::report(TrialId trial, int epochs, double loss, Point const& point) {
    if (is_over()) return;
    double const value = value_of(loss);
    bool const reached = budget_.target && (mode_ == Mode::max ? value >= *budget_.target : value <= *budget_.target);
    if (reached)
        why_ = fmt::format("budget.target: trial {} has {} {:.6g} after epoch {}", trial.value, metric_, value, epochs);
    if (!joins_the_best(point)) return;
    without_ = 0;
    improved_.insert(trial);
}

void Goal::rests(TrialId trial) {
    if (is_over() || improved_.erase(trial) > 0) return;
    ++without_;
    if (!budget_.patience || without_ < *budget_.patience) return;
    why_ = fmt::format("budget.patience: {} trial{} in a row without {}", without_, without_ == 1 ? "" : "s", better_);
}

}  // namespace hopscotch
