// SPDX-License-Identifier: Apache-2.0
#include "direct/simulate_search.hpp"

#include <gtest/gtest.h>

#include "experiment/reader.hpp"
#include "schedule/policy.hpp"
#include "search/search.hpp"

namespace hopscotch {
namespace simulate_search_test {

std::optional<SearchSimulation> simulated(std::string const& search, int trainers, std::int64_t most_units = 2'000'000) {
    Problems problems("f.json");
    auto const experiment =
        read_experiment(R"({"data": {"path": "d"}, "model": {"name": "mlp"}, "run": {"dir": "r"}, "train": {"epochs": 27},
                            "space": {"train.optimizer.lr": {"type": "float", "low": 0.001, "high": 1}}, "search": )" +
                            search + "}",
                        {}, problems);
    EXPECT_EQ(problems.text(), "");
    DirectorOptions options;
    options.unit_cost = [](TrialView const&) { return 1.0; };
    options.shards = 8;
    auto const director = make_director(experiment, make_search(experiment), options);
    return simulate_search(policy_named("planned"), *director, make_owners(8, trainers, 100),
                           {.seed = 7, .most_units = most_units});
}

TEST(SimulateSearch, RungsThatWaitShow) {
    auto const halving = simulated(R"({"procedure": "successive_halving", "trials": 27})", 8);
    auto const asha = simulated(R"({"procedure": "asha", "trials": 200})", 8);
    ASSERT_TRUE(halving && asha);
    EXPECT_EQ(halving->laps, 27 + 9 * 2 + 3 * 6 + 18);
    EXPECT_LT(halving->busy, 0.6);
    EXPECT_GT(asha->busy, halving->busy + 0.2);
}

TEST(SimulateSearch, EveryProcedureComesToItsEnd) {
    for (std::string const search :
         {R"({"procedure": "hyperband"})", R"({"procedure": "bohb"})", R"({"procedure": "median", "trials": 20})",
          R"({"procedure": "tpe", "trials": 20})", R"({"procedure": "pbt", "population": 9})",
          R"({"procedure": "asha", "variant": "stop", "trials": 30, "metric": "train_loss", "repeats": 2})",
          R"({"procedure": "random", "trials": 9, "metric": "train_loss", "repeats": 5, "race": true})"})
        for (int trainers : {1, 3, 8}) {
            auto const found = simulated(search, trainers);
            ASSERT_TRUE(found) << search;
            EXPECT_GT(found->busy, trainers == 1 ? 0.99 : 0.3) << search << trainers;
            EXPECT_LE(found->busy, 1 + 1e-9);
            EXPECT_EQ(found->laps, simulated(search, 1)->laps) << "decisions do not depend on the trainers";
        }
    EXPECT_FALSE(simulated(R"({"procedure": "hyperband"})", 3, 800)) << "a hundred laps are not enough";
}

}  // namespace simulate_search_test
}  // namespace hopscotch
