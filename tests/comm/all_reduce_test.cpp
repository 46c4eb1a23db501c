// SPDX-License-Identifier: Apache-2.0
// Collectives on threads and on MPI processes: right sums, the order of additions, and exactly the promised messages.
#include <cmath>
#include <cstring>
#include <latch>
#include <numeric>

#include "both_worlds.hpp"
#include "comm/all_reduce.hpp"
#include "comm/courier.hpp"
#include "comm/peers.hpp"
#include "core/error.hpp"
#include "core/rng.hpp"
#include "test_clock.hpp"

namespace hopscotch {
namespace all_reduce_test {

RankGroup whole_world(World& world) {
    RankGroup group;
    for (int rank = 0; rank < world.size(); ++rank) group.ranks.emplace_back(rank);
    group.self = world.rank().value;
    return group;
}

std::vector<float> values_of(int rank, std::size_t n, std::uint64_t seed) {
    Rng rng(stream_key(seed, Purpose::synthetic, {rank}));
    std::vector<float> out(n);
    for (auto& value : out) value = static_cast<float>(rng.normal());
    return out;
}

std::shared_ptr<Exchange> started(Courier& courier, Exchange::Plan plan, std::uint64_t sequence) {
    auto exchange = std::make_shared<Exchange>(std::move(plan), sequence);
    courier.start(exchange);
    return exchange;
}

// No one closes before it has everyone's last word, and with it every message before that.
void leave(Courier& courier, World& world) {
    courier.leave_quietly();
    for (int rank = 0; rank < world.size(); ++rank)
        if (Rank(rank) != world.rank()) courier.send(Rank(rank), MessageKind::test, {});
    for (int words = 1; words < world.size(); ++words) ASSERT_TRUE(courier.receive(60));
    courier.close();
    testing::barrier(world);
}

constexpr std::size_t k_lengths[] = {0, 1, 15, 16, 17, 1000, 16 * 1024 + 3};

void expect_sums(World& world, AllReduce algorithm) {
    testing::barrier(world);
    Courier courier(world, {});
    auto const group = whole_world(world);
    std::uint64_t sequence = 0, bytes = 0;
    for (auto const n : k_lengths) {
        auto values = values_of(group.self, n, n);
        std::vector<std::vector<float>> terms;
        for (int rank = 0; rank < world.size(); ++rank) terms.push_back(values_of(rank, n, n));
        auto const exchange = started(courier, all_reduce(algorithm, group, values, courier.pool()), sequence++);
        ASSERT_TRUE(courier.finish(*exchange));
        for (std::size_t i = 0; i < n; ++i) {
            float in_order = terms[0][i];
            for (int rank = 1; rank < world.size(); ++rank) in_order += terms[static_cast<std::size_t>(rank)][i];
            if (algorithm == AllReduce::ring)
                ASSERT_NEAR(values[i], in_order, 1e-5) << i << " of " << n;
            else
                ASSERT_EQ(values[i], in_order) << i << " of " << n;
        }
        bytes += exchange->bytes_sent();
    }
    EXPECT_EQ(courier.bytes_sent(Traffic::gradient), bytes);
    leave(courier, world);
}

void on_all_sizes(std::function<void(World&)> const& body) {
    if (testing::mpi_world()) return body(*testing::mpi_world());
    for (int ranks = 1; ranks <= 4; ++ranks) run_thread_ranks(ranks, body);
}

TEST(AllReduce, SumsOnEveryRank) {
    on_all_sizes([](World& world) {
        for (auto const algorithm : {AllReduce::ring, AllReduce::deterministic, AllReduce::star})
            expect_sums(world, algorithm);
    });
}

// E6 of the byte accounting: 2(K-1) messages a rank, 2(K-1) W in all, 2(K-1)/K W a rank when K chunks fit.
TEST(AllReduce, SendsExactlyWhatTheFormulaSays) {
    on_all_sizes([](World& world) {
        Courier courier(world, {});
        auto const group = whole_world(world);
        auto const k = static_cast<std::uint64_t>(world.size());
        std::vector<float> values(16 * 12 * 64);
        auto const w = values.size() * sizeof(float);
        std::uint64_t sequence = 0;
        for (auto const algorithm : {AllReduce::ring, AllReduce::deterministic}) {
            auto const exchange = started(courier, all_reduce(algorithm, group, values, courier.pool()), sequence++);
            ASSERT_TRUE(courier.finish(*exchange));
            EXPECT_EQ(exchange->messages_sent(), 2 * (k - 1));
            EXPECT_EQ(exchange->bytes_sent(), 2 * (k - 1) * w / k);
        }
        auto const exchange = started(courier, all_reduce(AllReduce::star, group, values, courier.pool()), sequence++);
        ASSERT_TRUE(courier.finish(*exchange));
        EXPECT_EQ(exchange->bytes_sent(), group.self == 0 ? (k - 1) * w : k > 1 ? w : 0);
        leave(courier, world);
    });
}

// E2: bits do not depend on where buckets are cut, however many are in flight at a time.
TEST(AllReduce, DeterministicBitsDoNotDependOnBuckets) {
    on_all_sizes([](World& world) {
        Courier courier(world, {});
        auto const group = whole_world(world);
        constexpr std::size_t n = 5000;
        std::vector<float> whole;
        std::uint64_t sequence = 0;
        for (auto const bucket : {n, std::size_t{16}, std::size_t{300}, std::size_t{1024}}) {
            auto values = values_of(group.self, n, 5);
            std::vector<std::shared_ptr<Exchange>> exchanges;
            for (std::size_t at = 0; at < n; at += bucket) {
                auto const part = std::span(values).subspan(at, std::min(bucket, n - at));
                exchanges.push_back(
                    started(courier, all_reduce(AllReduce::deterministic, group, part, courier.pool()), sequence++));
            }
            for (auto const& exchange : exchanges) ASSERT_TRUE(courier.finish(*exchange));
            if (whole.empty()) whole = values;
            EXPECT_EQ(std::memcmp(values.data(), whole.data(), n * sizeof(float)), 0) << "buckets of " << bucket;
        }
        leave(courier, world);
    });
}

TEST(AllReduce, BroadcastBringsTheFirstRanksBytes) {
    on_all_sizes([](World& world) {
        Courier courier(world, {});
        auto const group = whole_world(world);
        std::vector<std::int64_t> values(100, group.self);
        auto const exchange = started(courier, broadcast(group, std::as_writable_bytes(std::span(values))), 0);
        ASSERT_TRUE(courier.finish(*exchange));
        EXPECT_EQ(std::accumulate(values.begin(), values.end(), std::int64_t{0}), 0);
        leave(courier, world);
    });
}

void expect_standstill(World& world, testing::TestClock& clock, std::latch& begun) {
    Courier courier(world, {.clock = clock.reader()});
    courier.peers().watch({});
    courier.leave_quietly();  // only the exchange is watched
    if (world.rank() == Rank(1)) return;
    std::vector<float> values(100);
    auto plan = all_reduce(AllReduce::deterministic, whole_world(world), values, courier.pool());
    plan.what = "gradient of trial 3";
    auto const exchange = started(courier, std::move(plan), 0);
    begun.arrive_and_wait();
    clock.step_at_each_reading(1);  // ranks 0 and 2 have what they can get from each other
    try {
        courier.finish(*exchange);
        ADD_FAILURE() << "an exchange without rank 1 came to an end";
    } catch (CommError const& error) {
        EXPECT_NE(std::string(error.what()).find("gradient of trial 3: rank 1 neither sent nor took anything for"),
                  std::string::npos)
            << error.what();
    }
}

// A rank that does not take part is named with what was wanted from it.
TEST(AllReduce, AStandstillNamesThePeerAndTheExchange) {
    if (testing::mpi_world()) return;  // a rank that stays away cannot leave MPI in good order
    testing::TestClock clock;
    std::latch begun(2);
    run_thread_ranks(3, [&](World& world) {
        testing::barrier(world);
        expect_standstill(world, clock, begun);
        testing::barrier(world);  // without couriers: they would use the world at the same time
    });
}

}  // namespace all_reduce_test
}  // namespace hopscotch
