// SPDX-License-Identifier: Apache-2.0
// A Gaussian process with the Matern 5/2 kernel, one length for each coordinate (Rasmussen and Williams, 2006), with the
// priors and the least noise of Optuna 5; tests compare with its numbers. A point is a row; the coordinates are numbers of
// [0, 1], or indices of categories, which are only equal or not.
#pragma once
#include <Eigen/Core>
#include <vector>

#include "search/box_minimizer.hpp"

namespace hopscotch {

struct Observations {
    Eigen::MatrixXd points;
    Eigen::VectorXd values;           // one a point, with mean 0 and variance 1: the priors expect it
    std::vector<bool> is_category{};  // of the coordinates
};

struct Kernel {
    Eigen::VectorXd precisions;   // 1 / length^2, one a coordinate
    double scale = 1, noise = 1;  // variances: of the function, and of a value around it
};

// log p(values | kernel) + log p(kernel), without constants, negative. It may set the gradient with respect to
// kernel_logs(). Infinite: the covariance is singular.
double kernel_loss(Observations const& observations, Kernel const& kernel, Eigen::VectorXd* gradient = nullptr);

// The logarithms of precisions, scale, and noise above the least.
Eigen::VectorXd kernel_logs(Kernel const& kernel);

// A local minimum of kernel_loss() near `start`; if that fails, `start`.
Kernel fit_kernel(Observations const& observations, Kernel const& start);

class GaussianProcess {
public:
    // pending: points whose values are not known yet. Each is believed to get its prediction ("kriging believer",
    // Ginsbourger et al., 2010): the mean stays, and the variance becomes small there.
    GaussianProcess(Observations const& observations, Kernel kernel, Eigen::MatrixXd const& pending);

    struct Predictions {
        Eigen::VectorXd means, variances;  // of the function, without noise
    };
    Predictions at(Eigen::MatrixXd const& points) const;

    struct Prediction {
        double mean, variance;
        Eigen::VectorXd mean_gradient, variance_gradient;  // 0 for categories
    };
    Prediction at_one(Eigen::VectorXd const& point) const;

    Kernel const& kernel() const { return kernel_; }

private:
    Eigen::MatrixXd points_;  // observed, then pending
    std::vector<bool> is_category_;
    Kernel kernel_;
    Eigen::MatrixXd cholesky_;  // lower, of the covariance of all points with noise
    Eigen::VectorXd weights_;   // inverse covariance times values; 0 for pending points
};

// log E[max(0, y - best)] of a y with this mean and variance, exact also where the expectation is no longer a double
// (LogEI; Ament et al., NeurIPS 2023).
struct LogImprovement {
    double value, by_mean, by_variance;  // and its derivatives
};
LogImprovement log_improvement(double mean, double variance, double best);

}  // namespace hopscotch
