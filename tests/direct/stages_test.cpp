// SPDX-License-Identifier: Apache-2.0
// A run with rungs that gets more trials: a director that knows the earlier numbers decides as the earlier directors did, on
// any number of trainers, and goes on with the new trials.
#include <gtest/gtest.h>

#include <memory>

#include "search/search.hpp"
#include "simulated_job.hpp"

namespace hopscotch {
namespace stages_test {
namespace {

constexpr int k_shards = 4;
using Numbers = std::vector<std::int64_t>;

std::vector<std::string> const k_growing{R"("procedure": "asha")",
                                         R"("procedure": "asha", "eta": 2, "repeats": 2)",
                                         R"("procedure": "asha", "variant": "stop")",
                                         R"("procedure": "asha", "sampler": "tpe", "startup": 3)",
                                         R"("procedure": "hyperband")",
                                         R"("procedure": "bohb", "startup": 3, "eta": 2)",
                                         R"("procedure": "hyperband", "eta": 2, "folds": 2)",
                                         R"("procedure": "median", "min_trials": 2)"};

// numbers: of trials, one for each stage.
std::unique_ptr<Director> director_of(std::string const& keys, Numbers const& numbers, DecideBy by, bool stops) {
    Problems problems("f.json");
    auto const experiment = read_experiment(
        fmt::format(
            R"({{"data": {{"path": "d"}}, "model": {{"name": "mlp"}}, "run": {{"dir": "r"}}, "train": {{"epochs": 9{}}},
                         "search": {{{}, "trials": {}, "metric": "val_loss", "mode": "min"}},
                         "space": {{"model.cost": {{"type": "float", "low": 1, "high": 9}}}}}})",
            stops ? R"(, "early_stopping": {"patience": 2})" : "", keys, numbers.back()),
        {}, problems);
    EXPECT_EQ(problems.text(), "");
    SearchContext context;
    context.stages.assign(numbers.begin(), numbers.end() - 1);
    return make_director(experiment, make_search(experiment, context), {toy_cost, k_shards, 0, 1, by});
}

SimulatedJob::Bad some_fail(std::uint64_t seed) {
    return [seed](LapId const& lap) {
        bool const bad = Rng(stream_key(seed, Purpose::synthetic, {lap.trial.value, lap.epoch})).uniform() < 0.04;
        return bad ? Outcome::diverged : Outcome::finished;
    };
}

Numbers some_numbers(Rng& rng) {
    Numbers out{1 + rng.below(10)};
    for (auto more = 1 + rng.below(2); more > 0; --more) out.push_back(out.back() + 1 + rng.below(10));
    return out;
}

// What one job after the other did: each stage ends, or is killed, before the run gets more.
struct Grown {
    std::string outcome;
    std::vector<std::string> decisions;  // of the jobs, the first first
};

Grown grown_by_jobs(std::string const& keys, Numbers const& numbers, std::uint64_t seed, bool stops,
                    SimulatedJob::Bad const& bad) {
    Grown out;
    Rng rng(seed + 1000);
    std::unique_ptr<Director> director;
    std::unique_ptr<SimulatedJob> before;
    for (std::size_t stage = 1; stage <= numbers.size(); ++stage) {
        auto next = director_of(keys, {numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(stage)},
                                DecideBy::virtual_time, stops);
        auto job = std::make_unique<SimulatedJob>(*next, seed + stage, bad);
        if (before) job->feed(*before);
        bool const killed = stage < numbers.size() && rng.below(3) == 0;
        EXPECT_TRUE(job->run_in_any_order(killed ? rng.below(20) : SIZE_MAX)) << "hangs";
        before = std::move(job);
        director = std::move(next);
        out.decisions.push_back(before->decisions);
    }
    out.outcome = before->outcome();
    return out;
}

TEST(Stages, EveryDecisionStaysAndTheRestIsAFunctionOfTheNumbers) {
    for (auto const& keys : k_growing)
        for (std::uint64_t seed = 0; seed < 25; ++seed) {
            Rng rng(seed);
            auto const numbers = some_numbers(rng);
            SCOPED_TRACE(fmt::format("{} seed {}: {} trials, then {}", keys, seed, numbers.front(), numbers.back()));
            bool const stops = seed % 4 == 3;
            auto const bad = seed % 3 == 0 ? some_fail(seed) : SimulatedJob::Bad{};
            auto const grown = grown_by_jobs(keys, numbers, seed, stops, bad);
            for (auto const& earlier : grown.decisions) EXPECT_TRUE(grown.decisions.back().starts_with(earlier));
            for (int trainers = 1; trainers <= k_shards; ++trainers) {
                auto const director = director_of(keys, numbers, DecideBy::virtual_time, stops);
                SimulatedJob whole(*director, seed + 99, bad);
                ASSERT_TRUE(whole.run_on(k_shards, trainers, [](auto const&...) { return 1.0; }));
                EXPECT_EQ(whole.outcome(), grown.outcome) << trainers;
            }
        }
}

// A run of the first number alone, and what its director decides as the first stage of more.
TEST(Stages, OrdersOfUsersStay) {
    for (auto const& keys : k_growing)
        for (std::uint64_t seed = 0; seed < 25; ++seed)
            for (auto const by : {DecideBy::virtual_time, DecideBy::arrival}) {
                SCOPED_TRACE(fmt::format("{} seed {}", keys, seed));
                auto const small = director_of(keys, {9}, by, false), large = director_of(keys, {9, 18}, by, false);
                SimulatedJob before(*small, seed);
                before.orders = [&](LapId const& lap) {
                    Rng dice(stream_key(seed, Purpose::synthetic, {lap.trial.value, lap.epoch}));
                    auto const kind = dice.below(2) == 0 ? Order::Kind::stop : Order::Kind::resume;
                    TrialId const whom(dice.below(static_cast<std::uint32_t>(lap.trial.value) + 1));
                    if (dice.below(6) > 0) return std::vector<Order>{};
                    return std::vector<Order>{{kind, whom, -1, {}, "a user says so"}};
                };
                ASSERT_TRUE(before.run_in_any_order(3000));
                SimulatedJob after(*large, seed + 1);
                after.feed(before);
                EXPECT_TRUE(after.decisions.starts_with(before.decisions));
                ASSERT_TRUE(after.run_in_any_order(3000));
                EXPECT_TRUE(large->finished());
                EXPECT_GE(large->trials().size(), 18U);
                for (std::size_t i = 0; i < small->trials().size(); ++i)
                    EXPECT_EQ(text_of(small->trials()[i]), text_of(large->trials()[i]));
            }
}

TEST(Stages, NoneOpensAfterTheOrderToFinish) {
    auto const director = director_of(k_growing.front(), {9, 18}, DecideBy::virtual_time, false);
    SimulatedJob job(*director, 1);
    job.orders = [](LapId const& lap) {
        return lap.trial.value == 5 ? std::vector<Order>{{Order::Kind::finish, {}, -1, {}, "enough"}} : std::vector<Order>{};
    };
    ASSERT_TRUE(job.run_in_any_order());
    EXPECT_LE(director->trials().size(), 9U);
}

}  // namespace
}  // namespace stages_test
}  // namespace hopscotch
