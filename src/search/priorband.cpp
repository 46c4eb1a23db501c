// SPDX-License-Identifier: Apache-2.0
// The sampler of PriorBand (Mallik et al., NeurIPS 2023), for any rule. A configuration is drawn evenly, from the priors, or
// near the best one so far. The later the rung at which a trial starts, the rarer an even draw. Priors and the best one
// share the rest by the densities that they give to the best results: a wrong prior loses its share.
#include <algorithm>
#include <cmath>

#include "core/rng.hpp"
#include "experiment/config.hpp"
#include "search/cube.hpp"
#include "search/judged.hpp"
#include "search/normal.hpp"
#include "search/rule.hpp"
#include "search/sampler.hpp"

namespace hopscotch {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

constexpr double k_changed = 0.5;    // probability that a value differs from the best one's
constexpr double k_nearness = 0.25;  // deviation of numbers from the best one's, as a share of the range

class PriorBand : public Sampler {
public:
    PriorBand(Experiment const& experiment, Space const& space)
        : experiment_(experiment),
          space_(space),
          eta_(experiment.search.rule.eta),
          judging_{Fidelity::deepest, static_cast<std::size_t>(eta_), 1},
          cube_(space),
          fresh_(space) {}

    bool learns() const override { return true; }
    void start_at_rung(int rung) override { rung_ = rung; }

    std::optional<Assignment> ask(History const& history) override {
        Rng rng(sampler_key(experiment_, history));
        Uniform const uniform = [&] { return rng.uniform(); };
        auto const best = best_results(history);
        double const even = 1 / (1 + std::pow(eta_, rung_));
        double const near = best.empty() ? 0 : (1 - even) * share_of_best(best);
        return fresh_.find(
            history,
            [&] {
                double const place = uniform();
                auto at = cube_.draw(uniform, place < even + near ? Cube::Density::even : Cube::Density::prior);
                if (place >= even && place < even + near) at = near_the_best(best.front(), at, uniform);
                return cube_.assignment_at(at);
            },
            [&](std::uint32_t n) { return rng.below(n); });
    }

private:
    // One in eta of the results after the largest number of epochs that eta trials have, best first. None before a trial has
    // trained to the end.
    std::vector<VectorXd> best_results(History const& history) const {
        if (history.longest() < most_epochs(experiment_)) return {};
        auto const judged = judge(history, judging_);
        std::vector<std::size_t> order;
        for (std::size_t i = 0; i < judged.results.size(); ++i)
            if (!has_failed(judged.points[i])) order.push_back(i);
        std::ranges::stable_sort(order, {}, [&](std::size_t i) { return judged.points[i].losses[0]; });
        auto const eta = static_cast<std::size_t>(eta_);
        order.resize(std::min(order.size(), std::max(order.size() / eta, eta)));
        std::vector<VectorXd> out;
        for (auto const i : order) out.push_back(cube_.point_of(history.result(judged.results[i]).assignment));
        return out;
    }

    // Of the draws that are not even. The weights of the results fall from n to 1.
    double share_of_best(std::vector<VectorXd> const& best) const {
        double by_best = 0, by_prior = 0;
        auto weight = static_cast<double>(best.size());
        for (auto const& each : best) {
            by_prior += weight * std::exp(cube_.log_prior(each));
            by_best += weight * std::exp(log_nearness(best.front(), each));
            --weight;
        }
        return by_best / (by_best + by_prior);
    }

    // As in Cube::log_prior, keys that are absent say nothing.
    double log_nearness(VectorXd const& best, VectorXd const& point) const {
        double out = 0;
        auto const present = cube_.present_at(point.cwiseMax(0)), in_best = cube_.present_at(best.cwiseMax(0));
        for (Index i = 0; i < cube_.size(); ++i) {
            if (!present[static_cast<std::size_t>(i)] || !in_best[static_cast<std::size_t>(i)]) continue;
            if (auto const& side = cube_.side(i); side.is_category()) {
                auto const n = static_cast<double>(side.values);
                out += std::log(k_changed + (point[i] == best[i] ? (1 - k_changed) * n : 0));
            } else {
                out += CutNormal{best[i], k_nearness, 0, 1}.log_density(point[i]);
            }
        }
        return out;
    }

    // other: an even draw. Keys that are absent from the best one take its values.
    VectorXd near_the_best(VectorXd const& best, VectorXd const& other, Uniform const& uniform) const {
        VectorXd out = other;
        auto const present = cube_.present_at(best.cwiseMax(0));
        for (Index i = 0; i < cube_.size(); ++i) {
            bool const changes = uniform() < k_changed;
            double const u = uniform();
            if (!present[static_cast<std::size_t>(i)]) continue;
            auto const& side = cube_.side(i);
            if (!changes) out[i] = best[i];
            if (!changes || side.is_category()) continue;
            CutNormal const normal{best[i], k_nearness, 0, 1};
            out[i] = std::clamp(normal.quantile(u, normal.mass()), 0.0, 1.0);
            if (side.values > 0) out[i] = cube_.place_of(side, cube_.value_at(side, out[i]));
        }
        return out;
    }

    Experiment const& experiment_;
    Space const& space_;
    int eta_;
    Judging judging_;
    Cube cube_;
    int rung_ = 0;
    Fresh fresh_;
};

}  // namespace

std::unique_ptr<Sampler> make_priorband(Experiment const& experiment, Space const& space) {
    return std::make_unique<PriorBand>(experiment, space);
}

}  // namespace hopscotch
