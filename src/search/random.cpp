// SPDX-License-Identifier: Apache-2.0
#include "search/random.hpp"

#include <algorithm>
#include <set>

#include "core/error.hpp"
#include "core/rng.hpp"
#include "search/grid.hpp"
#include "search/sampler.hpp"
#include "search/undecided.hpp"

namespace hopscotch {
namespace {

constexpr int k_redraws = 1000;

class Random : public UndecidedSearch {
public:
    Random(Experiment const& experiment, Space space)
        : UndecidedSearch(experiment),
          seed_(static_cast<std::uint64_t>(experiment.seed)),
          wanted_(*experiment.search.trials),
          space_(std::move(space)) {}

    std::optional<Proposal> next() override {
        if (finished()) return std::nullopt;
        auto assignment = started() < static_cast<std::int64_t>(space_.start_with.size())
                              ? std::optional(space_.start_with[static_cast<std::size_t>(started())])
                              : unseen();
        exhausted_ = !assignment;
        if (exhausted_) return std::nullopt;
        seen_.insert(to_json(*assignment).dump());
        return start(std::move(*assignment));
    }
    bool finished() const override { return exhausted_ || started() == wanted_; }

private:
    std::optional<Assignment> unseen() {
        Rng rng(stream_key(seed_, Purpose::search, {started()}));
        bool allowed = false;  // was any draw not forbidden?
        for (int i = 0; i < k_redraws; ++i) {
            auto drawn = draw(space_, [&] { return rng.uniform(); });
            if (is_forbidden(space_, drawn)) continue;
            allowed = true;
            if (!seen_.contains(to_json(drawn).dump())) return drawn;
        }
        // Nearly everything has been tried (or is forbidden): choose among what is left, if it can be listed.
        if (auto left = every_configuration(space_)) {
            std::erase_if(*left, [&](Assignment const& each) { return seen_.contains(to_json(each).dump()); });
            if (!left->empty()) return (*left)[rng.below(static_cast<std::uint32_t>(left->size()))];
            if (!seen_.empty()) return std::nullopt;
        }
        if (!allowed)
            throw ConfigError(
                "/search/forbid: 1000 draws in a row were excluded (nothing or next to nothing is left to try) remove a "
                "condition");
        return std::nullopt;
    }

    std::uint64_t seed_;
    std::int64_t wanted_;
    Space space_;
    std::set<std::string> seen_;
    bool exhausted_ = false;
};

}  // namespace

std::unique_ptr<Search> make_random(Experiment const& experiment, Space const& space) {
    if (!experiment.search.trials)
        throw ConfigError(
            "/search/trials: missing (required) say how many configurations random search should draw, for example 16");
    return std::make_unique<Random>(experiment, space);
}

}  // namespace hopscotch
