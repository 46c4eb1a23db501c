// SPDX-License-Identifier: Apache-2.0
// Our all-reduces, through the courier and in buckets as the strategies use them, next to the MPI library's own. Phases of
// the two alternate, so that a slow spell of the machine hits both.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "bench/benches.hpp"
#include "bench/median.hpp"
#include "cli/common/launch.hpp"
#include "comm/all_reduce.hpp"
#include "comm/courier.hpp"
#include "comm/mpi_world.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"

namespace hopscotch {
namespace {

struct BenchAllreduceOptions {
    std::vector<std::int64_t> bytes{1 << 10, 1 << 20, 100'000'000};  // of the values that are summed
    double bucket_mb = 25;
    int repeats = 7;  // interleaved
};

constexpr double k_phase_s = 0.3;

RankGroup everyone(World& world) {
    RankGroup group;
    for (int rank = 0; rank < world.size(); ++rank) group.ranks.emplace_back(rank);
    group.self = world.rank().value;
    return group;
}

int calls_for(std::size_t bytes) {
    return std::clamp(static_cast<int>(2e8 * k_phase_s / static_cast<double>(bytes)), 1, 2000);
}

// Seconds of one call, over a phase of some.
double library_seconds(MpiWorld& world, std::span<float> values) {
    auto const calls = calls_for(values.size_bytes());
    world.library_all_reduce(values);
    auto const start = monotonic_s();
    for (int i = 0; i < calls; ++i) world.library_all_reduce(values);
    return (monotonic_s() - start) / calls;
}

double own_seconds(MpiWorld& world, std::span<float> values, AllReduce algorithm, std::size_t bucket_floats) {
    auto const group = everyone(world);
    std::uint64_t sequence = 0;
    double seconds = 0;
    Courier courier(world, {.heartbeat_s = 1e9});
    courier.leave_quietly();
    auto const once = [&] {
        std::vector<std::shared_ptr<Exchange>> under_way;
        for (std::size_t at = 0; at < values.size(); at += bucket_floats) {
            auto const part = values.subspan(at, std::min(bucket_floats, values.size() - at));
            under_way.push_back(std::make_shared<Exchange>(all_reduce(algorithm, group, part, courier.pool()), sequence++));
            courier.start(under_way.back());
        }
        for (auto const& exchange : under_way) courier.finish(*exchange);
    };
    auto const calls = calls_for(values.size_bytes());
    once();
    auto const start = monotonic_s();
    for (int i = 0; i < calls; ++i) once();
    seconds = (monotonic_s() - start) / calls;
    for (auto const rank : group.ranks)
        if (rank != world.rank()) courier.send(rank, MessageKind::test, {});
    for (int words = 1; words < world.size(); ++words) courier.receive(60);
    courier.close();
    return seconds;
}

void measure(MpiWorld& world, BenchAllreduceOptions const& options, std::size_t bytes) {
    std::vector<float> values(bytes / sizeof(float), 1e-30F);
    auto const bucket = static_cast<std::size_t>(options.bucket_mb * (1 << 20)) / sizeof(float);
    std::vector<double> library, ring, deterministic, ratio;
    for (int repeat = 0; repeat < options.repeats; ++repeat) {
        library.push_back(library_seconds(world, values));
        ring.push_back(own_seconds(world, values, AllReduce::ring, bucket));
        deterministic.push_back(own_seconds(world, values, AllReduce::deterministic, bucket));
        ratio.push_back(library.back() / ring.back());
        std::fill(values.begin(), values.end(), 1e-30F);
    }
    if (world.rank() != Rank(0)) return;
    auto const k = world.size();
    auto const bus = [&](std::vector<double> const& seconds) {
        return static_cast<double>(bytes) / median(seconds) * 2 * (k - 1) / k / 1e9;
    };
    fmt::print(
        "{:>10} bytes   {}   {:9.1f} us {:6.2f} GB/s   ring {:9.1f} us {:6.2f} GB/s   deterministic {:9.1f} us {:6.2f} GB/s "
        "  "
        "ring / library {:.2f} ({:.2f}-{:.2f})\n",
        bytes, "MPI_Allreduce", 1e6 * median(library), bus(library), 1e6 * median(ring), bus(ring),
        1e6 * median(deterministic), bus(deterministic), median(ratio), *std::min_element(ratio.begin(), ratio.end()),
        *std::max_element(ratio.begin(), ratio.end()));
}

int bench_allreduce_command(BenchAllreduceOptions const& options) {
    if (!launched_by_mpi() && is_surplus_copy(1)) return 0;
    if (!launched_by_mpi())
        throw ConfigError(
            "bench allreduce needs MPI ranks (it compares with the all-reduce of the MPI library); "
            "use mpirun -np 4 hopscotch bench allreduce");
    MpiWorld world;
    if (is_surplus_copy(world.size())) {
        world.finish();
        return 0;
    }
    if (world.rank() == Rank(0))
        fmt::print(
            "{} ranks, medians of {}; GB/s of the bus: bytes / seconds x 2(K-1)/K; speeds of ring over the library's\n",
            world.size(), options.repeats);
    for (auto const bytes : options.bytes) measure(world, options, static_cast<std::size_t>(bytes));
    world.finish();
    return 0;
}

}  // namespace

Work add_bench_allreduce(Command command) {
    auto const sums = std::make_shared<BenchAllreduceOptions>();
    command.add_option("--bytes", sums->bytes, "Size of the values in bytes (repeatable)").type_name("N").positive();
    command.add_option("--bucket-mb", sums->bucket_mb, "Size of a bucket, in units of 2^20 bytes").shows_default();
    command.add_option("--repeats", sums->repeats, "Number of interleaved repeats; medians are printed").shows_default();
    command.footer("Four ranks:  mpirun --oversubscribe -np 4 hopscotch bench allreduce");
    return [sums] { return bench_allreduce_command(*sums); };
}

}  // namespace hopscotch
