// SPDX-License-Identifier: Apache-2.0
#include "search/sampler.hpp"

#include "core/error.hpp"
#include "core/rng.hpp"
#include "search/grid.hpp"

namespace hopscotch {
namespace {

constexpr int k_redraws = 1000;

}  // namespace

std::uint64_t sampler_key(Experiment const& experiment, History const& history) {
    return stream_key(static_cast<std::uint64_t>(experiment.seed), Purpose::search,
                      {static_cast<std::int64_t>(history.size())});
}

std::optional<Assignment> Fresh::find(History const& history, std::function<Assignment()> const& draw,
                                      std::function<std::uint32_t(std::uint32_t)> const& below) {
    bool allowed = false;  // was any draw not forbidden?
    for (int i = 0; i < k_redraws && !(left_ && left_->empty()); ++i) {
        auto drawn = draw();
        if (is_forbidden(space_, drawn)) continue;
        allowed = true;
        if (!history.has_seen(drawn)) return drawn;
    }
    // Nearly every configuration was tried (or is forbidden): choose among the rest of a finite space.
    if (!left_) left_ = every_configuration(space_);
    if (left_) {
        std::erase_if(*left_, [&](Assignment const& each) { return history.has_seen(each); });
        if (!left_->empty()) return (*left_)[below(static_cast<std::uint32_t>(left_->size()))];
        if (history.results() > 0) return std::nullopt;
    }
    if (!allowed)
        throw ConfigError(
            "/search/forbid: 1000 draws in a row were excluded (nothing or next to nothing is left to try); remove a "
            "condition");
    return std::nullopt;
}

}  // namespace hopscotch
