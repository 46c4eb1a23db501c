// SPDX-License-Identifier: Apache-2.0
#include "strategy/trainer/cpu_watch.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace hopscotch {
namespace cpu_watch_test {

TEST(CpuWatch, MeasuresAtMostOneUnitInAMillisecond) {
    CpuWatch watch("cpu");
    EXPECT_TRUE(watch.begin(100));
    EXPECT_FALSE(watch.begin(100.0005));
    EXPECT_FALSE(watch.begin(100.0009));
    EXPECT_TRUE(watch.begin(100.0011));
    EXPECT_FALSE(watch.begin(100.002)) << "counted from the unit that was measured";
    EXPECT_TRUE(watch.begin(107));
}

TEST(CpuWatch, OnAGpuNothingIsMeasured) {
    CpuWatch watch("cuda:0");
    EXPECT_FALSE(watch.begin(100));
    EXPECT_EQ(CpuWatch::since(watch.begin(200)), -1);
}

// The work of another thread does not count, the thread's own does.
TEST(CpuWatch, CountsTheWorkOfItsThread) {
    auto const work = [] {
        CpuWatch watch("cpu");
        auto const begun = watch.begin();
        while (CpuWatch::since(begun) < 0.02) {
        }
        return CpuWatch::since(begun);
    };
    CpuWatch watch("cpu");
    auto const begun = watch.begin();
    double others = 0;
    std::thread([&] { others = work(); }).join();
    EXPECT_GE(others, 0.02);
    EXPECT_LT(CpuWatch::since(begun), 0.02);
    work();
    EXPECT_GE(CpuWatch::since(begun), 0.02);
}

}  // namespace cpu_watch_test
}  // namespace hopscotch
