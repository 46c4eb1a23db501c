// SPDX-License-Identifier: Apache-2.0
// Parzen estimators of TPE (Bergstra et al., NIPS 2011) as Optuna builds them: one kernel an observation, a truncated normal or
// a smoothed category, and a wide one as prior. Same kernels, weights and clipping; tests compare with Optuna's numbers.
#pragma once
#include <functional>
#include <span>
#include <vector>

namespace hopscotch {

double normal_cdf(double z);
double normal_quantile(double p);  // of 0 < p < 1, to machine precision

// 1 for up to 25 observations, in the order of their trials; of more, the older ones rise from 1/n to 1.
std::vector<double> parzen_weights(std::size_t observations);

// One key of the space, in the numbers that kernels are made of.
struct Axis {
    std::size_t categories = 0;   // 0: a number between low and high
    double low = 0, high = 1;     // of steps and integers: half a step further
    double step = 0;              // 0: continuous
};

enum class Bandwidth { neighbours, scott };  // one key alone: the gap to the next kernel; several: 0.2 n^(-1 / (d + 4))

class Parzen {
public:
    // rows: of each observation in the order of the trials, a number a key (a category's index).
    Parzen(std::vector<Axis> axes, std::vector<std::vector<double>> const& rows, Bandwidth bandwidth);

    // count points of a number a key. First as many uniforms choose kernels, then each key takes as many.
    std::vector<std::vector<double>> sample(std::size_t count, std::function<double()> const& uniform) const;
    double log_density(std::span<double const> point) const;

    struct Kernels {  // of one key, by observation, the prior last; categories have no sigma
        std::vector<double> mu, sigma;
        std::vector<double> mass;  // of the normal inside the bounds
    };
    std::vector<double> const& weights() const { return weights_; }  // they add up to 1
    Kernels const& kernels(std::size_t key) const { return kernels_[key]; }

private:
    Kernels kernels_of(std::size_t key, std::vector<std::vector<double>> const& rows, Bandwidth bandwidth) const;
    double draw(std::size_t key, std::size_t kernel, double u) const;
    double log_density(std::size_t key, std::size_t kernel, double x) const;

    std::vector<Axis> axes_;
    std::vector<double> weights_, log_weights_;
    std::vector<Kernels> kernels_;
};

}  // namespace hopscotch
