// SPDX-License-Identifier: Apache-2.0
// The closed forms against published numbers, against each other, and against schedules found by trying all of them.
#include "analysis/cost/cost_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/error.hpp"

namespace hopscotch {
namespace cost_model_test {

constexpr std::int64_t k_mb = 1'000'000, k_gb = 1'000'000'000, k_tb = 1'000 * k_gb, k_pb = 1'000 * k_tb;

// Cerebro's technical report, Table 2: k = 20 epochs, 20 models of 1 GB, 10 workers, 1 TB, 100 000 batches an epoch on one
// worker. Its masters, servers and data stand outside the workers, and every method also moves each trained model once (m
// |S|).
TEST(Bytes, OfCerebrosTable) {
    constexpr std::int64_t epochs = 20, models = 20, results = models * k_gb;
    constexpr int workers = 10;
    constexpr std::int64_t steps = epochs * models * (100'000 / workers);
    auto const hops = mop_hops(models, epochs, workers, ReturnHome::every_epoch);
    EXPECT_EQ(hop_bytes(hops, k_gb), 4 * k_tb);
    EXPECT_EQ(hop_bytes(hops, k_gb) + results, 4'020 * k_gb);
    EXPECT_EQ(replication_bytes(k_tb, workers, DataAt::elsewhere), 10 * k_tb);
    EXPECT_EQ(remote_read_bytes(k_tb, epochs * models, workers, DataAt::elsewhere), 400 * k_tb);
    EXPECT_EQ(epochs * models * star_bytes(workers, k_gb, ServerPlacement::dedicated), 8 * k_tb);
    PartAndHome const outside{k_gb, std::nullopt};
    EXPECT_EQ(steps * parameter_server_step_bytes(workers, {&outside, 1}), 80 * k_pb);
    EXPECT_EQ(steps * all_reduce_bytes(workers, k_gb), 72 * k_pb);
}

TEST(Bytes, OfDataThatTheTrainersHold) {
    EXPECT_EQ(replication_bytes(100 * k_gb, 8, DataAt::trainers), 700 * k_gb);
    EXPECT_EQ(remote_read_bytes(100 * k_gb, 6, 4, DataAt::trainers), 450 * k_gb);
    EXPECT_EQ(replication_bytes(k_gb, 1, DataAt::trainers), 0);
    EXPECT_EQ(remote_read_bytes(k_gb, 6, 1, DataAt::trainers), 0);
}

TEST(Bytes, OfHops) {
    EXPECT_EQ(mop_hops(16, 3, 8, ReturnHome::every_epoch), 384);
    EXPECT_EQ(mop_hops(16, 3, 8, ReturnHome::when_it_must), 336);
    EXPECT_EQ(mop_hops(16, 3, 1, ReturnHome::every_epoch), 0);  // every shard is at home
}

TEST(Bytes, OfAParameterServerDoNotDependOnTheNumberOfServers) {
    for (int workers : {1, 2, 5})
        for (int servers = 1; servers <= workers; ++servers) {
            std::vector<PartAndHome> colocated, dedicated;
            std::int64_t weights = 0;
            for (int part = 0; part < 7; ++part) {
                std::int64_t const bytes = 1000 + 37 * part;
                weights += bytes;
                colocated.push_back({bytes, TrainerId(part % servers)});
                dedicated.push_back({bytes, std::nullopt});
            }
            EXPECT_EQ(parameter_server_step_bytes(workers, colocated), all_reduce_bytes(workers, weights));
            EXPECT_EQ(parameter_server_step_bytes(workers, dedicated), 2 * workers * weights);
            EXPECT_EQ(parameter_server_step_bytes(workers, dedicated),
                      star_bytes(workers, weights, ServerPlacement::dedicated));
            colocated.back().home = TrainerId(workers);  // this rank trains nothing
            EXPECT_EQ(parameter_server_step_bytes(workers, colocated),
                      all_reduce_bytes(workers, weights) + 2 * colocated.back().bytes);
        }
}

// 100 MB over 12.5 GB/s with 10 us latency; the last digits are those of the hand calculation.
TEST(Seconds, OfCollectivesAtScale) {
    Link const link{12.5e9, 10e-6};
    struct Row {
        int ranks;
        double ring_ms, tree_ms, server_s, small_ring_ms, small_tree_ms;
    };
    for (auto const& row : {Row{8, 14.14, 16.06, 0.128, 0.28, 0.22}, Row{64, 17.01, 16.12, 1.024, 1.418, 0.28},
                            Row{512, 26.19, 16.18, 8.192, 10.38, 0.34}, Row{4096, 97.90, 16.24, 65.54, 82.06, 0.40}}) {
        EXPECT_NEAR(1e3 * all_reduce_seconds(Collective::ring, row.ranks, 100e6, link), row.ring_ms, 0.01);
        EXPECT_NEAR(1e3 * all_reduce_seconds(Collective::tree, row.ranks, 100e6, link), row.tree_ms, 0.01);
        Servers const one{1, ServerPlacement::dedicated, ServerFlow::push_then_pull};
        EXPECT_NEAR(parameter_server_seconds(row.ranks, one, 100e6, link), row.server_s, 0.005);
        EXPECT_NEAR(1e3 * all_reduce_seconds(Collective::ring, row.ranks, 1e6, link), row.small_ring_ms, 0.01);
        EXPECT_NEAR(1e3 * all_reduce_seconds(Collective::tree, row.ranks, 1e6, link), row.small_tree_ms, 0.01);
    }
}

// SparkNet's 20 s of a broadcast and a collect: five workers, AlexNet's 244 MB, 1 Gbit/s.
TEST(Seconds, OfSparkNetsDriver) {
    Link const gigabit{125e6, 0};
    EXPECT_NEAR(star_seconds(5, 244e6, gigabit), 19.5, 0.05);
    EXPECT_NEAR(all_reduce_seconds(Collective::star, 5, 244e6, gigabit), 19.52 * 4 / 5, 0.05);
    EXPECT_NEAR(all_reduce_seconds(Collective::ring, 5, 244e6, gigabit), 3.12, 0.005);
    EXPECT_NEAR(all_reduce_seconds(Collective::ring, 5, 244e6, {12.5e9, 0}), 0.031, 0.0005);
}

TEST(Seconds, LatencyAndArithmeticCountAsDocumented) {
    Link const link{1e9, 1e-3, 1e-9, 1e-4};  // 1000 bytes: 1 us on the wire, 1 us to add
    EXPECT_NEAR(all_reduce_seconds(Collective::ring, 4, 1000, link), 6e-3 + 1.5e-6 + 0.75e-6, 1e-12);
    EXPECT_NEAR(all_reduce_seconds(Collective::direct, 4, 1000, link), 2 * (1e-3 + 2e-4) + 1.5e-6 + 0.75e-6, 1e-12);
    EXPECT_NEAR(all_reduce_seconds(Collective::halving_doubling, 5, 1000, link), 6e-3 + 1.6e-6, 1e-12);
    EXPECT_NEAR(all_reduce_seconds(Collective::star, 4, 1000, link), 2e-3 + 6e-6 + 3e-6, 1e-12);
    EXPECT_NEAR(hop_seconds(2000, link), 1e-3 + 2e-6, 1e-12);
    for (auto const collective :
         {Collective::ring, Collective::direct, Collective::star, Collective::tree, Collective::halving_doubling})
        EXPECT_EQ(all_reduce_seconds(collective, 1, 1e9, link), 0);
}

TEST(Seconds, AServerOnEveryRankIsTheDirectAllReduce) {
    Link const link{1e9, 1e-3, 1e-10};
    for (int workers : {2, 3, 8})
        for (auto const flow : {ServerFlow::push_then_pull, ServerFlow::pipelined}) {
            double const servers = parameter_server_seconds(workers, {workers, ServerPlacement::colocated, flow}, 1e8, link);
            double const added = 1e8 / workers * link.reduce_s_per_byte;  // the server's own gradient is one of its K
            EXPECT_NEAR(servers, all_reduce_seconds(Collective::direct, workers, 1e8, link) + added, 1e-12);
        }
}

TEST(Seconds, ServersAreAHotSpotUntilThereAreAsManyAsWorkers) {
    Link const link{1e9, 0};
    auto const seconds = [&](int servers, ServerPlacement placement, ServerFlow flow) {
        return parameter_server_seconds(8, {servers, placement, flow}, 1e9, link);
    };
    EXPECT_DOUBLE_EQ(seconds(1, ServerPlacement::dedicated, ServerFlow::pipelined), 8);
    EXPECT_DOUBLE_EQ(seconds(1, ServerPlacement::dedicated, ServerFlow::push_then_pull), 16);
    EXPECT_DOUBLE_EQ(seconds(4, ServerPlacement::dedicated, ServerFlow::push_then_pull), 4);
    EXPECT_DOUBLE_EQ(seconds(8, ServerPlacement::dedicated, ServerFlow::push_then_pull), 2);
    EXPECT_DOUBLE_EQ(seconds(16, ServerPlacement::dedicated, ServerFlow::push_then_pull), 2);  // a worker's own link is full
    EXPECT_DOUBLE_EQ(seconds(1, ServerPlacement::colocated, ServerFlow::push_then_pull), 14);
    EXPECT_DOUBLE_EQ(seconds(8, ServerPlacement::colocated, ServerFlow::push_then_pull), 1.75);
    EXPECT_THROW(seconds(9, ServerPlacement::colocated, ServerFlow::pipelined), Error);
}

TEST(Seconds, AsynchronousWorkersAreBoundByThemselvesOrByTheServers) {
    Link const link{1e9, 1e-3};
    EXPECT_DOUBLE_EQ(async_update_seconds(8, 1, 10.0, 1e9, link), 10 + 2e-3 + 2);
    EXPECT_DOUBLE_EQ(async_update_seconds(8, 1, 1.0, 1e9, link), 8);  // eight of them, one link
    EXPECT_DOUBLE_EQ(async_update_seconds(8, 4, 1.0, 1e9, link), 1 + 2e-3 + 2);
}

// The best of all schedules, by trying them.
double best_makespan(std::vector<double> const& costs, int trainers) {
    double best = INFINITY;
    auto const ways = static_cast<int>(std::pow(trainers, costs.size()));
    for (int way = 0; way < ways; ++way) {
        std::vector<double> load(static_cast<std::size_t>(trainers), 0.0);
        int rest = way;
        for (double const cost : costs) {
            load[static_cast<std::size_t>(rest % trainers)] += cost;
            rest /= trainers;
        }
        best = std::min(best, *std::max_element(load.begin(), load.end()));
    }
    return best;
}

TEST(Makespan, OfWholeModelsKeepsGrahamsBounds) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        int const trainers = 2 + static_cast<int>(seed % 2);
        std::vector<double> costs;
        for (std::uint64_t i = 0; i < 3 + seed % 5; ++i)
            costs.push_back(1.0 + static_cast<double>((seed * 7919 + i * 104729) % 97));
        auto const bounds = makespan_bounds(costs, trainers);
        double const best = best_makespan(costs, trainers), greedy = longest_first_makespan(costs, trainers);
        EXPECT_GE(best, bounds.lower - 1e-9);
        EXPECT_GE(greedy, best - 1e-9);
        EXPECT_LE(greedy, bounds.upper + 1e-9);
        EXPECT_LE(greedy, (4.0 / 3 - 1.0 / (3 * trainers)) * best + 1e-9);
    }
    EXPECT_DOUBLE_EQ(longest_first_makespan(std::vector<double>{2, 3, 2, 3, 2}, 2), 7);  // Graham's: 6 would be best
    EXPECT_DOUBLE_EQ(makespan_bounds(std::vector<double>{}, 2).lower, 0);
}

}  // namespace cost_model_test
}  // namespace hopscotch
