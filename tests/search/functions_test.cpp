// SPDX-License-Identifier: Apache-2.0
// Does a search find more than luck does? On functions with known minima, fixed seeds.
#include <gtest/gtest.h>

#include "functions.hpp"

namespace hopscotch {
namespace functions_test {

constexpr int k_seeds = 30;
// Of 30 fair coins, 24 or more fall on one side with p = 0.0007.
constexpr int k_significant = 24;

int wins_over_random(std::string const& function, std::string const& procedure, int evaluations) {
    int wins = 0;
    for (int seed = 0; seed < k_seeds; ++seed) {
        auto const& known = function_named(function);
        auto const better = minimise(known, procedure, evaluations, seed),
                   random = minimise(known, "random", evaluations, seed + 1000);
        EXPECT_EQ(better.trials, evaluations);
        EXPECT_EQ(random.trials, evaluations);
        wins += better.best < random.best ? 1 : 0;
    }
    return wins;
}

TEST(Functions, HaveTheirKnownMinima) {
    EXPECT_NEAR(branin({-3.14159265, 12.275}), 0.397887, 1e-6);
    EXPECT_NEAR(branin({3.14159265358979, 2.275}), 0.39788735772973816, 1e-12);
    EXPECT_NEAR(branin({2.5, 7.5}), 24.129964413622268, 1e-12);
    EXPECT_NEAR(hartmann6({0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573}), -3.32237, 1e-5);
}

TEST(Functions, TpeBeatsRandomOnBranin) { EXPECT_GE(wins_over_random("branin", "tpe", 60), k_significant); }

TEST(Functions, TpeEachKeyAloneBeatsRandomOnHartmann6) {
    EXPECT_GE(wins_over_random("hartmann6", "tpe-alone", 60), k_significant);
}

TEST(Functions, TpeBeatsRandomOnHartmann6) { EXPECT_GE(wins_over_random("hartmann6", "tpe", 60), k_significant); }

TEST(Functions, RungsAreTrainedWithinTheBudget) {
    for (auto const* procedure : {"hyperband", "bohb"}) {
        auto const found = minimise(function_named("branin"), procedure, 714, 1);
        EXPECT_EQ(found.epochs, 714) << "two iterations of 357 epochs";
        EXPECT_EQ(found.trials, 98);
        EXPECT_LT(found.best, 20);
    }
}

}  // namespace functions_test
}  // namespace hopscotch
