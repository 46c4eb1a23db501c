// SPDX-License-Identifier: Apache-2.0
// Every experiment in configs/ is read without a complaint.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "experiment/reader.hpp"
#include "experiment/space.hpp"

namespace hopscotch {
namespace configs_test {

Experiment read(std::string const& name) {
    std::ifstream file(std::filesystem::path(HOPSCOTCH_SOURCE_DIR) / "configs" / name);
    EXPECT_TRUE(file) << name;
    std::string const text{std::istreambuf_iterator<char>(file), {}};
    Problems problems(name);
    auto out = read_experiment(text, {}, problems);
    EXPECT_EQ(problems.text(), "");
    return out;
}

TEST(Configs, AllAreRead) {
    int files = 0;
    for (auto const& entry : std::filesystem::directory_iterator(std::filesystem::path(HOPSCOTCH_SOURCE_DIR) / "configs"))
        if (entry.path().extension() == ".json") {
            read(entry.path().filename().string());
            ++files;
        }
    EXPECT_GE(files, 4);
}

TEST(Configs, Grid) {
    auto const e = read("digits-grid.json");
    EXPECT_EQ(e.space.object().size(), 2U);
    EXPECT_EQ(e.train.epochs, 10);
    EXPECT_EQ(e.train.schedule.warmup_epochs, 1);
    EXPECT_EQ(e.strategy.name, "mop");
}

TEST(Configs, Random) {
    auto const e = read("digits-random.json");
    EXPECT_EQ(e.search.trials, 12);
    Problems problems("x");
    auto const space = read_space(e, problems);
    EXPECT_EQ(space.parameters[2].when.size(), 1U);
}

TEST(Configs, Synthetic) {
    auto const e = read("synthetic.json");
    EXPECT_EQ(e.model.name, "synthetic");
    EXPECT_EQ(e.model.arguments.at("parameters").integer(), 2'500'000);
    EXPECT_EQ(e.space.at("train.optimizer.lr").array().size(), 8U);
}

}  // namespace configs_test
}  // namespace hopscotch
