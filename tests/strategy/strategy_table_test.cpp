// SPDX-License-Identifier: Apache-2.0
// The table of makers has the strategies of experiment/strategy_traits.hpp, and each row is complete.
#include "strategy/strategy_table.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"
#include "experiment/strategy_traits.hpp"

namespace hopscotch {
namespace strategy_table_test {
namespace {

TEST(StrategyTable, HasTheStrategiesOfTheExperiment) {
    std::vector<std::string> names;
    for (auto const& entry : strategies()) {
        names.emplace_back(entry.name);
        EXPECT_TRUE(entry.make_dispatcher != nullptr && entry.make_worker != nullptr) << entry.name;
        EXPECT_EQ(strategy_named(entry.name).name, entry.name);
    }
    EXPECT_EQ(names, strategy_names());
    EXPECT_THROW(strategy_named("mob"), ConfigError);
}

}  // namespace
}  // namespace strategy_table_test
}  // namespace hopscotch
