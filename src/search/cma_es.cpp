// SPDX-License-Identifier: Apache-2.0
// CMA-ES as a sampler: numbers that every configuration has. Lists, and keys that need a parent's value, are drawn at
// random. While results of a generation are missing, it gets more trials than it needs, so that no trainer waits (as in
// Optuna).
#include <algorithm>

#include "core/rng.hpp"
#include "experiment/config.hpp"
#include "search/cma.hpp"
#include "search/cube.hpp"
#include "search/judged.hpp"
#include "search/sampler.hpp"

namespace hopscotch {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

constexpr double k_first_deviation = 1.0 / 6;  // of the side of the cube
constexpr double k_converged = 1e-4;           // likewise: the search starts anew at a random point
constexpr int k_samples = 100;                 // to find something new in the cube, before a random draw does it
constexpr int k_samples_inside = 90;           // of these; the others are cut to the cube, as in the package

class CmaEs : public Sampler {
public:
    CmaEs(Experiment const& experiment, Space const& space)
        : experiment_(experiment), space_(space), judging_(judging_of(experiment, 1)), cube_(space), fresh_(space) {
        for (Index i = 0; i < cube_.size(); ++i)
            if (auto const& side = cube_.side(i); !side.is_category() && side.parameter->when.empty()) numbers_.push_back(i);
    }

    bool learns() const override { return true; }

    std::optional<Assignment> ask(History const& history) override {
        Rng rng(sampler_key(experiment_, history));
        Uniform const uniform = [&] { return rng.uniform(); };
        member_.resize(history.size() + 1, k_no_member);
        member_.back() = k_no_member;
        if (!numbers_.empty()) {
            if (!cma_) cma_.emplace(first_mean(history), k_first_deviation);
            learn(history, uniform);
            for (int i = 0; i < k_samples; ++i)
                if (auto found = sample(rng, i >= k_samples_inside);
                    found && !is_forbidden(space_, *found) && !history.has_seen(*found)) {
                    member_.back() = generation_;
                    lost_ = 0;
                    return found;
                }
            if (++lost_ > cma_->population()) restart(uniform);  // nothing new is left around here
        }
        return fresh_.find(history, [&] { return draw(space_, uniform); }, [&](std::uint32_t n) { return rng.below(n); });
    }

private:
    static constexpr int k_no_member = -1;

    // The best result of an earlier run, or the guess of the priors.
    VectorXd first_mean(History const& history) const {
        auto const judged = judge(history, judging_);
        std::size_t best = judged.results.size();
        for (std::size_t i = 0; i < judged.results.size(); ++i)
            if (!has_failed(judged.points[i]) &&
                (best == judged.results.size() || judged.points[i].losses[0] < judged.points[best].losses[0]))
                best = i;
        if (best == judged.results.size()) return cube_.guess()(numbers_);
        return cube_.point_of(history.result(judged.results[best]).assignment)(numbers_);
    }

    void learn(History const& history, Uniform const& uniform) {
        std::vector<Cma::Solution> solutions;
        for (std::size_t i = 0; i < history.size() && solutions.size() < cma_->population(); ++i) {
            auto const& trial = history.of(TrialId(i));
            if (member_[i] != generation_ || trial.state != TrialHistory::State::ended || trial.losses.empty()) continue;
            solutions.push_back({cube_.point_of(trial.assignment)(numbers_), trial.losses.back()});
        }
        if (solutions.size() < cma_->population()) return;
        cma_->tell(std::move(solutions));
        ++generation_;
        if (cma_->widest() < k_converged) restart(uniform);
    }

    void restart(Uniform const& uniform) {
        cma_.emplace(VectorXd(cube_.draw(uniform)(numbers_)), k_first_deviation);
        ++generation_;
        lost_ = 0;
    }

    // None: outside of the cube.
    std::optional<Assignment> sample(Rng& rng, bool cuts) const {
        VectorXd at = cube_.draw([&] { return rng.uniform(); }, Cube::Density::prior);
        VectorXd const numbers = cma_->sample([&] { return rng.normal(); });
        if (!cuts && (numbers.minCoeff() < 0 || numbers.maxCoeff() > 1)) return std::nullopt;
        at(numbers_) = numbers.cwiseMax(0).cwiseMin(1);
        return cube_.assignment_at(at);
    }

    Experiment const& experiment_;
    Space const& space_;
    Judging judging_;
    Cube cube_;
    std::vector<Index> numbers_;  // sides
    std::optional<Cma> cma_;
    int generation_ = 0;
    std::size_t lost_ = 0;     // random draws in a row
    std::vector<int> member_;  // of each trial: the generation that asked for it
    Fresh fresh_;
};

}  // namespace

std::unique_ptr<Sampler> make_cma_es(Experiment const& experiment, Space const& space) {
    return std::make_unique<CmaEs>(experiment, space);
}

}  // namespace hopscotch
