// SPDX-License-Identifier: Apache-2.0
// The table of strategies: every row is complete, and an unknown name is an error that lists the known ones.
#include "experiment/strategy_traits.hpp"

#include <gtest/gtest.h>

#include <set>

#include "core/error.hpp"
#include "core/json_reader.hpp"
#include "documents.hpp"
#include "experiment/sections.hpp"

namespace hopscotch {
namespace strategy_traits_test {
namespace {

TEST(StrategyTraits, EveryRowIsComplete) {
    std::set<std::string_view> names;
    for (auto const& row : strategy_traits()) {
        EXPECT_TRUE(names.insert(row.name).second) << row.name;
        EXPECT_FALSE(row.summary.empty()) << row.name;
        bool const has_word =
            row.traffic == StrategyTraits::Traffic::gradients || row.traffic == StrategyTraits::Traffic::rows;
        EXPECT_EQ(row.traffic_word.empty(), !has_word) << row.name;
        EXPECT_TRUE(row.training != Training::together || has_setting(row.name, "batch")) << row.name;
        for (auto const& setting : row.settings)
            EXPECT_TRUE(setting.shown == StrategySetting::Shown::if_given || !setting.fallback.empty()) << setting.key;
    }
}

TEST(StrategyTraits, UnknownNamesAreErrors) {
    EXPECT_EQ(strategy_traits("mop").training, Training::hopping);
    try {
        strategy_traits("mob");
        FAIL();
    } catch (ConfigError const& error) {
        EXPECT_EQ(error.what(), "strategy \"mob\" is unknown (known: " + listed(strategy_names()) + ")");
    }
    EXPECT_THROW(has_setting("mob", "batch"), ConfigError);
}

// The fallback that a table of runs shows is the value that the reader takes.
TEST(StrategyTraits, FallbacksAreTheReadersDefaults) {
    for (auto const& row : strategy_traits()) {
        std::string given = R"({"name": ")" + std::string(row.name) + "\"";
        for (auto const& setting : row.settings)
            if (!setting.fallback.empty())
                given += ", \"" + std::string(setting.key) + "\": \"" + std::string(setting.fallback) + "\"";
        Problems problems("e.json");
        auto const bare = Json::object({{"name", std::string(row.name)}});
        auto const full = parse_json_or_throw(given + "}", "e.json");
        auto const a = read_strategy(ObjectReader(bare, "/strategy", problems));
        auto const b = read_strategy(ObjectReader(full, "/strategy", problems));
        EXPECT_EQ(problems.text(), "");
        EXPECT_EQ(std::tuple(a.policy, a.batch, a.batch_norm, a.reduce.algorithm, a.reduce.collectives, a.server.mode,
                             a.server.placement),
                  std::tuple(b.policy, b.batch, b.batch_norm, b.reduce.algorithm, b.reduce.collectives, b.server.mode,
                             b.server.placement))
            << given;
        EXPECT_EQ(std::tuple(a.averaging.every, a.averaging.momentum, a.averaging.via, a.data, a.visits),
                  std::tuple(b.averaging.every, b.averaging.momentum, b.averaging.via, b.data, b.visits))
            << given;
    }
}

}  // namespace
}  // namespace strategy_traits_test
}  // namespace hopscotch
