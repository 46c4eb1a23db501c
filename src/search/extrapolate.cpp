// SPDX-License-Identifier: Apache-2.0
// A trial ends once its learning curve says that it will not reach what another trial has reached. The curve is a power law,
// c + a t^-b after epoch t, as Domhan et al. (IJCAI 2015) and DeepHyper fit it; here by least squares for each of a few b,
// which gives the same answer every time. The fits count by their likelihood.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "experiment/config.hpp"
#include "search/normal.hpp"
#include "search/rule.hpp"

namespace hopscotch {
namespace {

constexpr std::array<double, 5> k_powers{0.25, 0.5, 1, 2, 4};
constexpr std::size_t k_fewest = 4;     // points that a fit needs
constexpr double k_least_noise = 0.01;  // of the curve's range: no fit is believed to be better
constexpr double k_no_noise = 1e-30;    // of a curve that does not move

struct Forecast {
    double mean = 0, sigma = 0;
    double log_likelihood = 0;
};

// The loss at the end for one b. losses: of epochs first, first + 1, ...; a is not below 0: training does not make a model
// worse for ever.
Forecast forecast(std::span<double const> losses, double first, double last, double power) {
    double const n = static_cast<double>(losses.size());
    double x = 0, xx = 0, y = 0, xy = 0;
    for (std::size_t i = 0; i < losses.size(); ++i) {
        double const at = std::pow(first + static_cast<double>(i), -power);
        x += at, xx += at * at, y += losses[i], xy += at * losses[i];
    }
    double const determinant = n * xx - x * x;
    double a = (n * xy - x * y) / determinant, c = (y * xx - x * xy) / determinant;
    if (a < 0) a = 0, c = y / n;
    auto const [least, most] = std::ranges::minmax(losses);
    double errors = std::pow(k_least_noise * (most - least), 2) * n;
    for (std::size_t i = 0; i < losses.size(); ++i)
        errors += std::pow(losses[i] - c - a * std::pow(first + static_cast<double>(i), -power), 2);
    double const variance = std::max(errors, k_no_noise) / (n - 2), end = std::pow(last, -power);
    double const spread = 1 + (xx - 2 * x * end + n * end * end) / determinant;
    return {c + a * end, std::sqrt(variance * spread), -0.5 * n * std::log(variance)};
}

// That the loss at the last epoch is above `best`.
double probability_of_worse(std::span<double const> losses, double first, int last, double best) {
    std::array<Forecast, k_powers.size()> all;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = forecast(losses, first, last, k_powers[i]);
    double const likeliest = std::ranges::max(all, {}, &Forecast::log_likelihood).log_likelihood;
    double sum = 0, weights = 0;
    for (auto const& [mean, sigma, log_likelihood] : all) {
        double const weight = std::exp(log_likelihood - likeliest);
        weights += weight;
        sum += weight * normal_cdf((mean - best) / sigma);
    }
    return sum / weights;
}

class Extrapolate : public Rule {
public:
    explicit Extrapolate(Experiment const& experiment)
        : first_(first_decision(experiment)),
          last_(most_epochs(experiment)),
          confidence_(experiment.search.rule.confidence) {}

    bool wants() const override { return true; }
    int start(TrialId, int) override { return first_; }
    void fail(TrialId, History const&) override {}

    Verdict decide(TrialId trial, History const& history) override {
        auto const& losses = history.of(trial).losses;
        auto const epochs = static_cast<int>(losses.size());
        note({std::ranges::min(losses), trial});
        Verdict out;
        out.until_epoch = std::min(epochs + 1, last_);
        // What the first epoch leaves is mostly chance (docs/decisions/0078).
        std::span const known(losses.begin() + 1, losses.end());
        double const best = best_.trial == trial ? second_.loss : best_.loss;
        if (epochs == last_ || best == k_worst || known.size() < k_fewest) return out;
        double const probability = probability_of_worse(known, 2, last_, best);
        if (probability <= confidence_) return out;
        out.kind = Verdict::Kind::stop;
        out.why = fmt::format("epoch {}: its curve ends worse than the best of the others ({:.6g}) with probability {:.3f}",
                              epochs, best, probability);
        return out;
    }

private:
    struct Best {
        double loss = k_worst;
        TrialId trial = {};
    };

    // The best values of two trials: each is compared with the best of the others.
    void note(Best const& found) {
        if (found.loss < best_.loss) {
            if (found.trial != best_.trial) second_ = best_;
            best_ = found;
        } else if (found.trial != best_.trial && found.loss < second_.loss) {
            second_ = found;
        }
    }

    int first_, last_;
    double confidence_;
    Best best_, second_;
};

}  // namespace

std::unique_ptr<Rule> make_extrapolate(Experiment const& experiment) { return std::make_unique<Extrapolate>(experiment); }

}  // namespace hopscotch
