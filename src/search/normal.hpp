// SPDX-License-Identifier: Apache-2.0
// The normal distribution, whole and cut to a range.
#pragma once

namespace hopscotch {

double normal_cdf(double z);
double normal_quantile(double p);                // of 0 < p < 1, to machine precision
double normal_mass_between(double a, double b);  // also of far tails

struct CutNormal {
    double mean, sigma, low, high;

    double mass() const { return normal_mass_between((low - mean) / sigma, (high - mean) / sigma); }
    double quantile(double u, double mass) const;  // of u in [0, 1); mass: mass()
    double log_density(double x) const;            // between low and high
};

}  // namespace hopscotch
