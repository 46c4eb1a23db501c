// SPDX-License-Identifier: Apache-2.0
#include "search/cma.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.hpp"
#include "search/fixed_blocks.hpp"

namespace hopscotch {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double k_tiny = 1e-8, k_largest_deviation = 1e32;

double square(double x) { return x * x; }

// Equation 49: positive for the better half.
std::vector<double> raw_weights(double dimensions) {
    auto const population = 4 + static_cast<std::size_t>(3 * std::log(dimensions));
    std::vector<double> out(population);
    for (std::size_t i = 0; i < population; ++i)
        out[i] = std::log((static_cast<double>(population) + 1) / 2) - std::log(static_cast<double>(i + 1));
    return out;
}

// The number of equal weights that would average as well.
double effective(auto first, auto last) {
    double const sum = std::accumulate(first, last, 0.0), squares = std::inner_product(first, last, first, 0.0);
    return sum * sum / squares;
}

}  // namespace

Cma::Cma(VectorXd mean, double deviation)
    : mean_(std::move(mean)),
      deviation_(deviation),
      covariance_(MatrixXd::Identity(mean_.size(), mean_.size())),
      path_(VectorXd::Zero(mean_.size())),
      deviation_path_(path_),
      weights_(raw_weights(static_cast<double>(mean_.size()))) {
    fix_blocks();
    set_rates();
    decompose();
}

// Equations 50 to 56, and page 28.
void Cma::set_rates() {
    auto const n = static_cast<double>(mean_.size());
    auto const middle = weights_.begin() + static_cast<std::ptrdiff_t>(weights_.size() / 2);
    double const parents = effective(weights_.begin(), middle), others = effective(middle, weights_.end());
    auto& r = rates_;
    r.effective = parents;
    r.one = 2 / (square(n + 1.3) + parents);
    r.many = std::min(1 - r.one - k_tiny, 2 * (parents - 2 + 1 / parents) / (square(n + 2) + parents));
    r.deviation = (parents + 2) / (n + parents + 5);
    r.damping = 1 + 2 * std::max(0.0, std::sqrt((parents - 1) / (n + 1)) - 1) + r.deviation;
    r.path = (4 + parents / n) / (n + 4 + 2 * parents / n);
    r.length = std::sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n));
    double const against =
        std::min({1 + r.one / r.many, 1 + 2 * others / (parents + 2), (1 - r.one - r.many) / (n * r.many)});
    double positive = 0, negative = 0;
    for (auto const weight : weights_) (weight > 0 ? positive : negative) += std::abs(weight);
    for (auto& weight : weights_) weight *= weight >= 0 ? 1 / positive : against / negative;
}

void Cma::decompose() {
    covariance_ = (covariance_ + covariance_.transpose()) / 2;
    Eigen::SelfAdjointEigenSolver<MatrixXd> const solver(covariance_);
    axes_ = solver.eigenvectors();
    lengths_ = solver.eigenvalues().unaryExpr([](double value) { return std::sqrt(value < 0 ? k_tiny : value); });
    covariance_ = axes_ * lengths_.array().square().matrix().asDiagonal() * axes_.transpose();
}

double Cma::widest() const { return deviation_ * lengths_.maxCoeff(); }

VectorXd Cma::sample(std::function<double()> const& normal) const {
    VectorXd z(mean_.size());
    for (auto& each : z) each = normal();
    return mean_ + deviation_ * (axes_ * lengths_.cwiseProduct(z));
}

void Cma::tell(std::vector<Solution> solutions) {
    require(solutions.size() == weights_.size(), "a generation of CMA-ES is incomplete");
    std::ranges::stable_sort(solutions, {}, &Solution::loss);
    ++generation_;
    std::vector<VectorXd> steps;
    VectorXd mean_step = VectorXd::Zero(mean_.size());
    for (auto const& each : solutions) {
        steps.emplace_back((each.at - mean_) / deviation_);
        if (steps.size() <= weights_.size() / 2) mean_step += weights_[steps.size() - 1] * steps.back();
    }
    mean_ += deviation_ * mean_step;
    adapt_deviation(mean_step);
    adapt_covariance(mean_step, steps);
    decompose();
}

void Cma::adapt_deviation(VectorXd const& step) {
    double const rate = rates_.deviation;
    VectorXd const even = axes_ * (axes_.transpose() * step).cwiseQuotient(lengths_);
    deviation_path_ = (1 - rate) * deviation_path_ + std::sqrt(rate * (2 - rate) * rates_.effective) * even;
    deviation_ *= std::exp(rate / rates_.damping * (deviation_path_.norm() / rates_.length - 1));
    deviation_ = std::min(deviation_, k_largest_deviation);
}

void Cma::adapt_covariance(VectorXd const& step, std::vector<VectorXd> const& steps) {
    auto const n = static_cast<double>(mean_.size());
    double const grown = 1 - std::pow(1 - rates_.deviation, 2 * (generation_ + 1));
    bool const is_steady = deviation_path_.norm() / std::sqrt(grown) < (1.4 + 2 / (n + 1)) * rates_.length;
    double const rate = rates_.path, kept = is_steady ? 0 : rate * (2 - rate);
    path_ *= 1 - rate;
    if (is_steady) path_ += std::sqrt(rate * (2 - rate) * rates_.effective) * step;
    double const sum = std::accumulate(weights_.begin(), weights_.end(), 0.0);
    MatrixXd next = (1 + rates_.one * kept - rates_.one - rates_.many * sum) * covariance_;
    next += rates_.one * path_ * path_.transpose();
    for (std::size_t i = 0; i < steps.size(); ++i) {
        double const length = (axes_.transpose() * steps[i]).cwiseQuotient(lengths_).squaredNorm();
        double const weight = weights_[i] * (weights_[i] >= 0 ? 1 : n / (length + k_tiny));
        next += rates_.many * weight * steps[i] * steps[i].transpose();
    }
    covariance_ = std::move(next);
}

}  // namespace hopscotch
