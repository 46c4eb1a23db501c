// SPDX-License-Identifier: Apache-2.0
// NSGA-II (Deb et al. 2002), without generations: the best results so far are the parents of the next configuration. So no
// trainer waits for the last trial of a generation. Each value comes from one of two parents (uniform crossover), or is
// drawn anew (mutation, one key on average).
#include <algorithm>
#include <numeric>

#include "core/rng.hpp"
#include "experiment/config.hpp"
#include "search/draw.hpp"
#include "search/judged.hpp"
#include "search/sampler.hpp"

namespace hopscotch {
namespace {

constexpr int k_crossings = 20;  // to find something new, before a random draw does it

// Of the points of one front: the sides of the box between the neighbours in each objective; infinite at the ends.
std::vector<double> crowding_distances(std::vector<Losses> const& front) {
    std::vector<double> out(front.size(), 0.0);
    for (std::size_t k = 0; k < k_most_objectives; ++k) {
        std::vector<std::size_t> order(front.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::stable_sort(order, {}, [&](std::size_t i) { return front[i][k]; });
        double const range = front[order.back()][k] - front[order.front()][k];
        if (!(range > 0)) continue;  // all are equal, or have failed
        out[order.front()] = out[order.back()] = k_worst;
        for (std::size_t i = 1; i + 1 < order.size(); ++i)
            out[order[i]] += (front[order[i + 1]][k] - front[order[i - 1]][k]) / range;
    }
    return out;
}

// Indices of at most `count` points that have not failed, best first: by front, then the least crowded; equals by index.
std::vector<std::size_t> fittest(std::vector<Point> const& points, std::size_t count) {
    std::vector<std::size_t> out;
    for (auto& front : fronts_of(points)) {
        if (out.size() >= count) break;
        auto const distances = crowding_distances(losses_of(points, front));
        std::vector<std::size_t> order(front.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return distances[i]; });
        for (auto const i : order) out.push_back(front[i]);
    }
    out.resize(std::min(count, points.size()));
    std::erase_if(out, [&](std::size_t i) { return has_failed(points[i]); });
    return out;
}

class Nsga2 : public Sampler {
public:
    Nsga2(Experiment const& experiment, Space const& space)
        : experiment_(experiment),
          space_(space),
          judging_(judging_of(experiment, static_cast<std::size_t>(experiment.search.proposals.parents))),
          fresh_(space) {}

    bool learns() const override { return true; }

    std::optional<Assignment> ask(History const& history) override {
        Rng rng(sampler_key(experiment_, history));
        Uniform const uniform = [&] { return rng.uniform(); };
        auto const judged = judge(history, judging_);
        auto const parents = judged.are_enough(judging_) ? fittest(judged.points, judging_.startup) : Places{};
        for (int i = 0; i < k_crossings && !parents.empty(); ++i) {
            auto const parent = [&]() -> Assignment const& {  // the better of two, which stands earlier in the list
                auto const count = static_cast<std::uint32_t>(parents.size());
                auto const place = std::min(rng.below(count), rng.below(count));
                return history.result(judged.results[parents[place]]).assignment;
            };
            auto const& first = parent();
            auto const child = crossed(first, parent(), uniform);
            if (!is_forbidden(space_, child) && !history.has_seen(child)) return child;
        }
        return fresh_.find(history, [&] { return draw(space_, uniform); }, [&](std::uint32_t n) { return rng.below(n); });
    }

private:
    using Places = std::vector<std::size_t>;

    Assignment crossed(Assignment const& first, Assignment const& second, Uniform const& uniform) const {
        double const mutation = 1.0 / static_cast<double>(space_.order.size());
        Assignment out;
        for (auto const index : space_.order) {
            auto const& parameter = space_.parameters[index];
            if (!is_active(parameter, out)) continue;
            auto const& giver = uniform() < 0.5 ? first : second;
            auto const* value = value_of(giver, parameter.path);  // none: the key was not active there
            bool const mutates = uniform() < mutation || value == nullptr;
            out.emplace_back(parameter.path, mutates ? draw(parameter, uniform) : *value);
        }
        return in_order(space_, out);
    }

    Experiment const& experiment_;
    Space const& space_;
    Judging judging_;
    Fresh fresh_;
};

}  // namespace

std::unique_ptr<Sampler> make_nsga2(Experiment const& experiment, Space const& space) {
    return std::make_unique<Nsga2>(experiment, space);
}

}  // namespace hopscotch
