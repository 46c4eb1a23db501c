// SPDX-License-Identifier: Apache-2.0
#include "search/ranking.hpp"

#include <algorithm>

namespace hopscotch {

std::size_t Ranking::insert(TrialId trial, Point const& point) {
    if (objectives_ == 1) {
        auto const key = [](Entry const& entry) { return std::pair(entry.point.losses[0], entry.trial); };
        auto const at = std::ranges::lower_bound(entries_, std::pair(point.losses[0], trial), {}, key);
        auto const place = at - entries_.begin();
        entries_.insert(at, {point, trial});
        return static_cast<std::size_t>(place);
    }
    entries_.push_back({point, trial});
    std::ranges::sort(entries_, {}, &Entry::trial);
    std::vector<Point> points;
    points.reserve(entries_.size());
    for (auto const& entry : entries_) points.push_back(entry.point);
    std::vector<Entry> ordered;
    ordered.reserve(entries_.size());
    for (auto const i : by_rank(points)) ordered.push_back(entries_[i]);
    entries_ = std::move(ordered);
    return static_cast<std::size_t>(std::ranges::find(entries_, trial, &Entry::trial) - entries_.begin());
}

std::size_t Ranking::ahead_for_good(std::size_t place) const {
    if (objectives_ == 1) return place;
    auto const better = [&](Entry const& entry) { return dominates(entry.point, entries_[place].point); };
    return static_cast<std::size_t>(std::ranges::count_if(entries_, better));
}

}  // namespace hopscotch
