// SPDX-License-Identifier: Apache-2.0
#include "search/normal.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace hopscotch {

double normal_cdf(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

double normal_quantile(double p) {
    if (p > 0.5) return -normal_quantile(1 - p);
    // Abramowitz and Stegun 26.2.23 to three digits, then Halley's iteration, which trebles them.
    double const t = std::sqrt(-2 * std::log(p));
    double z = (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t;
    for (int i = 0; i < 3; ++i) {
        double const error = (normal_cdf(z) - p) * std::sqrt(2 * std::numbers::pi) * std::exp(z * z / 2);
        z -= error / (1 + z * error / 2);
    }
    return z;
}

double normal_mass_between(double a, double b) {
    if (a < -9 && b > 9) return 1;  // to the last bit
    // Of the tail, if both are on one side: the difference of two numbers near 1 has no digits.
    if (a > 0) return normal_cdf(-a) - normal_cdf(-b);
    return normal_cdf(b) - normal_cdf(a);
}

double CutNormal::quantile(double u, double mass) const {
    // From the nearer tail, which has more digits.
    double const below = normal_cdf((low - mean) / sigma) + u * mass;
    double const above = normal_cdf((mean - high) / sigma) + (1 - u) * mass;
    double const tail = std::min(below, above);
    double const z = tail <= 0 ? -std::numeric_limits<double>::infinity() : normal_quantile(tail);
    return mean + sigma * (below <= above ? z : -z);
}

double CutNormal::log_density(double x) const {
    double const z = (x - mean) / sigma;
    return -0.5 * z * z - std::log(sigma * mass() * std::sqrt(2 * std::numbers::pi));
}

}  // namespace hopscotch
