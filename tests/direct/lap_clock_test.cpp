// SPDX-License-Identifier: Apache-2.0
// The clocks of decisions, and the states that clones may still need.
#include "direct/lap_clock.hpp"

#include <gtest/gtest.h>

#include "direct/pins.hpp"

namespace hopscotch {
namespace lap_clock_test {

LapId lap(int trial, int epoch = 0) { return {TrialId(trial), epoch}; }
double one(LapId const&, int step) { return step == 2 ? 0 : 1; }

TEST(LapClock, ReportsAreDueALookaheadAfterTheEndInItsOrder) {
    auto const clock = make_virtual_clock(2, 1.5, one);
    clock->start({lap(0), 0, 1});
    clock->start({lap(1), 0, 1});
    EXPECT_TRUE(clock->step()->empty());  // at 1
    EXPECT_EQ(*clock->step(), (std::vector{lap(0), lap(1)}));
    EXPECT_EQ(clock->now(), 2);
    EXPECT_FALSE(clock->due());
    EXPECT_TRUE(clock->step()->empty());
    EXPECT_EQ(clock->now(), 5);  // 2 + 1.5 x 2
    EXPECT_EQ(clock->due(), lap(0));
    clock->pop();
    EXPECT_EQ(clock->due(), lap(1));
    clock->forget(TrialId(1));
    EXPECT_FALSE(clock->due());
    EXPECT_FALSE(clock->step());
}

TEST(LapClock, ByArrivalALapEndsWithItsRecord) {
    auto const clock = make_arrival_clock();
    clock->start({lap(0), 0, 1});
    EXPECT_FALSE(clock->step());
    clock->arrived(lap(0));
    EXPECT_EQ(*clock->step(), std::vector{lap(0)});
    EXPECT_EQ(clock->due(), lap(0));
    clock->pop();
    EXPECT_FALSE(clock->due());
    EXPECT_FALSE(clock->step());
}

TEST(Pins, AStateIsFreeWhenTheNextLapIsReportedAndEveryCloneHasTrained) {
    Pins pins;
    pins.reported(lap(0, 0));
    EXPECT_TRUE(pins.take().empty());
    pins.hold(lap(0, 0));
    pins.hold(lap(0, 0));
    pins.reported(lap(0, 1));
    pins.release(lap(0, 0));
    EXPECT_TRUE(pins.take().empty());
    pins.release(lap(0, 0));
    EXPECT_EQ(pins.take(), std::vector{lap(0, 0)});
    pins.hold(lap(0, 1));
    pins.release(lap(0, 1));  // before the next report: it can still be asked for
    EXPECT_TRUE(pins.take().empty());
    pins.reported(lap(0, 2));
    EXPECT_EQ(pins.take(), std::vector{lap(0, 1)});
}

}  // namespace lap_clock_test
}  // namespace hopscotch
