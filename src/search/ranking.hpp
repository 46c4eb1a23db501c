// SPDX-License-Identifier: Apache-2.0
// The trials of a rung, best first: of one objective by loss, of several by rank (search/front.hpp). Equals by id.
#pragma once
#include <cstddef>
#include <vector>

#include "core/ids.hpp"
#include "search/front.hpp"

namespace hopscotch {

class Ranking {
public:
    struct Entry {
        Point point;
        TrialId trial;
        bool rests = true;  // paused here: not promoted, nor stopped
    };

    explicit Ranking(std::size_t objectives) : objectives_(objectives) {}

    std::size_t insert(TrialId trial, Point const& point);  // its place, from 0
    std::size_t size() const { return entries_.size(); }
    Entry const& operator[](std::size_t place) const { return entries_[place]; }
    std::vector<Entry>& entries() { return entries_; }

    // The number of trials that will stand before this one whoever comes later: of several objectives, those that dominate
    // it, because the order within a front changes.
    std::size_t ahead_for_good(std::size_t place) const;

private:
    std::size_t objectives_;
    std::vector<Entry> entries_;
};

}  // namespace hopscotch
