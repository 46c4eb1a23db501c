// SPDX-License-Identifier: Apache-2.0
// Two trainers compute. In every second phase, each also sends a state to the other once per period. Measures the speed of
// the hops, and their cost to the computation. Of three ranks, rank 0 only waits, as in a run: it looks for messages rarely.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "bench/benches.hpp"
#include "bench/median.hpp"
#include "cli/common/launch.hpp"
#include "comm/courier.hpp"
#include "comm/mpi_world.hpp"
#include "comm/thread_world.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "model/gpu/device.hpp"
#include "model/gpu/device_block.hpp"
#include "strategy/common/devices.hpp"

namespace hopscotch {
namespace {

struct BenchCommOptions {
    double megabytes = 100;
    double period_s = 1;         // one hop per period
    double seconds = 5;          // of each phase
    int repeats = 5;             // interleaved pairs of phases with and without hops
    std::string device = "cpu";  // as run.device: where a state begins and ends its hop
    bool copy = false;           // states, also where their memory could change hands
};

// Arithmetic that stays in the cache, so that it loses core time only, like a training step. Some 50 us: messages are looked
// at in between, so hops seem longer by that.
double compute_for_a_while(std::vector<float>& a) {
    constexpr int k_sweeps = 5;
    for (int sweep = 0; sweep < k_sweeps; ++sweep)
        for (std::size_t i = 1; i < a.size(); ++i) a[i] = a[i] * 0.999F + a[i - 1] * 0.001F;
    return static_cast<double>(a.size()) * k_sweeps;
}

struct Phase {
    double rate = 0;                         // elements computed per second
    std::vector<double> seconds;             // of each hop, until the receipt has come
    std::vector<double> to_host, to_device;  // the part of this rank's device in them; empty on a CPU
};

// One trainer's side. A hop begins and ends with the state in the device's memory.
class HopBench {
public:
    HopBench(World& world, BenchCommOptions const& options)
        : options_(options),
          first_(world.size() - 2),
          device_(resolve_device(options.device, world.rank().value - first_)),
          peer_(2 * first_ + 1 - world.rank().value),
          bytes_(static_cast<std::size_t>(options.megabytes * 1e6)),
          on_device_(make_device_block(device_, bytes_)),
          courier_(world, {}) {
        courier_.activity().trial = 0;  // as in a unit
        if (!options.copy) courier_.pool().share_memory();
        courier_.pool().set_pinning(pinning_for(device_));
        courier_.send(peer_, MessageKind::test, {});
        await_peer();
        run_phase(options.period_s);  // touches the buffers
    }

    Phase run_phase(double period_s);
    void leave() {
        courier_.leave_quietly();
        courier_.send(peer_, MessageKind::test, {});
        await_peer();
        if (first_ == 1) courier_.send(Rank(0), MessageKind::test, {});
        courier_.close();
    }

private:
    void await_peer() {
        while (!std::exchange(peer_done_, false))
            if (auto message = courier_.receive(60)) take(std::move(*message));
    }
    void copy(std::vector<double>& seconds, std::function<void()> const& work) {
        if (device_ == "cpu") return;
        auto const start = monotonic_s();
        work();
        seconds.push_back(monotonic_s() - start);
    }
    void push() {
        pushed_s_ = monotonic_s();
        auto state = courier_.pool().acquire(bytes_);
        copy(phase_.to_host, [&] { on_device_->copy_to(state.bytes()); });
        courier_.push(peer_, {}, std::move(state));
        in_flight_ = true;
    }
    // Each arrival is answered with a receipt.
    void take(Incoming message) {
        if (message.kind == MessageKind::test) peer_done_ = true;  // the peer may end its phase first
        if (message.kind == MessageKind::state) {
            copy(phase_.to_device, [&] { on_device_->copy_from(message.state.bytes()); });
            courier_.send(peer_, MessageKind::lap_done, {});
        }
        if (message.kind != MessageKind::lap_done) return;
        phase_.seconds.push_back(monotonic_s() - pushed_s_);
        in_flight_ = false;
    }

    BenchCommOptions const& options_;
    int first_;  // rank of the two
    std::string device_;
    Rank peer_;
    std::size_t bytes_;
    std::unique_ptr<DeviceBlock> on_device_;
    Courier courier_;
    double pushed_s_ = 0;
    bool in_flight_ = false, peer_done_ = false;
    Phase phase_;
};

Phase HopBench::run_phase(double period_s) {
    std::vector<float> work(4096, 1.0F);
    double computed = 0;
    auto const start = monotonic_s();
    // The two push half a period apart.
    auto next_s = start + period_s * (0.25 + 0.5 * (first_ + 1 - peer_.value));
    while (monotonic_s() - start < options_.seconds || in_flight_) {
        computed += compute_for_a_while(work);
        while (auto message = courier_.receive(0)) take(std::move(*message));
        if (period_s > 0 && !in_flight_ && monotonic_s() >= next_s && monotonic_s() - start < options_.seconds) {
            push();
            next_s += period_s;
        }
    }
    phase_.rate = computed / (monotonic_s() - start);
    courier_.send(peer_, MessageKind::test, {});  // both leave the phase together
    await_peer();
    return std::exchange(phase_, {});
}

void add(std::vector<double>& all, std::vector<double> const& more) { all.insert(all.end(), more.begin(), more.end()); }

double median_ms(std::vector<double> const& seconds) { return seconds.empty() ? 0 : 1e3 * median(seconds); }

// Until both trainers have left.
void wait_as_rank0(World& world) {
    Courier courier(world, {});
    courier.leave_quietly();
    for (int left = 2; left > 0;)
        if (auto const message = courier.receive(60)) --left;
    courier.close();
}

void bench_rank(World& world, BenchCommOptions const& options) {
    bool const beside_rank0 = world.size() == 3;
    require(world.size() == 2 || beside_rank0, "bench comm measures two ranks; use mpirun -np 2 hopscotch bench comm");
    if (beside_rank0 && world.rank() == Rank(0)) return wait_as_rank0(world);
    HopBench bench(world, options);
    std::vector<double> hops, to_host, to_device, losses;
    for (int pair = 0; pair < options.repeats; ++pair) {
        auto const off = bench.run_phase(0);
        auto const on = bench.run_phase(options.period_s);
        auto const off_again = bench.run_phase(0);
        add(hops, on.seconds);
        add(to_host, on.to_host);
        add(to_device, on.to_device);
        losses.push_back(100 * (1 - on.rate / (0.5 * (off.rate + off_again.rate))));
    }
    if (world.rank().value == world.size() - 2) {
        require(!hops.empty(), "no hop was measured (phases shorter than the period?); raise --seconds");
        auto const rate = [&](double seconds) { return options.megabytes / 1e3 / seconds; };
        auto const [fastest, slowest] = std::ranges::minmax(hops);
        fmt::print(
            "{{\"bench\": \"comm\", \"world\": \"{}\", \"device\": \"{}\", \"memory\": \"{}\", \"megabytes\": {}, "
            "\"hops\": {}, \"to_host_ms\": {:.3f}, \"to_device_ms\": {:.3f}, "
            "\"p50_ms\": {:.3f}, \"min_ms\": {:.3f}, \"max_ms\": {:.3f}, "
            "\"p50_gb_per_s\": {:.2f}, \"min_gb_per_s\": {:.2f}, \"max_gb_per_s\": {:.2f}, "
            "\"compute_lost_percent\": {:.2f}, \"losses\": [{:.2f}, {:.2f}]}}\n",
            world.name(), options.device, options.copy ? "copied" : "handed over where it can be", options.megabytes,
            hops.size(), median_ms(to_host), median_ms(to_device), 1e3 * median(hops), 1e3 * fastest, 1e3 * slowest,
            rate(median(hops)), rate(slowest), rate(fastest), median(losses),
            *std::min_element(losses.begin(), losses.end()), *std::max_element(losses.begin(), losses.end()));
    }
    bench.leave();
}

int bench_comm_command(BenchCommOptions const& options) {
    if (!launched_by_mpi()) {
        if (is_surplus_copy(1)) return 0;
        run_thread_ranks(2, [&](World& world) { bench_rank(world, options); });
        return 0;
    }
    MpiWorld world;
    bool const surplus = is_surplus_copy(world.size());
    if (!surplus) bench_rank(world, options);
    world.finish();
    return 0;
}

}  // namespace

Work add_bench_comm(Command command) {
    auto const comm = std::make_shared<BenchCommOptions>();
    command.add_option("--megabytes", comm->megabytes, "Size of a state").shows_default();
    command.add_option("--period", comm->period_s, "Seconds between hops").shows_default();
    command.add_option("--seconds", comm->seconds, "Length of each phase").shows_default();
    command.add_option("--repeats", comm->repeats, "Number of interleaved phases with and without hops").shows_default();
    command.add_option("--device", comm->device, "Device where a state begins and ends its hop")
        .type_name("auto|cpu|cuda")
        .shows_default();
    command.add_flag("--copy", comm->copy, "Copy states, also between ranks of one host that could hand over memory");
    command.footer(
        "Two threads of one process:  hopscotch bench comm\n"
        "Two MPI ranks:               mpirun --oversubscribe -np 2 hopscotch bench comm\n"
        "Beside a rank 0 that waits:  mpirun --oversubscribe -np 3 hopscotch bench comm\n"
        "The benchmark takes (1 + 3 x repeats) x seconds, 80 s by default.");
    return [comm] { return bench_comm_command(*comm); };
}

}  // namespace hopscotch
