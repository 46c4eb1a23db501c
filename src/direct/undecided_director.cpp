// SPDX-License-Identifier: Apache-2.0
#include "direct/undecided_director.hpp"

#include <algorithm>
#include <utility>

#include "direct/trial_end.hpp"
#include "search/search.hpp"

namespace hopscotch {

UndecidedDirector::UndecidedDirector(Experiment const& experiment, Search& search, Timeline& timeline)
    : search_config_(experiment.search), search_(search), timeline_(timeline) {
    while (auto const proposal = search_.next()) {
        auto const trial = timeline_.add(proposal->assignment);
        timeline_.run(trial).until = timeline_.view(trial).epochs_wanted = proposal->until_epoch;
        told_[trial] = k_no_score;
        waiting_.push_back(trial);
    }
    timeline_.all_added();
    if (auto const in_flight = timeline_.options().in_flight; in_flight > 0) in_flight_ = in_flight;
    // Stable: equals stay in the order of their ids.
    std::ranges::stable_sort(waiting_, std::greater(), [&](TrialId trial) {
        return timeline_.view(trial).unit_cost * timeline_.view(trial).epochs_wanted;
    });
    begun_first();
}

// In the order in which they began: the records of a trial count only once the trial is admitted.
void UndecidedDirector::begun_first() {
    std::map<TrialId, std::size_t> place;
    for (auto const& begun : timeline_.options().begun) place.emplace(begun.trial, place.size());
    std::ranges::stable_sort(waiting_, std::less(), [&](TrialId trial) {
        auto const found = place.find(trial);
        return found == place.end() ? place.size() : found->second;
    });
}

void UndecidedDirector::fill() {
    std::size_t admitted = 0;
    for (; admitted < waiting_.size() && timeline_.running() < in_flight_; ++admitted) {
        timeline_.view(waiting_[admitted]).status = TrialStatus::running;
        timeline_.run_on(waiting_[admitted]);
    }
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(admitted));
}

void UndecidedDirector::hear(LapId lap) {
    auto& run = timeline_.run(lap.trial);
    auto& told = told_.at(lap.trial);
    double const value = run.values[static_cast<std::size_t>(lap.epoch)].metric;
    told = objective_value(search_config_, told, value);
    search_.report({lap.trial, lap.epoch, search_loss(told, search_config_.mode)});
    if (run.failed) return timeline_.end_failed(lap.trial);
    run.stop.observe(lap.epoch, value);
    if (run.reported == run.until) return timeline_.end(lap.trial, TrialStatus::finished, "");
    if (run.stop.due()) return timeline_.end(lap.trial, TrialStatus::stopped, run.stop.reason());
    auto const& finish = timeline_.finish_reason();
    if (!finish.empty()) return timeline_.end(lap.trial, TrialStatus::stopped, finish);
    timeline_.run_on(lap.trial);
    timeline_.release_certain(lap.trial);
}

void UndecidedDirector::fail(TrialId trial) {
    auto const& run = timeline_.run(trial);
    if (!run.end) search_.report({trial, run.reported, std::nullopt});
    std::erase(waiting_, trial);
    told_.erase(trial);
}

void UndecidedDirector::finish() {
    for (auto const trial : std::exchange(waiting_, {}))
        timeline_.end(trial, TrialStatus::stopped, timeline_.finish_reason());
}

}  // namespace hopscotch
