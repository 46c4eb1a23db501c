// SPDX-License-Identifier: Apache-2.0
// Sequential equivalence: after any strategy, with any number of trainers, on threads or processes, a trial has bit for bit
// the state of one process that trains it alone over the same visit order.
#include "alone.hpp"

namespace hopscotch {
namespace equivalence_test {

using namespace testing;

// {sgd, momentum, nesterov, adam, adamw} x {mlp, mlp by the lean step, lenet with dropout}
std::vector<Assignment> all_trials() {
    std::vector<Json> const optimizers = {
        Json::object({{"name", "sgd"}, {"lr", 0.05}, {"weight_decay", 0.01}}),
        Json::object({{"name", "sgd"}, {"lr", 0.05}, {"momentum", 0.9}}),
        Json::object({{"name", "sgd"}, {"lr", 0.05}, {"momentum", 0.9}, {"nesterov", true}}),
        Json::object({{"name", "adam"}, {"lr", 0.003}, {"weight_decay", 0.01}}),
        Json::object({{"name", "adamw"}, {"lr", 0.003}, {"weight_decay", 0.01}}),
    };
    std::vector<Json> const models = {
        Json::object({{"name", "mlp"}, {"hidden", std::vector<int>{9, 5}}}),
        Json::object({{"name", "lenet"}, {"dropout", 0.3}}),
    };
    std::vector<Assignment> trials;
    for (auto const& model : models)
        for (auto const& optimizer : optimizers) trials.push_back({{"model", model}, {"train.optimizer", optimizer}});
    for (auto const& optimizer : optimizers)
        trials.push_back({{"model", models[0]}, {"train.optimizer", optimizer}, {"train.engine", "lean"}});
    return trials;
}

void run_case(World& world, int shards, int batch_size, std::string const& strategy) {
    if (world.rank() != Rank(0)) {
        trainer_main(world, k_test_build);
        return barrier(world);
    }
    TemporaryDirectory const directory;
    auto const data = make_tiny_dataset(directory.path() / "data", shards, 30);
    auto const experiment = read_document(document(data.string(), batch_size, strategy));
    auto const trials = all_trials();
    auto const job = run_as_scheduler(world, experiment, shards, trials);
    SCOPED_TRACE(strategy + ", " + std::to_string(world.size() - 1) + " trainers, " + std::to_string(shards) +
                 " shards, batch " + std::to_string(batch_size));
    expect_equal(job, experiment, trials, shards);
    barrier(world);
}

class Equivalence : public ::testing::TestWithParam<int> {};

TEST_P(Equivalence, MopEqualsOneProcessAlone) {
    for (int const trainers : {1, 2, 3, 4}) {
        for (int const batch_size : {7, 64}) {
            if (!long_suite() && batch_size != (trainers % 2 == 1 ? 7 : 64)) continue;
            on_every_rank(trainers + 1, [&](World& world) { run_case(world, GetParam(), batch_size, "mop"); });
        }
        if (mpi_world()) break;  // the number of trainers is mpirun's
    }
}

INSTANTIATE_TEST_SUITE_P(Shards, Equivalence, ::testing::Values(1, 3, 4, 8));

// The trainer's queue goes by the work that is left, counted in units. Of two trials with costs of 2 and 1, the long one has
// its first lap for itself, and then both end together. Counted in laps, the short one would train its second lap alone at
// the end. The trainer is slow, so the laps are there in time.
TEST(Queue, GoesByUnitsLeft) {
    if (mpi_world()) return;  // a queue sees no difference between threads and processes
    constexpr int k_shards = 8;
    std::vector<std::pair<double, int>> order;  // start, trial
    on_every_rank(2, [&](World& world) {
        if (world.rank() != Rank(0)) {
            trainer_main(world, k_test_build);
            return barrier(world);
        }
        TemporaryDirectory const directory;
        auto described = document(make_tiny_dataset(directory.path() / "data", k_shards, 30).string(), 7, "mop");
        described.set("run.inject", Json(Json::Array{"slow:rank=1,factor=10"}));
        std::vector<Assignment> const trials{{{"train.optimizer.lr", 0.05}}, {{"train.optimizer.lr", 0.02}}};
        auto const job = run_as_scheduler(world, read_document(described), k_shards, trials);
        for (auto const& [key, lap] : job.laps)
            for (auto const& unit : lap.units) order.emplace_back(unit.start_unix_s, key.trial.value);
        barrier(world);
    });
    std::ranges::sort(order);
    ASSERT_EQ(order.size(), 4U * k_shards);
    auto const last = std::span(order).last(k_shards / 2);
    EXPECT_TRUE(std::ranges::any_of(last, [](auto const& unit) { return unit.second == 0; }));
    EXPECT_TRUE(std::ranges::any_of(last, [](auto const& unit) { return unit.second == 1; }));
}

// A slow trainer, owners by speed, and shards that two or three trainers hold: who trains a unit changes no bit. With as
// many shards as here some trainer would hold no whole shard.
TEST(Owners, BySpeedAndWithReplicasEqualOneProcessAlone) {
    for (int const shards : {2, 5}) {
        on_every_rank(4, [shards](World& world) {
            if (world.rank() != Rank(0)) {
                trainer_main(world, k_test_build);
                return barrier(world);
            }
            TemporaryDirectory const directory;
            auto described = document(make_tiny_dataset(directory.path() / "data", shards, 30).string(), 7, "mop");
            described.set("run.inject", Json(Json::Array{"slow:rank=2,factor=3"}));
            auto const experiment = read_document(described);
            auto const trials = all_trials();
            auto const job = run_as_scheduler(world, experiment, shards, trials);
            bool const alone = world.size() == 2;  // one trainer holds everything
            EXPECT_TRUE(alone || job.owners.replicas() > 0);
            std::map<ShardId, std::set<TrainerId>> trained_by;
            for (auto const& [key, lap] : job.laps)
                for (auto const& unit : lap.units) trained_by[unit.shard].insert(unit.trainer);
            std::size_t most = 0;
            for (auto const& [shard, by] : trained_by) most = std::max(most, by.size());
            EXPECT_TRUE(alone || most >= 2) << "no shard was trained on by two trainers";
            expect_equal(job, experiment, trials, shards);
            barrier(world);
        });
    }
}

// run.inject's delay: a state that came over the network waits before its unit; bits and hops stay.
TEST(Inject, HopsAreHeldBack) {
    constexpr double delay_s = 0.01;
    on_every_rank(4, [](World& world) {
        if (world.rank() != Rank(0)) {
            trainer_main(world, k_test_build);
            return barrier(world);
        }
        TemporaryDirectory const directory;
        auto described = document(make_tiny_dataset(directory.path() / "data", 3, 30).string(), 7, "mop");
        described.set("run.inject", Json(Json::Array{"delay:sync_s=0.01"}));
        auto const experiment = read_document(described);
        std::vector<Assignment> const trials{{{"train.optimizer.lr", 0.05}}, {{"train.optimizer.lr", 0.02}}};
        auto const job = run_as_scheduler(world, experiment, 3, trials);
        expect_equal(job, experiment, trials, 3);
        for (auto const& [key, lap] : job.laps) {
            for (std::size_t u = 1; u < lap.units.size(); ++u) {
                auto const& before = lap.units[u - 1];
                if (before.trainer == lap.units[u].trainer) continue;
                EXPECT_GE(lap.units[u].start_unix_s - before.start_unix_s, before.seconds + 0.9 * delay_s);
            }
        }
        barrier(world);
    });
}

TEST(Sequential, SequentialEqualsOneProcessAlone) {
    on_every_rank(3, [](World& world) { run_case(world, 3, 7, "sequential"); });
}

}  // namespace equivalence_test
}  // namespace hopscotch
