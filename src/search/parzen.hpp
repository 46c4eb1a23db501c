// SPDX-License-Identifier: Apache-2.0
// Parzen estimators of TPE (Bergstra et al., NIPS 2011) as Optuna builds them: one kernel an observation, a truncated normal
// or a smoothed category, and one more as prior: wide, or what the axis names. Same kernels, weights and clipping; tests
// compare with Optuna's numbers.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "search/axis.hpp"

namespace hopscotch {

// 1 for up to 25 observations, in the order of their trials. Of more, the weights of the older ones rise from 1/n to 1.
std::vector<double> parzen_weights(std::size_t observations);

class Parzen {
public:
    enum class Weights { newer_more, equal };  // of observations: as parzen_weights() says; 1 each

    // rows: one an observation, in the order of the trials: a number for each key (a category's index).
    Parzen(std::vector<Axis> axes, std::vector<std::vector<double>> const& rows, Weights weights = Weights::newer_more);

    // `count` points with a number for each key. First `count` uniforms choose kernels. Then each key takes `count`
    // uniforms, categories first.
    std::vector<std::vector<double>> sample(std::size_t count, std::function<double()> const& uniform) const;
    // Of numbers on a log axis: the density in the logarithm.
    double log_density(std::span<double const> point) const;

    struct Kernels {  // of one key, by observation, the prior last; categories have no sigma, and none for the prior
        std::vector<double> mu, sigma;
        std::vector<double> precision;  // 1 / sigma
        std::vector<double> mass;       // of the normal inside the bounds
        std::vector<double> log_scale;  // of its density
    };
    std::vector<double> const& weights() const { return weights_; }  // they add up to 1
    Kernels const& kernels(std::size_t key) const { return kernels_[key]; }

private:
    Kernels kernels_of(std::size_t key, std::vector<std::vector<double>> const& rows) const;
    double draw(std::size_t key, std::size_t kernel, double u) const;
    void add_log_densities(std::size_t key, double x, std::vector<double>& terms) const;  // of each kernel
    double probability(std::size_t key, std::size_t kernel, double category) const;

    std::vector<Axis> axes_;
    std::vector<double> weights_, log_weights_;
    std::vector<Kernels> kernels_;
};

}  // namespace hopscotch
