// SPDX-License-Identifier: Apache-2.0
#include "strategy/common/placement.hpp"

#include <gtest/gtest.h>

namespace hopscotch {
namespace placement_test {

using Cores = std::vector<std::int32_t>;

TEST(Placement, SaysNothingWhenEachTrainerHasItsCores) {
    EXPECT_TRUE(seating_advice({{Rank(1), {"a", 4, {0}}}, {Rank(2), {"a", 4, {1}}}, {Rank(3), {"b", 4, {0}}}}, 1).empty());
    EXPECT_TRUE(seating_advice({{Rank(1), {"a", 4, {0, 1, 2, 3}}}, {Rank(2), {"a", 4, {0, 1, 2, 3}}}}, 2).empty());
    EXPECT_TRUE(seating_advice({{Rank(1), {"a", 4, {}}}}, 1).empty());  // not known
}

TEST(Placement, TellsOfTrainersBoundToOneCore) {
    auto const advice = seating_advice({{Rank(1), {"a", 8, {3}}}, {Rank(2), {"a", 8, {3}}}, {Rank(3), {"b", 8, {0}}}}, 1);
    ASSERT_EQ(advice.size(), 1u);
    EXPECT_EQ(
        advice[0],
        "a runs 2 trainer(s) of 1 thread(s) on 1 core(s) of its 8: the launcher has bound ranks 1, 2 to them, and they take "
        "turns; "
        "write `mpirun --bind-to none`, or `srun --cpus-per-task=1`");
}

TEST(Placement, TellsOfMoreTrainersThanCores) {
    Cores const both{0, 1};
    auto const advice = seating_advice({{Rank(1), {"a", 2, both}}, {Rank(2), {"a", 2, both}}, {Rank(3), {"a", 2, both}}}, 1);
    ASSERT_EQ(advice.size(), 1u);
    EXPECT_EQ(advice[0],
              "a runs 3 trainer(s) of 1 thread(s) on 2 core(s): they take turns; start no more than the host has cores for");
}

TEST(Placement, TellsOfFewerCoresThanThreads) {
    // Enough for both together, but one of them is bound to less than it needs.
    auto const advice = seating_advice({{Rank(1), {"a", 8, {0}}}, {Rank(2), {"a", 8, {1, 2, 3}}}}, 2);
    ASSERT_EQ(advice.size(), 1u);
    EXPECT_TRUE(advice[0].starts_with("rank(s) 1 may run on fewer cores than run.threads (2)")) << advice[0];
    EXPECT_NE(advice[0].find("slot:PE=2"), std::string::npos);
}

TEST(Placement, KnowsThisProcess) {
    EXPECT_FALSE(allowed_cores().empty());
    EXPECT_LE(allowed_cores().size(), static_cast<std::size_t>(online_cores()));
}

}  // namespace placement_test
}  // namespace hopscotch
