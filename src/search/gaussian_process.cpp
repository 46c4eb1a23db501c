// SPDX-License-Identifier: Apache-2.0
#include "search/gaussian_process.hpp"

#include <Eigen/Cholesky>
#include <cmath>
#include <limits>
#include <numbers>

#include "search/fixed_blocks.hpp"

namespace hopscotch {
namespace {

using Eigen::ArrayXd;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double k_least_variance = 1e-6;
constexpr double k_farthest_log = 12;  // of the parameters of a kernel: far beyond what the priors allow
constexpr double k_stabilizing = 1e-12;
constexpr double k_infinite = std::numeric_limits<double>::infinity();

ArrayXd differences(MatrixXd const& points, Index first, Index coordinate, double from, bool is_category) {
    auto const column = points.col(coordinate).tail(points.rows() - first).array();
    if (is_category) return (column != from).cast<double>();
    return column - from;
}

// Of the points from `first` to this one, weighed by the precisions.
ArrayXd squared_distances(MatrixXd const& points, Index first, VectorXd const& from, VectorXd const& precisions,
                          std::vector<bool> const& is_category) {
    ArrayXd out = ArrayXd::Zero(points.rows() - first);
    for (Index i = 0; i < points.cols(); ++i)
        out += precisions[i] * differences(points, first, i, from[i], is_category[static_cast<std::size_t>(i)]).square();
    return out;
}

struct Matern {
    ArrayXd values, slopes;  // slopes: by the squared distance
};

Matern matern(ArrayXd const& squared) {
    ArrayXd const root = (5 * squared).sqrt(), decay = (-root).exp();
    return {decay * (5.0 / 3 * squared + root + 1), -5.0 / 6 * (root + 1) * decay};
}

double log_prior(Kernel const& kernel) {
    auto const p = kernel.precisions.array();
    return -(0.1 / p + 0.1 * p).sum() + std::log(kernel.scale) - kernel.scale + 0.1 * std::log(kernel.noise) -
           30 * kernel.noise;
}

// The covariances of the points, without noise, below the diagonal; and the slopes of the kernel.
struct Covariances {
    MatrixXd values, slopes;
};

Covariances covariances_of(MatrixXd const& points, std::vector<bool> const& is_category, Kernel const& kernel) {
    Index const n = points.rows();
    Covariances out{MatrixXd::Zero(n, n), MatrixXd::Zero(n, n)};
    for (Index j = 0; j < n; ++j) {
        auto const column = matern(squared_distances(points, j, points.row(j), kernel.precisions, is_category));
        out.values.col(j).tail(n - j) = kernel.scale * column.values;
        out.slopes.col(j).tail(n - j) = kernel.scale * column.slopes;
    }
    return out;
}

Kernel kernel_of(VectorXd const& logs) {
    Index const n = logs.size() - 2;
    return {logs.head(n).array().exp(), std::exp(logs[n]), std::exp(logs[n + 1]) + k_least_variance};
}

// shares: of the likelihood by each covariance (alpha alpha^T - C^-1), below the diagonal twice.
VectorXd gradient_of(Observations const& in, Kernel const& kernel, Covariances const& covariances, MatrixXd const& shares) {
    Index const n = in.points.rows(), d = in.points.cols();
    VectorXd out = VectorXd::Zero(d + 2);
    for (Index j = 0; j < n; ++j) {
        ArrayXd const share = shares.col(j).tail(n - j);
        ArrayXd const slope = share * covariances.slopes.col(j).tail(n - j).array();
        for (Index i = 0; i < d; ++i)
            out[i] +=
                (slope * differences(in.points, j, i, in.points(j, i), in.is_category[static_cast<std::size_t>(i)]).square())
                    .sum();
        out[d] += (share * covariances.values.col(j).tail(n - j).array()).sum();
        out[d + 1] += share[0];
    }
    auto const p = kernel.precisions.array();
    out.head(d).array() = (out.head(d).array() + 0.1 / p.square() - 0.1) * p;
    out[d] += 1 - kernel.scale;
    out[d + 1] = (out[d + 1] + 0.1 / kernel.noise - 30) * (kernel.noise - k_least_variance);
    return -out;
}

}  // namespace

VectorXd kernel_logs(Kernel const& kernel) {
    Index const n = kernel.precisions.size();
    VectorXd out(n + 2);
    out.head(n) = kernel.precisions.array().log();
    out[n] = std::log(kernel.scale);
    out[n + 1] = std::log(kernel.noise - k_least_variance);
    return out;
}

double kernel_loss(Observations const& observations, Kernel const& kernel, VectorXd* gradient) {
    fix_blocks();
    Index const n = observations.points.rows();
    auto const covariances = covariances_of(observations.points, observations.is_category, kernel);
    MatrixXd noisy = covariances.values;
    noisy.diagonal().array() += kernel.noise;
    Eigen::LLT<MatrixXd> const cholesky(noisy);
    if (cholesky.info() != Eigen::Success) return k_infinite;
    VectorXd const weights = cholesky.solve(observations.values);
    double const likelihood = -cholesky.matrixLLT().diagonal().array().log().sum() - 0.5 * observations.values.dot(weights);
    if (gradient != nullptr) {
        MatrixXd const inverse_factor = cholesky.matrixL().solve(MatrixXd::Identity(n, n));
        MatrixXd shares = MatrixXd::Zero(n, n);
        shares.selfadjointView<Eigen::Lower>().rankUpdate(inverse_factor.transpose(), -1.0);
        shares.selfadjointView<Eigen::Lower>().rankUpdate(weights, 1.0);
        shares.diagonal() *= 0.5;
        *gradient = gradient_of(observations, kernel, covariances, shares);
    }
    return -likelihood - log_prior(kernel);
}

Kernel fit_kernel(Observations const& observations, Kernel const& start) {
    VectorXd logs = kernel_logs(start);
    logs.tail(1)[0] = std::log(start.noise - 0.99 * k_least_variance);  // the least noise has no logarithm
    VectorXd const bound = VectorXd::Constant(logs.size(), k_farthest_log);
    logs = logs.cwiseMax(-bound).cwiseMin(bound);
    auto const loss = [&](VectorXd const& at, VectorXd& gradient) {
        return kernel_loss(observations, kernel_of(at), &gradient);
    };
    auto const found = minimize(loss, logs, {-bound, bound}, {.steps = 100, .small_gradient = 1e-2});
    return std::isfinite(found.value) ? kernel_of(found.at) : start;
}

GaussianProcess::GaussianProcess(Observations const& observations, Kernel kernel, MatrixXd const& pending)
    : is_category_(observations.is_category), kernel_(std::move(kernel)) {
    fix_blocks();
    Index const n = observations.points.rows(), all = n + pending.rows();
    points_.resize(all, observations.points.cols());
    points_ << observations.points, pending;
    cholesky_ = covariances_of(points_, is_category_, kernel_).values;
    cholesky_.diagonal().array() += kernel_.noise;
    Eigen::LLT<Eigen::Ref<MatrixXd>> const factor(cholesky_);  // in place
    // The factor of the observed points is the upper left part of the factor of all.
    auto const lower = cholesky_.topLeftCorner(n, n).triangularView<Eigen::Lower>();
    weights_ = VectorXd::Zero(all);
    weights_.head(n) = lower.transpose().solve(lower.solve(observations.values));
}

GaussianProcess::Predictions GaussianProcess::at(MatrixXd const& points) const {
    MatrixXd with(points_.rows(), points.rows());
    for (Index i = 0; i < points.rows(); ++i)
        with.col(i) =
            kernel_.scale * matern(squared_distances(points_, 0, points.row(i), kernel_.precisions, is_category_)).values;
    Predictions out{with.transpose() * weights_, {}};
    cholesky_.triangularView<Eigen::Lower>().solveInPlace(with);
    out.variances = (kernel_.scale - with.colwise().squaredNorm().array()).max(0);
    return out;
}

GaussianProcess::Prediction GaussianProcess::at_one(VectorXd const& point) const {
    auto const [values, slopes] = matern(squared_distances(points_, 0, point, kernel_.precisions, is_category_));
    VectorXd const with = kernel_.scale * values;
    auto const lower = cholesky_.triangularView<Eigen::Lower>();
    VectorXd const half = lower.solve(with), whole = lower.transpose().solve(half);
    Index const d = point.size();
    Prediction out{with.dot(weights_), std::max(kernel_.scale - half.squaredNorm(), 0.0), VectorXd::Zero(d),
                   VectorXd::Zero(d)};
    for (Index i = 0; i < d; ++i) {
        if (is_category_[static_cast<std::size_t>(i)]) continue;
        VectorXd const slope =
            -2 * kernel_.scale * kernel_.precisions[i] * slopes * differences(points_, 0, i, point[i], false);
        out.mean_gradient[i] = slope.dot(weights_);
        out.variance_gradient[i] = -2 * slope.dot(whole);
    }
    return out;
}

LogImprovement log_improvement(double mean, double variance, double best) {
    double const sigma = std::sqrt(variance + k_stabilizing), z = (mean - best) / sigma;
    double const density_log = -0.5 * z * z - 0.5 * std::log(2 * std::numbers::pi);
    // Of a standard normal y: log E[max(0, y + z)], P(y > -z) / E and density / E.
    double log_expected = 0, by_mass = 0, by_density = 0;
    if (z > -25) {
        double const mass = 0.5 * std::erfc(-z / std::numbers::sqrt2), density = std::exp(density_log);
        double const expected = z * mass + density;
        log_expected = std::log(expected);
        by_mass = mass / expected;
        by_density = density / expected;
    } else {  // asymptotic series of the mass
        double const q = 1 / (z * z), series = 1 - q * (3 - q * (15 - q * 105));
        log_expected = density_log + std::log(q * series);
        by_density = 1 / (q * series);
        by_mass = -by_density / z * (1 - q * (1 - q * (3 - q * 15)));
    }
    return {log_expected + std::log(sigma), by_mass / sigma, 0.5 * by_density / (sigma * sigma)};
}

}  // namespace hopscotch
