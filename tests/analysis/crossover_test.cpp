// SPDX-License-Identifier: Apache-2.0
// The bisection against conditions and formulas whose answer is known by hand.
#include "analysis/forecast/crossover.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace hopscotch {
namespace crossover_test {

TEST(Crossover, FindsTheFirstIntegerOfEveryRange) {
    for (int const high : {1, 2, 3, 17, 1000}) {
        for (int first = 1; first <= high; ++first) {
            auto const found = first_integer(1, high, [&](double x) { return x >= first; });
            EXPECT_EQ(found.kind, first == 1 ? Crossover::Kind::always : Crossover::Kind::from);
            EXPECT_EQ(found.value, first);
        }
        EXPECT_EQ(first_integer(1, high, [](double) { return false; }).kind, Crossover::Kind::never);
    }
}

TEST(Crossover, FindsARealToAPercent) {
    for (double const first : {2e-3, 1.0, 3.7, 9e11}) {
        auto const found = first_to_a_percent(1e-3, 1e12, [&](double x) { return x >= first; });
        EXPECT_EQ(found.kind, Crossover::Kind::from);
        EXPECT_GE(found.value, first);
        EXPECT_LE(found.value, 1.01 * first);
    }
}

TEST(Crossover, SaysItInWords) {
    auto const text = [](double x) { return std::to_string(static_cast<int>(x)); };
    EXPECT_EQ(text_of({Crossover::Kind::never, 1, 120, 120}, text), "never in 1..120");
    EXPECT_EQ(text_of({Crossover::Kind::always, 1, 120, 1}, text), "at any of 1..120");
    EXPECT_EQ(text_of({Crossover::Kind::from, 1, 120, 64}, text), "from 64");
}

// One model on two trainers: mop trains it on one at a time, N row_s + 2 hops. All-reduce halves the rows of a step and adds
// 2a + W/B for each of the N/b steps (one bucket, so nothing hides).
Contest one_model() {
    ModelWork model;
    model.rows = 4096;
    model.row_s = 1e-3;
    model.batch = 32;
    model.weight_bytes = 1'000'000;
    Contest out;
    out.work.models = {model};
    out.cluster = {2, {1e8, 1e-3}};
    out.hops_per_lap = 2;
    return out;
}

TEST(Crossover, BatchOfOneModelIsTheClosedForm) {
    auto const found = batch_crossover(one_model(), 4096);
    ASSERT_EQ(found.kind, Crossover::Kind::from);
    auto const reduce = [](double b) { return 4096 * 1e-3 / 2 + std::ceil(4096 / b) * (2e-3 + 1e-2); };
    double const mop = 4.096 + 2 * (1e-3 + 1e-2);
    EXPECT_LT(reduce(found.value), mop);
    EXPECT_GE(reduce(found.value - 1), mop);
    EXPECT_LT(batch_crossover(one_model(), 4096, 1.1).value, found.value);
}

TEST(Crossover, BandwidthOfOneModelIsTheClosedForm) {
    auto const found = bandwidth_crossover(one_model());
    ASSERT_EQ(found.kind, Crossover::Kind::from);
    auto const faster = [](double bytes_per_s) {
        return 2.048 + 128 * (2e-3 + 1e6 / bytes_per_s) < 4.096 + 2 * (1e-3 + 1e6 / bytes_per_s);
    };
    EXPECT_TRUE(faster(found.value));
    EXPECT_FALSE(faster(found.value / 1.01));
}

// With a model for every trainer no one is idle under mop, and all-reduce can only come close.
TEST(Crossover, EnoughModelsAreNeverOvertaken) {
    auto contest = one_model();
    contest.work.models.assign(8, contest.work.models.front());
    EXPECT_EQ(batch_crossover(contest, 4096).kind, Crossover::Kind::never);
    EXPECT_EQ(bandwidth_crossover(contest).kind, Crossover::Kind::never);
    EXPECT_EQ(batch_crossover(contest, 4096, 1.1).kind, Crossover::Kind::from);
}

}  // namespace crossover_test
}  // namespace hopscotch
