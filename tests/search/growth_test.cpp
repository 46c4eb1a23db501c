// SPDX-License-Identifier: Apache-2.0
// Searches that get more trials: the first ones are searched to their end, then new ones start beside their results.
#include <gtest/gtest.h>

#include <cmath>

#include "fake_director.hpp"
#include "search/plan.hpp"

namespace hopscotch {
namespace growth_test {

using State = FakeDirector::State;

class GrowingDirector : public FakeDirector {
public:
    using FakeDirector::FakeDirector;

    // After run(): the next stage. Paused trials have ended.
    bool grow() {
        for (auto& trial : trials_)
            if (trial.state == State::paused) trial.state = State::stopped;
        was_finished_ = false;
        return search_.grow();
    }
};

std::string const k_unit = R"({"train.optimizer.lr": {"type": "float", "low": 0, "high": 1}})";

Experiment experiment_of(std::string const& search) { return search_experiment(search, k_unit, R"({"epochs": 9})"); }

SearchContext stages(std::vector<std::int64_t> numbers) {
    SearchContext out;
    out.stages = std::move(numbers);
    return out;
}

FakeDirector::Loss by_trial(std::vector<double> losses) {
    return [losses](TrialId id, auto const&, int) { return std::optional(losses.at(id.index())); };
}

std::vector<int> epochs_of(FakeDirector const& director) {
    std::vector<int> out;
    for (auto const& trial : director.trials()) out.push_back(trial.epochs);
    return out;
}

// Rungs after 1, 3 and 9 epochs. Of the first nine, 0 has gone to the end, and 1 and 2 to rung 1. One worker.
TEST(Growth, NewTrialsOfAshaCompeteWithTheOldResults) {
    auto const search = make_search(experiment_of(R"({"procedure": "asha", "min_epochs": 1, "trials": 15})"), stages({9}));
    GrowingDirector director(*search, 1, by_trial({1, 2, 3, 4, 5, 6, 7, 8, 9, 0.5, 4.5, 3.5, 1.5, 3.2, 9}), 1);
    ASSERT_TRUE(director.run());
    EXPECT_EQ(epochs_of(director), (std::vector{9, 3, 3, 1, 1, 1, 1, 1, 1}));
    auto const before = director.log().size();
    ASSERT_TRUE(director.grow());
    ASSERT_TRUE(director.run());
    std::vector<std::string> const grown(director.log().begin() + static_cast<std::ptrdiff_t>(before), director.log().end());
    // 9 is the first of 10 at rung 0, and of 4 at rung 1. 12 is the third of 13 at rung 0, and of 5 at rung 1.
    EXPECT_EQ(grown, (std::vector<std::string>{"new 9", "9 -> 3", "9 -> 9", "new 10", "new 11", "new 12", "12 -> 3",
                                               "new 13", "new 14"}));
    EXPECT_EQ(epochs_of(director), (std::vector{9, 3, 3, 1, 1, 1, 1, 1, 1, 9, 1, 1, 3, 1, 1}));
    EXPECT_EQ(director.trials()[10].why, "rung 0 (1 epoch): rank 6 of 11, 3 go on");
    EXPECT_EQ(director.trials()[10].state, State::stopped) << "five of 15 go on: it never will";
    EXPECT_EQ(director.trials()[11].why, "rung 0 (1 epoch): rank 5 of 12, 4 go on");
    EXPECT_FALSE(director.grow()) << "that was the last stage";
}

TEST(Growth, OldTrialsAreNeverPromotedAgain) {
    auto const search = make_search(experiment_of(R"({"procedure": "asha", "min_epochs": 1, "trials": 27})"), stages({9}));
    std::vector<double> losses{1, 2, 3, 4, 5, 6, 7, 8, 9};
    for (int i = 0; i < 18; ++i) losses.push_back(10 + i);
    GrowingDirector director(*search, 1, by_trial(losses), 1);
    ASSERT_TRUE(director.run());
    auto const before = epochs_of(director);
    ASSERT_TRUE(director.grow());
    ASSERT_TRUE(director.run());
    auto after = epochs_of(director);
    for (std::size_t i = 9; i < 27; ++i) EXPECT_EQ(after[i], 1) << "nine of 27 go on, and the old nine are better";
    after.resize(9);
    EXPECT_EQ(after, before);
}

TEST(Growth, TheStoppingVariantComparesWithTheOldResults) {
    auto const search =
        make_search(experiment_of(R"({"procedure": "asha", "min_epochs": 1, "variant": "stop", "trials": 6})"), stages({4}));
    GrowingDirector director(*search, 1, by_trial({4, 3, 2, 1, 2.5, 0.5}), 1);
    ASSERT_TRUE(director.run());
    ASSERT_TRUE(director.grow());
    ASSERT_TRUE(director.run());
    EXPECT_EQ(epochs_of(director), (std::vector{9, 9, 9, 9, 1, 9}));
    EXPECT_EQ(director.trials()[4].why, "rung 0 (1 epoch): rank 3 of 5, 1 goes on");
}

// Brackets of 9, 5 and 3. The first stage ends in the second bracket, and cuts it short.
TEST(Growth, NewTrialsOfHyperbandOpenFurtherBrackets) {
    auto const experiment = experiment_of(R"({"procedure": "hyperband", "trials": 18})");
    auto const search = make_search(experiment, stages({11, 16}));
    GrowingDirector director(*search, 3, [](TrialId id, auto const&, int) { return std::optional<double>(id.value); }, 1);
    ASSERT_TRUE(director.run());
    EXPECT_EQ(director.trials().size(), 11U);
    EXPECT_EQ(director.count_at(9), 1U + 1);
    ASSERT_TRUE(director.grow());
    ASSERT_TRUE(director.run());
    EXPECT_EQ(director.trials().size(), 16U);
    EXPECT_EQ(director.count_at(9), 2U + 3 + 1) << "a third bracket of 3, and 2 of a fourth of 9";
    ASSERT_TRUE(director.grow());
    ASSERT_TRUE(director.run());
    EXPECT_EQ(director.trials().size(), 18U);
    EXPECT_EQ(director.count_at(9), 6U + 1) << "a fifth bracket, not more of the fourth";
    std::int64_t epochs = 0;
    for (auto const each : epochs_of(director)) epochs += each;
    EXPECT_EQ(epochs, plan_of(experiment, stages({11, 16})).epochs);
}

std::vector<std::string> const k_growing{R"("procedure": "asha")",
                                         R"("procedure": "asha", "eta": 2, "repeats": 2)",
                                         R"("procedure": "asha", "variant": "stop", "folds": 2)",
                                         R"("procedure": "asha", "sampler": "tpe", "startup": 4)",
                                         R"("procedure": "hyperband")",
                                         R"("procedure": "hyperband", "eta": 2, "repeats": 2)",
                                         R"("procedure": "bohb", "startup": 4)",
                                         R"("procedure": "median", "min_trials": 2)"};

std::optional<double> some_loss(TrialId id, FakeDirector::Trial const&, int epochs) {
    double const loss = Rng(stream_key(7, Purpose::synthetic, {id.value, epochs})).uniform();
    return loss < 0.04 ? std::nullopt : std::optional(loss);
}

// In one or several steps: the first trials are those of a search of this many, to their end.
TEST(Growth, TheFirstTrialsAreThoseOfASmallSearch) {
    for (auto const& keys : k_growing)
        for (std::uint64_t seed = 0; seed < 12; ++seed) {
            Rng rng(seed);
            std::vector<std::int64_t> numbers;
            for (auto n = static_cast<std::int64_t>(rng.below(12)) + 1; numbers.size() < 2 + seed % 3;
                 n += 1 + rng.below(12))
                numbers.push_back(n);
            auto const all = experiment_of(fmt::format("{{{}, \"trials\": {}}}", keys, numbers.back()));
            auto const before = std::vector(numbers.begin(), numbers.end() - 1);
            auto const search = make_search(all, stages(before));
            GrowingDirector grown(*search, 1 + seed % 5, some_loss, seed);
            ASSERT_TRUE(grown.run());
            auto const small = make_search(experiment_of(fmt::format("{{{}, \"trials\": {}}}", keys, numbers.front())));
            GrowingDirector first(*small, 1 + seed % 5, some_loss, seed);
            ASSERT_TRUE(first.run());
            EXPECT_EQ(grown.log(), first.log()) << keys << seed;
            for (std::size_t i = 1; i < numbers.size(); ++i) {
                auto const old = epochs_of(grown);
                ASSERT_TRUE(grown.grow());
                ASSERT_TRUE(grown.run());
                auto now = epochs_of(grown);
                EXPECT_EQ(std::ssize(now), numbers[i] * all.search.copies.count()) << keys << seed;
                now.resize(old.size());
                EXPECT_EQ(now, old) << keys << seed;
            }
            std::int64_t epochs = 0;
            for (auto const each : epochs_of(grown)) epochs += each;
            EXPECT_LE(epochs, plan_of(all, stages(before)).most) << keys << seed;
            EXPECT_FALSE(grown.grow());
        }
}

TEST(Growth, ASpaceThatIsUsedUpHasNoMore) {
    auto const experiment = search_experiment(R"({"procedure": "asha", "trials": 9})",
                                              R"({"train.batch_size": [1, 2, 3, 4]})", R"({"epochs": 9})");
    auto const search = make_search(experiment, stages({3}));
    GrowingDirector director(*search, 2, [](TrialId id, auto const&, int) { return std::optional<double>(id.value); }, 1);
    ASSERT_TRUE(director.run());
    ASSERT_TRUE(director.grow());
    ASSERT_TRUE(director.run());
    EXPECT_EQ(director.trials().size(), 4U);
}

}  // namespace growth_test
}  // namespace hopscotch
