// SPDX-License-Identifier: Apache-2.0
#include "schedule/unit_times.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/rng.hpp"

namespace hopscotch {
namespace unit_times_test {

constexpr UnitKind k_small{1e9, 32}, k_large{8e9, 32}, k_small_batches{1e9, 4};

TEST(UnitTimes, BeforeTheFirstUnitCostsAreFlops) {
    UnitTimes const times;
    EXPECT_FALSE(times.knows_any());
    EXPECT_EQ(times.seconds(k_small), 1e9);
    EXPECT_EQ(times.seconds_on(k_large, TrainerId(3)), 8e9);
}

TEST(UnitTimes, AKindThatNobodyHasTrainedTakesItsFlopsAtTheKnownSpeed) {
    UnitTimes times;
    times.learn(k_small, TrainerId(0), 100, 2);
    EXPECT_DOUBLE_EQ(times.seconds(k_small), 2);
    EXPECT_DOUBLE_EQ(times.seconds(k_small, 50), 1);
    EXPECT_DOUBLE_EQ(times.seconds(k_large), 16);
    times.learn(k_small_batches, TrainerId(0), 100, 6);
    EXPECT_DOUBLE_EQ(times.seconds(k_small), 2) << "another batch size is another kind";
    EXPECT_DOUBLE_EQ(times.seconds(k_small_batches), 6);
}

// Trainer 2 is half as fast; kinds differ by 8; 5 % jitter.
TEST(UnitTimes, KindsAndTrainersAreToldApart) {
    UnitTimes times;
    Rng rng(1);
    for (int i = 0; i < 400; ++i) {
        TrainerId const trainer(rng.below(4));
        bool const large = rng.below(2) == 1;
        double const slow = trainer == TrainerId(2) ? 2 : 1;
        times.learn(large ? k_large : k_small, trainer, 100, slow * (large ? 8 : 1) * (1 + 0.05 * rng.normal()));
    }
    EXPECT_NEAR(times.seconds_on(k_small, TrainerId(2)) / times.seconds_on(k_small, TrainerId(0)), 2, 0.2);
    EXPECT_NEAR(times.seconds(k_large) / times.seconds(k_small), 8, 0.8);
    EXPECT_NEAR(times.seconds_on(k_small, TrainerId(2)), 2, 0.2);
    EXPECT_NEAR(times.seconds_on(k_large, TrainerId(1)), 8, 0.8);
}

TEST(UnitTimes, AHostThatGetsSlowerIsNoticed) {
    UnitTimes times;
    for (int i = 0; i < 50; ++i) times.learn(k_small, TrainerId(0), 100, 1);
    for (int i = 0; i < 50; ++i) times.learn(k_small, TrainerId(0), 100, 3);
    EXPECT_NEAR(times.seconds_on(k_small, TrainerId(0)), 3, 0.1);
}

// The product of the two factors is measured, not each of them. Both would drift: after 100,000 units a kind had a
// thousandth of its seconds, and a kind that was learned before had all of them.
TEST(UnitTimes, NoiseMakesNothingDrift) {
    UnitTimes times;
    Rng rng(3);
    auto const learned = [&](UnitKind const& kind, double seconds, int units) {  // the mean of the last 1,000 answers
        double sum = 0;
        for (int i = 0; i < units; ++i) {
            times.learn(kind, TrainerId(rng.below(2)), 100, seconds * std::exp(0.5 * rng.normal()));
            sum += i >= units - 1000 ? times.seconds(kind) : 0;
        }
        return sum / 1000;
    };
    EXPECT_NEAR(learned(k_large, 8, 2000), 8 * 1.13, 8 * 0.3) << "1.13: the mean of this noise";
    EXPECT_NEAR(learned(k_small, 1, 100'000), 1.13, 0.3);
    EXPECT_NEAR(times.seconds(k_large), 8 * 1.13, 8 * 0.7) << "no one has learned it since";
}

TEST(UnitTimes, NonsenseIsNotLearned) {
    UnitTimes times;
    for (double const seconds : {0.0, -1.0, std::numeric_limits<double>::infinity(), std::nan("")})
        times.learn(k_small, TrainerId(0), 100, seconds);
    times.learn(k_small, TrainerId(0), 0, 1);
    EXPECT_FALSE(times.knows_any());
}

}  // namespace unit_times_test
}  // namespace hopscotch
