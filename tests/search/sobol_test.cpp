// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>

#include "fake_director.hpp"
#include "search/draw.hpp"
#include "search/sobol.hpp"

namespace hopscotch {
namespace sobol_test {

// scipy.stats.qmc.Sobol(21, scramble=False, bits=32), which counts in Gray code.
TEST(Sobol, PointsOfScipy) {
    auto const point = [](std::uint32_t index) {
        std::array<std::uint32_t, k_sobol_dimensions> out{};
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = sobol_point(index ^ index >> 1U, i);
        return out;
    };
    EXPECT_EQ(point(0), (std::array<std::uint32_t, 21>{}));
    std::array<std::uint32_t, 21> halves{};
    halves.fill(2147483648U);
    EXPECT_EQ(point(1), halves);
    EXPECT_EQ(point(5), (std::array<std::uint32_t, 21>{
                            3758096384U, 3758096384U, 536870912U,  1610612736U, 3758096384U, 2684354560U, 3758096384U,
                            1610612736U, 1610612736U, 536870912U,  1610612736U, 3758096384U, 3758096384U, 536870912U,
                            3758096384U, 1610612736U, 3758096384U, 1610612736U, 1610612736U, 2684354560U, 2684354560U}));
    EXPECT_EQ(point(777), (std::array<std::uint32_t, 21>{
                              2973761536U, 4022337536U, 700448768U,  1178599424U, 2730491904U, 1530920960U, 817889280U,
                              3275751424U, 1497366528U, 1388314624U, 3200253952U, 2990538752U, 1648361472U, 2034237440U,
                              2445279232U, 2210398208U, 1732247552U, 3711959040U, 1589641216U, 3233808384U, 1019215872U}));
}

// Of 2^k points each of 2^k equal intervals has one, in every dimension, scrambled or not.
TEST(Sobol, ScramblingKeepsItEven) {
    for (std::uint32_t key : {0U, 1U, 0x9e3779b9U})
        for (std::size_t dimension = 0; dimension < k_sobol_dimensions; ++dimension) {
            std::set<std::uint32_t> intervals;
            for (std::uint32_t i = 0; i < 256; ++i) intervals.insert(owen_scrambled(sobol_point(i, dimension), key) >> 24);
            EXPECT_EQ(intervals.size(), 256U);
        }
    EXPECT_NE(owen_scrambled(sobol_point(3, 1), 1), owen_scrambled(sobol_point(3, 1), 2));
}

std::vector<Assignment> tried(std::string const& search, std::string const& space, std::string const& seed = "1") {
    auto const made = make_search(search_experiment(search, space, "{}", seed));
    std::vector<Assignment> out;
    while (auto const next = made->next()) out.push_back(next->assignment);
    return out;
}

TEST(Sobol, FillsEverySlice) {
    std::string const space =
        R"({"train.optimizer.lr": {"type": "float", "low": 0, "high": 16}, "train.batch_size": [1, 2, 4, 8],
            "train.optimizer.weight_decay": {"type": "float", "low": 1e-8, "high": 1, "log": true}, "train.accumulate": 2})";
    auto const all = tried(R"({"procedure": "sobol", "trials": 64})", space);
    ASSERT_EQ(all.size(), 64U);
    std::map<int, int> lr, batch, decay;
    std::map<std::pair<int, int>, int> both;
    for (auto const& each : all) {
        ++lr[static_cast<int>(each[0].second.number())];
        ++batch[static_cast<int>(each[1].second.integer())];
        ++decay[static_cast<int>(std::floor(std::log10(each[2].second.number())))];
        ++both[{static_cast<int>(each[0].second.number() / 4), static_cast<int>(each[1].second.integer())}];
        EXPECT_EQ(each[3].second.integer(), 2);
    }
    for (auto const& [value, count] : lr) EXPECT_EQ(count, 4) << value;
    for (auto const& [value, count] : batch) EXPECT_EQ(count, 16) << value;
    for (auto const& [value, count] : decay) EXPECT_EQ(count, 8) << value;
    for (auto const& [value, count] : both) EXPECT_EQ(count, 4);
    EXPECT_NE(to_json(all[0]).dump(), to_json(tried(R"({"procedure": "sobol", "trials": 1})", space, "2")[0]).dump());
}

TEST(Sobol, TriesAllOfAFiniteSpaceOnce) {
    std::set<std::string> texts;
    auto const all =
        tried(R"({"procedure": "sobol", "trials": 99, "start_with": [{"train.batch_size": 4, "train.accumulate": 3}]})",
              R"({"train.batch_size": [1, 2, 4, 8, 16], "train.accumulate": {"type": "int", "low": 1, "high": 5}})");
    for (auto const& each : all) texts.insert(to_json(each).dump());
    EXPECT_EQ(all.size(), 25U);
    EXPECT_EQ(texts.size(), 25U);
    EXPECT_EQ(to_json(all[0]).dump(), R"({"train.batch_size":4,"train.accumulate":3})");
}

}  // namespace sobol_test
}  // namespace hopscotch
