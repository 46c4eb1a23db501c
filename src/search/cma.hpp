// SPDX-License-Identifier: Apache-2.0
// The covariance matrix adaptation evolution strategy (Hansen, arXiv 1604.00772), active, with the parameters of the Python
// package cmaes 0.13, whose numbers are a test. Lower losses are better.
#pragma once
#include <Eigen/Core>
#include <functional>
#include <vector>

namespace hopscotch {

class Cma {
public:
    // mean: at least one coordinate. deviation: the first standard deviation of each coordinate.
    Cma(Eigen::VectorXd mean, double deviation);

    std::size_t population() const { return weights_.size(); }  // points of a generation
    int generation() const { return generation_; }
    Eigen::VectorXd const& mean() const { return mean_; }
    Eigen::MatrixXd const& covariance() const { return covariance_; }  // without deviation()
    double deviation() const { return deviation_; }
    double widest() const;  // standard deviation in any direction

    Eigen::VectorXd sample(std::function<double()> const& normal) const;

    struct Solution {
        Eigen::VectorXd at;
        double loss;  // may be infinite; equals keep their order
    };
    // solutions: population() of them. The next generation begins.
    void tell(std::vector<Solution> solutions);

private:
    void set_rates();
    void decompose();
    void adapt_deviation(Eigen::VectorXd const& step);
    void adapt_covariance(Eigen::VectorXd const& step, std::vector<Eigen::VectorXd> const& steps);

    Eigen::VectorXd mean_;
    double deviation_;
    Eigen::MatrixXd covariance_;
    Eigen::MatrixXd axes_;     // columns
    Eigen::VectorXd lengths_;  // of the axes
    Eigen::VectorXd path_, deviation_path_;
    std::vector<double> weights_;  // by rank
    struct Rates {
        double effective = 0;  // number of parents, as if they had equal weights
        double path = 0, one = 0, many = 0, deviation = 0, damping = 0, length = 0;  // length: of a normal vector
    } rates_;
    int generation_ = 0;
};

}  // namespace hopscotch
