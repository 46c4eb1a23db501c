// SPDX-License-Identifier: Apache-2.0
#include "direct/director.hpp"

#include <array>

#include "core/error.hpp"
#include "core/ids.hpp"
#include "direct/ordered_director.hpp"
#include "search/search.hpp"

namespace hopscotch {

std::string_view name_of(TrialStatus status) {
    constexpr std::array<std::string_view, 8> names{"waiting", "running",  "finished", "stopped",
                                                    "paused",  "diverged", "failed",   "interrupted"};
    return names[static_cast<std::size_t>(status)];
}

bool has_ended(TrialStatus status) {
    return status != TrialStatus::waiting && status != TrialStatus::running && status != TrialStatus::paused;
}

std::string_view name_of(Decision::Kind kind) {
    constexpr std::array<std::string_view, 7> names{"start", "resume", "go_on", "finish", "pause", "clone", "stop"};
    return names[static_cast<std::size_t>(kind)];
}

std::string_view name_of(Order::Kind kind) {
    constexpr std::array<std::string_view, 4> names{"stop", "resume", "clone", "finish"};
    return names[static_cast<std::size_t>(kind)];
}

std::unique_ptr<Director> make_director(Experiment const& experiment, std::unique_ptr<Search> search,
                                        DirectorOptions options) {
    require(options.shards >= 1 && options.in_flight >= 0, "a director needs at least one shard and one trial in flight");
    return std::make_unique<OrderedDirector>(experiment, std::move(search), std::move(options));
}

}  // namespace hopscotch
