// SPDX-License-Identifier: Apache-2.0
// Bayesian optimization: a Gaussian process of the results, and the configuration with the largest expected improvement
// (Jones et al. 1998; Snoek et al. 2012). Trials in training are believed to get their predictions.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/rng.hpp"
#include "experiment/config.hpp"
#include "search/improvement_search.hpp"
#include "search/judged.hpp"
#include "search/normal.hpp"
#include "search/sampler.hpp"

namespace hopscotch {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

// The cost of a proposal must not grow for ever: it is cubic in the results of the process, and of the kernel's fit.
constexpr std::size_t k_most_results = 500, k_most_fitted = 200, k_most_pending = 200;
constexpr int k_most_refused_proposals = 5;  // for one trial (subject_to); then random ones
constexpr double k_prior_results = 10;       // that outweigh a prior
constexpr double k_largest = 1e150;          // of losses: squares are finite
constexpr std::size_t k_refit_share = 20;    // the kernel is fitted again after one in twenty new results

struct Result {
    std::size_t index;  // of History::results()
    double loss;
};

// Of these results half are the best ones and half the newest ones, in their order.
std::vector<Result> cut(std::vector<Result> results, std::size_t most) {
    if (results.size() <= most) return results;
    auto const newest = results.end() - static_cast<std::ptrdiff_t>(most / 2);
    auto const best = results.begin() + static_cast<std::ptrdiff_t>(most - most / 2);
    std::nth_element(results.begin(), best, newest, [](Result const& a, Result const& b) {
        return a.loss < b.loss || (a.loss == b.loss && a.index < b.index);
    });
    results.erase(best, newest);
    std::ranges::sort(results, {}, &Result::index);
    return results;
}

// By order, best first.
std::vector<std::size_t> left_behind(History const& history, Judged const& judged) {
    std::vector<std::size_t> out;
    for (auto const i : judged.others)
        if (history.result(i).state != TrialHistory::State::running) out.push_back(i);
    std::ranges::stable_sort(out, {}, [&](std::size_t i) {
        auto const& trial = history.result(i);
        return std::pair(-trial.epochs(), trial.losses.empty() ? k_worst : trial.losses.back());
    });
    return out;
}

// Values below the median become what their ranks would have in a normal distribution, as wide as the better half: a few bad
// results do not hide the differences between good ones (half-rank warping; Song et al., Vizier, arXiv 2408.11527).
void soften_the_worse(VectorXd& values) {
    std::vector<Index> order(static_cast<std::size_t>(values.size()));
    std::iota(order.begin(), order.end(), Index{0});
    std::ranges::stable_sort(order, std::greater(), [&](Index i) { return values[i]; });
    std::size_t const n = order.size();
    double const median = values[order[(n - 1) / 2]];
    double const spread = std::sqrt((values.array() - median).max(0).square().sum() / static_cast<double>((n + 1) / 2));
    for (std::size_t i = 0, end = 0; i < n; i = end) {
        double const value = values[order[i]];
        for (end = i; end < n && values[order[end]] == value;) ++end;
        if (value >= median || spread == 0) continue;
        double const place = static_cast<double>(i + end) / 2 / static_cast<double>(n);
        for (std::size_t k = i; k < end; ++k) values[order[k]] = median - spread * normal_quantile(place);
    }
}

// Higher is better, mean 0, variance 1.
VectorXd values_of(std::vector<Result> const& results) {
    VectorXd out(static_cast<Index>(results.size()));
    for (Index i = 0; i < out.size(); ++i) out[i] = -results[static_cast<std::size_t>(i)].loss;
    soften_the_worse(out);
    out.array() -= out.mean();
    return out / std::max(std::sqrt(out.squaredNorm() / static_cast<double>(out.size())), 1e-10);
}

class Gp : public Sampler {
public:
    Gp(Experiment const& experiment, Space const& space)
        : experiment_(experiment),
          space_(space),
          judging_(judging_of(experiment, static_cast<std::size_t>(experiment.search.proposals.tpe.startup))),
          cube_(space),
          kernel_{VectorXd::Ones(cube_.size()), 1, 1},
          fresh_(space) {}

    bool learns() const override { return true; }

    std::optional<Assignment> ask(History const& history) override {
        Rng rng(sampler_key(experiment_, history));
        Uniform const uniform = [&] { return rng.uniform(); };
        refused_ = asked_for_ == history.size() ? refused_ + 1 : 0;
        asked_for_ = history.size();
        if (auto const judged = judge(history, judging_);
            judged.are_enough(judging_) && cube_.size() > 0 && refused_ < k_most_refused_proposals)
            if (auto found = propose(history, judged, uniform)) return found;
        return fresh_.find(history, [&] { return draw(space_, uniform); }, [&](std::uint32_t n) { return rng.below(n); });
    }

private:
    // A failure counts as the worst result. What the rule has left behind is worse: the later the better, then by loss.
    std::vector<Result> results_of(History const& history, Judged const& judged) const {
        std::vector<Result> out;
        double best = k_worst, worst = -k_worst;
        for (std::size_t i = 0; i < judged.results.size(); ++i) {
            bool const failed = has_failed(judged.points[i]);
            double const loss = failed ? k_worst : std::clamp(judged.points[i].losses[0], -k_largest, k_largest);
            out.push_back({judged.results[i], loss});
            if (failed) continue;
            best = std::min(best, loss);
            worst = std::max(worst, loss);
        }
        if (worst == -k_worst) return {};  // all have failed
        for (auto& each : out) each.loss = std::min(each.loss, worst);
        double place = worst;
        for (auto const i : left_behind(history, judged)) out.push_back({i, place += std::max((worst - best) / 20, 1e-3)});
        std::ranges::sort(out, {}, &Result::index);
        return out;
    }

    Observations observed(History const& history, std::vector<Result> const& results) const {
        Observations out{Eigen::MatrixXd(static_cast<Index>(results.size()), cube_.size()), values_of(results), {}};
        for (Index i = 0; i < out.points.rows(); ++i)
            out.points.row(i) = cube_.point_of(history.result(results[static_cast<std::size_t>(i)].index).assignment);
        for (auto const& side : cube_.sides()) out.is_category.push_back(side.is_category());
        return out;
    }

    Eigen::MatrixXd pending(History const& history, Judged const& judged) const {
        std::vector<VectorXd> points;
        for (auto const i : judged.others)
            if (history.result(i).state == TrialHistory::State::running)
                points.push_back(cube_.point_of(history.result(i).assignment));
        if (points.size() > k_most_pending) points.erase(points.begin(), points.end() - k_most_pending);
        Eigen::MatrixXd out(static_cast<Index>(points.size()), cube_.size());
        for (Index i = 0; i < out.rows(); ++i) out.row(i) = points[static_cast<std::size_t>(i)];
        return out;
    }

    std::optional<Assignment> propose(History const& history, Judged const& judged, Uniform const& uniform) {
        auto const results = results_of(history, judged);
        if (results.empty()) return std::nullopt;
        if (results.size() < fitted_ || fitted_ == 0 ||
            results.size() >= fitted_ + std::max<std::size_t>(1, fitted_ / k_refit_share)) {
            kernel_ = fit_kernel(observed(history, cut(results, k_most_fitted)), kernel_);
            fitted_ = results.size();
        }
        auto const observations = observed(history, cut(results, k_most_results));
        GaussianProcess const process(observations, kernel_, pending(history, judged));
        Index best = 0;
        double const highest = observations.values.maxCoeff(&best);
        ImprovementSearch search(cube_, process, {highest, k_prior_results / static_cast<double>(results.size())},
                                 [&](Assignment const& each) {
                                     return !is_forbidden(space_, each) && !history.has_seen(each);
                                 });
        return search.find(observations.points.row(best), uniform);
    }

    Experiment const& experiment_;
    Space const& space_;
    Judging judging_;
    Cube cube_;
    Kernel kernel_;
    std::size_t fitted_ = 0;                // results at the last fit
    std::optional<std::size_t> asked_for_;  // the last trial
    int refused_ = 0;                       // proposals for it
    Fresh fresh_;
};

}  // namespace

std::unique_ptr<Sampler> make_gp(Experiment const& experiment, Space const& space) {
    return std::make_unique<Gp>(experiment, space);
}

}  // namespace hopscotch
