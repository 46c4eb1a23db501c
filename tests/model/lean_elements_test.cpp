// SPDX-License-Identifier: Apache-2.0
#include "model/lean/elements.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/cpu_features.hpp"
#include "core/rng.hpp"

namespace hopscotch {
namespace lean_elements_test {

class LeanElements : public ::testing::Test {
    void SetUp() override {
        if (!cpu_features().has_lean_step()) GTEST_SKIP() << "needs a CPU with AVX2";
    }
};

std::vector<float> normals(std::size_t n, std::uint64_t key, double scale = 1) {
    Rng rng(key);
    std::vector<float> out(n);
    for (auto& x : out) x = static_cast<float>(scale * rng.normal());
    return out;
}

std::int64_t length(std::vector<float> const& x) { return static_cast<std::int64_t>(x.size()); }

TEST_F(LeanElements, TanhIsWithinTwoUnits) {
    for (double const scale : {1e-6, 0.1, 1.0, 10.0}) {
        auto const x = normals(10007, 1, scale);
        auto y = x;
        activate(Activation::tanh, y.data(), length(y));
        for (std::size_t i = 0; i < x.size(); ++i) {
            auto const expected = std::tanh(static_cast<double>(x[i]));
            EXPECT_NEAR(y[i], expected, 2.5e-7 * std::abs(expected)) << x[i];
        }
    }
}

TEST_F(LeanElements, ActivationsKeepNotANumberAndInfinity) {
    auto const nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
    for (auto const kind : {Activation::relu, Activation::tanh}) {
        std::vector<float> x{nan, infinity, -infinity, 0};
        activate(kind, x.data(), length(x));
        EXPECT_TRUE(std::isnan(x[0]));
        EXPECT_EQ(x[1], kind == Activation::relu ? infinity : 1);
        EXPECT_EQ(x[2], kind == Activation::relu ? 0 : -1);
        EXPECT_EQ(x[3], 0);
    }
}

TEST_F(LeanElements, GradientsOfActivations) {
    std::vector<float> const activated{0.5F, 0, -0.25F}, gradient{2, 2, 2};
    auto relu = gradient, tanh = gradient;
    activate_backward(Activation::relu, activated.data(), relu.data(), 3);
    activate_backward(Activation::tanh, activated.data(), tanh.data(), 3);
    EXPECT_EQ(relu, (std::vector<float>{2, 0, 0}));
    EXPECT_EQ(tanh, (std::vector<float>{1.5F, 2, 1.875F}));
}

TEST_F(LeanElements, MasksAreWordsOfPhilox) {
    constexpr std::uint64_t key = 0x0123456789abcdef;
    constexpr double p = 0.3;
    for (std::size_t const n : {1U, 31U, 32U, 63U, 64U, 1000U}) {
        std::vector<float> mask(n + 1, 7);
        draw_mask(key, 5, p, mask.data(), static_cast<std::int64_t>(n));
        for (std::size_t i = 0; i < n; ++i) {
            auto const block = static_cast<std::uint32_t>(8 * (i / 32) + i % 8);
            auto const word = philox4x32({block, 0, 5, 0}, {0x89abcdef, 0x01234567}).at(i / 8 % 4);
            EXPECT_EQ(mask[i], word < static_cast<std::uint32_t>(p * 4294967296.0) ? 0.0F : 1.0F / 0.7F) << i;
        }
        EXPECT_EQ(mask[n], 7);
    }
}

TEST_F(LeanElements, AMaskDropsItsShare) {
    std::vector<float> mask(100'000);
    for (double const p : {0.01, 0.5, 0.99}) {
        draw_mask(17, 0, p, mask.data(), length(mask));
        auto const dropped = static_cast<double>(std::ranges::count(mask, 0.0F)) / 1e5;
        EXPECT_NEAR(dropped, p, 5 * std::sqrt(p * (1 - p) / 1e5));
    }
}

TEST_F(LeanElements, SumsGoFromTheFirstRowToTheLast) {
    constexpr std::int64_t rows = 37, columns = 21;
    auto const x = normals(rows * columns, 2);
    std::vector<float> sums(columns + 1, 7);
    sum_columns(x.data(), rows, columns, sums.data());
    for (std::size_t c = 0; c < columns; ++c) {
        auto expected = 0.0F;
        for (std::size_t r = 0; r < rows; ++r) expected += x[r * columns + c];
        EXPECT_EQ(sums[c], expected);
    }
    EXPECT_EQ(sums[columns], 7);
}

TEST_F(LeanElements, SumOfSquares) {
    for (std::size_t const n : {0U, 1U, 8U, 1003U}) {
        auto const x = normals(n, 3);
        double expected = 0;
        for (auto const each : x) expected += static_cast<double>(each) * each;
        EXPECT_NEAR(sum_of_squares(x.data(), length(x)), expected, 1e-12 * expected);
    }
}

TEST_F(LeanElements, ClampKeepsNotANumber) {
    std::vector<float> x{-3, -1, 0.5F, 2, std::numeric_limits<float>::quiet_NaN()};
    clamp(x.data(), length(x), 1);
    EXPECT_EQ((std::vector<float>(x.begin(), x.end() - 1)), (std::vector<float>{-1, -1, 0.5F, 1}));
    EXPECT_TRUE(std::isnan(x.back()));
}

}  // namespace lean_elements_test
}  // namespace hopscotch
