// SPDX-License-Identifier: Apache-2.0
// Numbers of Optuna 5.0.0 (optuna._gp, with PyTorch's derivatives), and of mpmath for the far tail.
#include <gtest/gtest.h>

#include <cmath>

#include "core/rng.hpp"
#include "search/gaussian_process.hpp"

namespace hopscotch {
namespace gaussian_process_test {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;

VectorXd vector(std::initializer_list<double> values) {
    VectorXd out(static_cast<Index>(values.size()));
    std::copy(values.begin(), values.end(), out.begin());
    return out;
}

// Two numbers and a category.
Observations observations() {
    Observations out{MatrixXd(12, 3), {}, {false, false, true}};
    out.points << 0.076, 0.381, 0, 0.78, 0.066, 2, 0.438, 0.288, 1, 0.723, 0.91, 0, 0.978, 0.213, 0, 0.538, 0.452, 1, 0.501,
        0.931, 0, 0.072, 0.025, 0, 0.268, 0.601, 2, 0.5, 0.95, 1, 0.679, 0.23, 0, 0.804, 0.548, 0;
    out.values = vector({0.10769629103728266, 1.2662405207403065, -0.9998406483692214, 0.16152087741930707,
                         1.5219577850154982, -0.5393374983022899, -1.0997131610908575, -0.34679879630311633,
                         -0.37001067895389794, -1.7389742504676442, 0.713478459745787, 1.3237810995288464});
    return out;
}

Kernel const k_kernel{Vector3d(2.5, 0.7, 1.3), 0.8, 0.01};

void expect_near(VectorXd const& values, VectorXd const& expected, double tolerance) {
    ASSERT_EQ(values.size(), expected.size());
    for (Index i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], tolerance) << i;
}

TEST(GaussianProcess, LossOfAKernel) {
    VectorXd gradient(5);
    EXPECT_NEAR(kernel_loss(observations(), {VectorXd::Ones(3), 1, 1}, &gradient), 37.636910093287895, 1e-11);
    expect_near(
        gradient,
        vector({-0.1512433945175365, 0.025578186556884208, 0.14002952256805884, 0.4065663655144619, 32.1966445158842}),
        1e-11);
    EXPECT_NEAR(kernel_loss(observations(), k_kernel, &gradient), 13.927869098309106, 1e-11);
    expect_near(gradient,
                vector({-9.895259345657427, -6.058029801001031, 2.358399007642628, -11.551070688500742, -2.689266486437821}),
                1e-10);
}

TEST(GaussianProcess, FitsAsWellAsScipy) {
    auto const kernel = fit_kernel(observations(), {VectorXd::Ones(3), 1, 1});
    EXPECT_LT(kernel_loss(observations(), kernel), 3.564238860343165) << "Optuna's fit; the minimum is at 3.564228";
    expect_near(kernel.precisions, vector({8.195, 1.2255, 0.1764}), 0.01);
    EXPECT_NEAR(kernel.scale, 1.1903, 0.003);
    EXPECT_NEAR(kernel.noise, 0.003894, 0.0002);
}

TEST(GaussianProcess, PredictionsAndTheirGradients) {
    GaussianProcess const process(observations(), k_kernel, MatrixXd(0, 3));
    struct Case {
        VectorXd at;
        double mean, variance;
        VectorXd mean_gradient, variance_gradient;
    };
    Case const cases[] = {
        {vector({.3, .6, 1}), -1.6516917603570969, 0.07396850898840701, vector({1.5435510789734601, -1.1794549046473768, 0}),
         vector({-0.5712306987851516, 0.07944630099549888, 0})},
        {vector({.95, .05, 2}), 1.4380660173699797, 0.07961689136151417,
         vector({0.4094984464695446, 0.07844357366906651, 0}), vector({0.772415618059061, 0.0006129931125698437, 0})},
        {vector({.5, .5, 0}), -0.18574065957840435, 0.031175325335192294,
         vector({3.2274312935725202, -1.4403603405615342, 0}), vector({-0.12912869879636493, -0.031441721371411456, 0})}};
    MatrixXd together(3, 3);
    for (Index i = 0; i < 3; ++i) together.row(i) = cases[i].at;
    auto const batch = process.at(together);
    for (Index i = 0; i < 3; ++i) {
        auto const one = process.at_one(cases[i].at);
        EXPECT_NEAR(one.mean, cases[i].mean, 1e-12);
        EXPECT_NEAR(one.variance, cases[i].variance, 1e-12);
        expect_near(one.mean_gradient, cases[i].mean_gradient, 1e-11);
        expect_near(one.variance_gradient, cases[i].variance_gradient, 1e-11);
        EXPECT_NEAR(batch.means[i], one.mean, 1e-14);
        EXPECT_NEAR(batch.variances[i], one.variance, 1e-14);
    }
}

TEST(GaussianProcess, ImprovementAndItsGradient) {
    GaussianProcess const process(observations(), k_kernel, MatrixXd(0, 3));
    double const best = observations().values.maxCoeff();
    auto const check = [&](VectorXd const& at, double expected, VectorXd const& gradient) {
        auto const y = process.at_one(at);
        auto const [value, by_mean, by_variance] = log_improvement(y.mean, y.variance, best);
        EXPECT_NEAR(value, expected, 1e-9);
        expect_near(by_mean * y.mean_gradient + by_variance * y.variance_gradient, gradient, 1e-7);
    };
    check(vector({.3, .6, 1}), -75.23974259004193, vector({-470.02496863408214, 23.381203032632044, 0}));
    check(vector({.95, .05, 2}), -2.5828221164781713, vector({8.990425491289484, 0.4032183388018433, 0}));
    check(vector({.5, .5, 0}), -53.993880219779534, vector({-19.360880307584694, -129.189286442575, 0}));
}

TEST(GaussianProcess, BelievesItsPredictionsOfPendingTrials) {
    MatrixXd pending(1, 3);
    pending << .3, .6, 1;
    GaussianProcess const process(observations(), k_kernel, pending);
    auto const there = process.at_one(vector({.3, .6, 1})), near = process.at_one(vector({.35, .5, 1}));
    EXPECT_NEAR(there.mean, -1.6516917603570995, 1e-12);
    EXPECT_NEAR(there.variance, 0.008809077340961258, 1e-12);
    EXPECT_NEAR(near.mean, -1.4288952999654887, 1e-12);
    EXPECT_NEAR(near.variance, 0.007120342514638778, 1e-12);
}

// Optuna's value at -24.9 has five digits less than these.
TEST(GaussianProcess, ImprovementInTheFarTail) {
    struct Case {
        double z, value, mass_share, density_share, tolerance;
    };
    for (auto const& [z, value, mass_share, density_share, tolerance] :
         {Case{3, 1.0987396653277077, 0, 0, 1e-13}, Case{0, -0.9189385332046727, 0, 0, 1e-13},
          Case{-10, -55.553122036121955, 0, 0, 1e-10},
          Case{-24.9, -317.35848574266734, 24.9799369594711, 623.000430290831, 1e-9},
          Case{-26, -345.43954672231803, 26.0765851866327, 678.99121485245, 1e-8},
          Case{-60, -1809.1084601822722, 60.0333056094205, 3602.99833656523, 1e-11},
          Case{-1000, -500014.73445209116, 1000.001999994, 1000002.999994, 1e-12}}) {
        auto const found = log_improvement(z, 1 - 1e-12, 0);
        EXPECT_NEAR(found.value / value, 1, tolerance) << z;
        if (mass_share == 0) continue;
        EXPECT_NEAR(found.by_mean / mass_share, 1, 30 * tolerance) << z;
        EXPECT_NEAR(2 * found.by_variance / density_share, 1, 30 * tolerance) << z;
    }
}

// Many equal points, and values that are all equal: nothing is singular, nothing is infinite.
TEST(GaussianProcess, FitsWhatSaysNothing) {
    Observations same{MatrixXd::Constant(30, 2, 0.5), VectorXd::Zero(30), {false, false}};
    auto const kernel = fit_kernel(same, {VectorXd::Ones(2), 1, 1});
    EXPECT_TRUE(std::isfinite(kernel_loss(same, kernel)));
    GaussianProcess const process(same, kernel, same.points);
    auto const y = process.at_one(vector({.5, .5}));
    EXPECT_NEAR(y.mean, 0, 1e-9);
    EXPECT_GE(y.variance, 0);
    EXPECT_TRUE(std::isfinite(log_improvement(y.mean, y.variance, 0).value));
}

// A valley like Rosenbrock's, and a box whose bound is the minimum in one coordinate.
TEST(BoxMinimizer, FindsMinima) {
    auto const valley = [](VectorXd const& x, VectorXd& gradient) {
        double const a = 1 - x[0], b = x[1] - x[0] * x[0];
        gradient[0] = -2 * a - 400 * b * x[0];
        gradient[1] = 200 * b;
        return a * a + 100 * b * b;
    };
    Box const wide{vector({-10, -10}), vector({10, 10})};
    auto const free = minimize(valley, vector({-1.2, 1}), wide, {.steps = 200, .small_gradient = 1e-8});
    expect_near(free.at, vector({1, 1}), 1e-6);
    Box const cut{vector({-10, -10}), vector({0.5, 10})};
    auto const bound = minimize(valley, vector({-1.2, 1}), cut, {.steps = 200, .small_gradient = 1e-8});
    expect_near(bound.at, vector({0.5, 0.25}), 1e-6);
    EXPECT_NEAR(bound.value, 0.25, 1e-9);
}

TEST(BoxMinimizer, StaysInTheBoxAndNeverRises) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        Rng rng(seed);
        Index const n = 1 + rng.below(5);
        VectorXd target(n), start(n), weights(n);
        for (Index i = 0; i < n; ++i) {
            target[i] = 3 * rng.uniform() - 1;
            start[i] = rng.uniform();
            weights[i] = std::exp(6 * rng.uniform() - 3);
        }
        Box const box{VectorXd::Zero(n), VectorXd::Ones(n)};
        double const first = (weights.array() * (start - target).array().square()).sum();
        auto const found = minimize(
            [&](VectorXd const& x, VectorXd& gradient) {
                EXPECT_GE(x.minCoeff(), 0);
                EXPECT_LE(x.maxCoeff(), 1);
                gradient = 2 * weights.cwiseProduct(x - target);
                return (weights.array() * (x - target).array().square()).sum();
            },
            start, box, {.steps = 100, .small_gradient = 1e-9});
        EXPECT_LE(found.value, first);
        expect_near(found.at, target.cwiseMax(0.0).cwiseMin(1.0), 1e-5);
    }
}

}  // namespace gaussian_process_test
}  // namespace hopscotch
