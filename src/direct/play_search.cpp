// SPDX-License-Identifier: Apache-2.0
#include "direct/play_search.hpp"

#include <deque>

#include "core/error.hpp"

namespace hopscotch {

void play_search(Director& director, std::function<LapRecord(Lap const&)> const& result) {
    std::deque<Lap> released;
    auto const take = [&] {
        for (auto& lap : director.release()) released.push_back(std::move(lap));
        director.take_releases();
    };
    for (take(); !director.finished(); take()) {
        require(!released.empty(), "a search waits for a lap that it has not released");
        auto const lap = std::move(released.front());
        released.pop_front();
        if (has_ended(director.trials()[lap.trial.index()].status)) continue;  // the lap does not count
        director.record(result(lap));
    }
}

}  // namespace hopscotch
