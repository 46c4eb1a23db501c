// SPDX-License-Identifier: Apache-2.0
#include "core/unit_parts.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "core/clock.hpp"

namespace hopscotch {
namespace unit_parts_test {

void last(double seconds) {
    for (auto const start = monotonic_s(); monotonic_s() - start < seconds;) {
    }
}

std::vector<UnitPart> taken() {
    std::vector<UnitPart> out;
    for (auto const& time : take_part_times()) out.push_back(time.part);
    return out;
}

TEST(UnitParts, AreTakenOnceInTheOrderInWhichTheyEnd) {
    auto const before = unix_s();
    {
        PartTimer const outer(UnitPart::bind);
        last(PartTimer::k_least_s);
        PartTimer const inner(UnitPart::hash);
        last(2 * PartTimer::k_least_s);
    }
    auto const times = take_part_times();
    ASSERT_EQ(times.size(), 2U);
    EXPECT_EQ(times[0].part, UnitPart::hash);
    EXPECT_EQ(times[1].part, UnitPart::bind);
    EXPECT_GE(times[0].seconds, 2 * PartTimer::k_least_s);
    EXPECT_GE(times[1].seconds, times[0].seconds);
    EXPECT_GE(times[1].start_unix_s, before);
    EXPECT_LE(times[1].start_unix_s, times[0].start_unix_s);
    EXPECT_TRUE(take_part_times().empty());
}

TEST(UnitParts, AreOfTheThreadThatDoesThem) {
    std::vector<UnitPart> there;
    std::thread([&] {
        {
            PartTimer const timing(UnitPart::finite);
            last(2 * PartTimer::k_least_s);
        }
        there = taken();
    }).join();
    EXPECT_EQ(there, std::vector{UnitPart::finite});
    EXPECT_TRUE(taken().empty());
}

TEST(UnitParts, AreNotedWithoutAnEndOfMemory) {
    for (std::size_t i = 0; i < PartTimer::k_most + 5; ++i) {
        PartTimer const timing(UnitPart::fetch);
        last(1.1 * PartTimer::k_least_s);
    }
    EXPECT_EQ(taken().size(), PartTimer::k_most);
}

TEST(UnitParts, TravelAsNumbers) {
    auto const found = unpacked(packed({{UnitPart::plan, 1.5, 0.5}, {UnitPart::wait, 2, 0.25}}));
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].part, UnitPart::plan);
    EXPECT_EQ(found[1].part, UnitPart::wait);
    EXPECT_EQ(found[1].start_unix_s, 2);
    EXPECT_EQ(found[1].seconds, 0.25);
    EXPECT_EQ(name_of(unpacked({-7, 1, 2}).at(0).part), "part");
    EXPECT_TRUE(unpacked({1, 2}).empty());
}

TEST(UnitParts, HaveNames) {
    EXPECT_EQ(name_of(UnitPart::compare), "compare");
    EXPECT_EQ(name_of(static_cast<UnitPart>(200)), "part");
}

}  // namespace unit_parts_test
}  // namespace hopscotch
