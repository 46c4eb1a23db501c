// SPDX-License-Identifier: Apache-2.0
// Two ranks compute; in every second phase each also hops a state to the other once a period. What do the hops reach, and
// what do they cost the computation?
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "app/commands.hpp"
#include "comm/mpi_world.hpp"
#include "comm/thread_world.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"

namespace hopscotch {
namespace {

// Arithmetic that stays in the cache: what it loses is core time, as a training step does.
double compute_for_a_while(std::vector<float>& a) {
    for (int sweep = 0; sweep < 50; ++sweep)
        for (std::size_t i = 1; i < a.size(); ++i) a[i] = a[i] * 0.999F + a[i - 1] * 0.001F;
    return static_cast<double>(a.size()) * 50;
}

struct Phase {
    double rate = 0;                 // elements computed per second
    std::vector<double> bandwidths;  // GB/s of each hop, offer to arrival of the receipt
};

void await(Courier& courier, std::int64_t kind_count) {
    for (std::int64_t n = 0; n < kind_count;)
        if (auto const message = courier.receive(60)) n += message->kind == MessageKind::test ? 1 : 0;
}

// One rank's side of a phase. Each arrival is answered with a receipt; the pusher takes the time until it comes.
Phase run_phase(Courier& courier, BenchCommOptions const& options, double period_s) {
    auto const peer = Rank(1 - courier.world().rank().value);
    auto const bytes = static_cast<std::size_t>(options.megabytes * 1e6);
    std::vector<float> work(4096, 1.0F);
    Phase phase;
    double computed = 0;
    double pushed_s = 0;
    bool in_flight = false, peer_done = false;
    auto const take = [&](Incoming message) {
        if (message.kind == MessageKind::test) peer_done = true;  // the peer may end its phase first
        if (message.kind == MessageKind::state) courier.send(peer, MessageKind::lap_done, {});
        if (message.kind != MessageKind::lap_done) return;
        phase.bandwidths.push_back(static_cast<double>(bytes) / (monotonic_s() - pushed_s) / 1e9);
        in_flight = false;
    };
    auto const start = monotonic_s();
    // The two ranks push half a period apart.
    auto next_s = start + period_s * (0.25 + 0.5 * courier.world().rank().value);
    while (monotonic_s() - start < options.seconds || in_flight) {
        computed += compute_for_a_while(work);
        while (auto message = courier.receive(0)) take(std::move(*message));
        if (period_s > 0 && !in_flight && monotonic_s() >= next_s && monotonic_s() - start < options.seconds) {
            auto state = courier.pool().acquire(bytes);
            pushed_s = monotonic_s();
            courier.push(peer, {}, std::move(state));
            in_flight = true;
            next_s += period_s;
        }
    }
    phase.rate = computed / (monotonic_s() - start);
    courier.send(peer, MessageKind::test, {});  // both leave the phase together
    while (!peer_done)
        if (auto message = courier.receive(60)) take(std::move(*message));
    return phase;
}

double median(std::vector<double> values) {
    require(!values.empty(), "no hop was measured (phases shorter than the period?) raise --seconds");
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

void bench_rank(World& world, BenchCommOptions const& options) {
    require(world.size() == 2, "bench comm measures two ranks: mpirun -np 2 hopscotch bench comm");
    Courier courier(world, {});
    courier.send(Rank(1 - world.rank().value), MessageKind::test, {});
    await(courier, 1);
    run_phase(courier, options, options.period_s);  // touches the buffers
    std::vector<double> bandwidths, losses;
    for (int pair = 0; pair < options.repeats; ++pair) {
        auto const off = run_phase(courier, options, 0);
        auto const on = run_phase(courier, options, options.period_s);
        auto const off_again = run_phase(courier, options, 0);
        bandwidths.insert(bandwidths.end(), on.bandwidths.begin(), on.bandwidths.end());
        losses.push_back(100 * (1 - on.rate / (0.5 * (off.rate + off_again.rate))));
    }
    if (world.rank() == Rank(0))
        fmt::print(
            "{{\"bench\": \"comm\", \"world\": \"{}\", \"megabytes\": {}, \"hops\": {}, \"p50_gb_per_s\": {:.2f}, "
            "\"min_gb_per_s\": {:.2f}, \"max_gb_per_s\": {:.2f}, \"compute_lost_percent\": {:.2f}, \"losses\": [{:.2f}, "
            "{:.2f}]}}\n",
            world.name(), options.megabytes, bandwidths.size(), median(bandwidths),
            *std::min_element(bandwidths.begin(), bandwidths.end()), *std::max_element(bandwidths.begin(), bandwidths.end()),
            median(losses), *std::min_element(losses.begin(), losses.end()),
            *std::max_element(losses.begin(), losses.end()));
    courier.leave_quietly();
    courier.send(Rank(1 - world.rank().value), MessageKind::test, {});
    await(courier, 1);
    courier.close();
}

}  // namespace

int bench_comm_command(BenchCommOptions const& options) {
    if (!launched_by_mpi()) {
        run_thread_ranks(2, [&](World& world) { bench_rank(world, options); });
        return 0;
    }
    MpiWorld world;
    bench_rank(world, options);
    world.finish();
    return 0;
}

}  // namespace hopscotch
