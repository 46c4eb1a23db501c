// SPDX-License-Identifier: Apache-2.0
#include "search/race.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "search/normal.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_first_racers = 5;  // get the first second copies, which tell the noise
constexpr double k_confidence = 0.95;      // that a configuration is worse than the best one

std::size_t most_copies(std::vector<CopyLosses> const& configurations) {
    return std::ranges::max(configurations, {}, &CopyLosses::size).size();
}

// How much higher than copy 0 each copy is, whatever the configuration. It is known from those that have it.
std::vector<double> copy_effects(std::vector<CopyLosses> const& configurations) {
    std::vector<double> out{0};
    for (std::size_t copy = 1; copy < most_copies(configurations); ++copy) {
        double sum = 0, count = 0;
        for (auto const& losses : configurations)
            if (losses.size() > copy) {
                sum += losses[copy] - losses[copy - 1];
                ++count;
            }
        out.push_back(out.back() + sum / count);
    }
    return out;
}

struct Noise {
    double variance = 0;  // of one copy
    std::size_t degrees = 0;
};

class Race {
public:
    explicit Race(std::vector<CopyLosses> const& configurations)
        : configurations_(configurations), effects_(copy_effects(configurations)) {
        for (auto const& losses : configurations) {
            double sum = 0;
            for (std::size_t copy = 0; copy < losses.size(); ++copy) sum += losses[copy] - effects_[copy];
            means_.push_back(sum / static_cast<double>(losses.size()));
        }
        best_ = static_cast<std::size_t>(std::ranges::min_element(means_) - means_.begin());
    }

    std::vector<std::size_t> order() const {
        std::vector<std::size_t> out(means_.size());
        std::iota(out.begin(), out.end(), std::size_t{0});
        std::ranges::stable_sort(out, {}, [&](std::size_t i) { return means_[i]; });
        return out;
    }

    std::vector<double> means() const {
        auto out = means_;
        double const effect = std::accumulate(effects_.begin(), effects_.end(), 0.0) / static_cast<double>(effects_.size());
        for (auto& mean : out) mean += effect;
        return out;
    }

    // Of what configurations and copies do not explain.
    Noise noise() const {
        Noise out;
        double squares = 0;
        for (std::size_t i = 0; i < means_.size(); ++i) {
            auto const& losses = configurations_[i];
            for (std::size_t copy = 0; copy < losses.size(); ++copy)
                squares += std::pow(losses[copy] - effects_[copy] - means_[i], 2);
            out.degrees += losses.size() - 1;
        }
        out.degrees -= effects_.size() - 1;
        if (out.degrees > 0) out.variance = squares / static_cast<double>(out.degrees);
        return out;
    }

    // Of the copies that both have.
    bool may_be_best(std::size_t configuration, Noise const& noise) const {
        if (noise.degrees == 0) return true;
        auto const &one = configurations_[configuration], &best = configurations_[best_];
        auto const common = std::min(one.size(), best.size());
        double difference = 0;
        for (std::size_t copy = 0; copy < common; ++copy) difference += one[copy] - best[copy];
        auto const n = static_cast<double>(common);
        return difference / n <= student_quantile(k_confidence, noise.degrees) * std::sqrt(2 * noise.variance / n);
    }

private:
    std::vector<CopyLosses> const& configurations_;
    std::vector<double> effects_, means_;  // by copy; by configuration, without the effects
    std::size_t best_ = 0;
};

}  // namespace

std::vector<double> race_means(std::vector<CopyLosses> const& configurations) {
    return configurations.empty() ? std::vector<double>() : Race(configurations).means();
}

double student_quantile(double p, std::size_t degrees) {
    auto const n = static_cast<double>(degrees);
    double const tails = 2 * (1 - p);  // both together
    if (degrees == 1) return std::tan(std::numbers::pi * (0.5 - tails / 2));
    if (degrees == 2) return std::sqrt(2 / (tails * (2 - tails)) - 2);
    double const a = 1 / (n - 0.5), b = 48 / (a * a);
    double c = ((20700 * a / b - 98) * a - 16) * a + 96.36;
    double const d = ((94.5 / (b + c) - 3) / b + 1) * std::sqrt(a * std::numbers::pi / 2) * n;
    double y = std::pow(d * tails, 2 / n);
    if (y > 0.05 + a) {
        double const x = normal_quantile(tails / 2);
        y = x * x;
        if (degrees < 5) c += 0.3 * (n - 4.5) * (x + 0.6);
        c += (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b;
        y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x;
        y = std::expm1(a * y * y);
    } else {
        y = ((1 / (((n + 6) / (n * y) - 0.089 * d - 0.822) * (n + 2) * 3) + 0.5 / (n + 4)) * y - 1) * (n + 1) / (n + 2) +
            1 / y;
    }
    return std::sqrt(n * y);
}

std::vector<std::size_t> racers(std::vector<CopyLosses> const& configurations, std::size_t most) {
    if (configurations.empty()) return {};
    Race const race(configurations);
    auto out = race.order();
    if (most_copies(configurations) == 1)
        out.resize(std::min(out.size(), k_first_racers));
    else
        std::erase_if(out, [&, noise = race.noise()](std::size_t i) { return !race.may_be_best(i, noise); });
    std::erase_if(out, [&](std::size_t i) { return configurations[i].size() >= most; });
    return out;
}

}  // namespace hopscotch
