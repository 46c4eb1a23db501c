// SPDX-License-Identifier: Apache-2.0
// Whose random numbers a trial has (train.seed_scope). Trials t and t + S visit the S shards in the same order, so with the
// same configuration they differ in nothing but their random numbers.
#include <set>

#include "alone.hpp"
#include "experiment/strategy_traits.hpp"

namespace hopscotch {
namespace seed_scope_test {

using namespace testing;

constexpr int k_shards = 2;

// Trials 0, 2 and 4 alike, of repeats 0, 1 and 0; between them others that only make them come 2 apart.
std::vector<Assignment> trials() {
    std::vector<Assignment> out;
    for (int t = 0; t < 5; ++t) out.push_back({{"train.optimizer.lr", 0.05}, {"search.repeat", t / 2 % 2}});
    return out;
}

// The hashes of a trial's units and laps.
std::vector<std::uint64_t> hashes(JobResult const& result, int trial) {
    std::vector<std::uint64_t> out;
    for (int epoch = 0; epoch < k_epochs; ++epoch) {
        auto const& record = result.laps.at({TrialId(trial), epoch});
        EXPECT_EQ(record.outcome, Outcome::finished) << record.reason;
        for (auto const& unit : record.units) out.push_back(unit.state_hash);
        out.push_back(record.state.hash);
    }
    return out;
}

void check(World& world, std::string const& strategy, std::string const& scope) {
    if (world.rank() != Rank(0)) {
        trainer_main(world, k_test_build);
        return barrier(world);
    }
    TemporaryDirectory const directory;
    make_tiny_dataset(directory.path() / "data", k_shards, 30);
    auto described = document((directory.path() / "data").string(), 7, strategy);
    described["model"]["dropout"] = Json(0.2);
    described["train"]["seed_scope"] = Json(scope);
    auto const result = run_as_scheduler(world, read_document(described), k_shards, trials());
    auto const first = hashes(result, 0), other_repeat = hashes(result, 2), same_repeat = hashes(result, 4);
    EXPECT_NE(first, other_repeat) << strategy << " " << scope;
    EXPECT_EQ(first == same_repeat, scope == "experiment") << strategy << " " << scope;
    EXPECT_NE(first.front(), same_repeat.back());
    barrier(world);
}

TEST(SeedScope, TrialsOfTheSameRepeatHaveTheSameRandomNumbersOrNot) {
    for (auto const& strategy : strategy_names())
        for (auto const* scope : {"trial", "experiment"})
            on_every_rank(3, [&](World& world) { check(world, strategy, scope); });
}

}  // namespace seed_scope_test
}  // namespace hopscotch
