// SPDX-License-Identifier: Apache-2.0
#include "strategy/trainer_main.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>

#include "comm/codec.hpp"
#include "comm/courier.hpp"
#include "comm/peers.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/fault.hpp"
#include "core/file.hpp"
#include "core/hash.hpp"
#include "core/log.hpp"
#include "data/dataset/manifest.hpp"
#include "experiment/model_files.hpp"
#include "experiment/reader.hpp"
#include "experiment/strategy_traits.hpp"
#include "model/zoo/trusted_code.hpp"
#include "model/zoo/zoo.hpp"
#include "strategy/build_info.hpp"
#include "strategy/common/devices.hpp"
#include "strategy/common/messages.hpp"
#include "strategy/common/placement.hpp"
#include "strategy/common/roll_call_messages.hpp"
#include "strategy/common/worker.hpp"
#include "strategy/common/worker_resources.hpp"
#include "strategy/strategy_table.hpp"
#include "strategy/trainer/free_memory.hpp"
#include "strategy/trainer/gpu_watch.hpp"
#include "strategy/trainer/state_store.hpp"

namespace hopscotch {
namespace {

// One state trains, one leaves, one arrives, one is the best so far. Models whose states are too large for this have units
// that are long enough to hide a page fault.
constexpr int k_ready_buffers = 4;
constexpr std::uint64_t k_most_ready_bytes = std::uint64_t{1} << 30;

int ready_buffers(std::uint64_t state_bytes) {
    if (state_bytes == 0) return 0;
    return static_cast<int>(std::min<std::uint64_t>(k_ready_buffers, k_most_ready_bytes / state_bytes));
}

struct Trainer {
    Courier& courier;
    BuildInfo const& build;
    ModelFactory const& factory;
    TrainerGpu const& gpu;
};

DeviceInfo device_of(Trainer const& trainer, std::string const& device) {
    if (!trainer.gpu.info.name.empty()) return trainer.gpu.info;
    auto out = device_info(device);
    if (!out.versions.empty()) out.versions += ", " + nccl_version();
    return out;
}

Hello introduce(BuildInfo const& build) {
    Hello hello;
    hello.host = host_name();
    hello.build = build.version + " " + build.git;
    hello.torch = build.torch;
    hello.cpu = cpu_kind();
    hello.pid = static_cast<std::int32_t>(getpid());
    hello.cores = online_cores();
    hello.own_cores = allowed_cores();
    hello.memory_bytes = memory_bytes();
    return hello;
}

// Waits for Welcome; nothing if rank 0 has found bad input and ends the job.
std::optional<Welcome> await_welcome(Courier& courier) {
    while (true) {
        auto const message = courier.receive(1);
        if (!message) continue;
        if (message->kind == MessageKind::shutdown) return std::nullopt;
        if (message->kind == MessageKind::welcome) return decode<Welcome>(message->body);
    }
}

void await_farewell(Courier& courier) {
    while (true)
        if (auto const message = courier.receive(1); message && message->kind == MessageKind::farewell) break;
    courier.leave_quietly();
    courier.close();
}

void leave(Courier& courier) {
    Goodbye goodbye{std::vector<std::uint64_t>(4), peak_rss_bytes(), {}, 0, 0};
    courier.send(Rank(0), MessageKind::goodbye, encode(goodbye));
    await_farewell(courier);
}

// Greets the trainers to which this trainer's states will hop: MPI connects on the first message, which can take tens of
// milliseconds.
void greet_next(Courier& courier, OwnerTable const& owners, TrainerId self, int group_size) {
    std::set<TrainerId> next;
    auto const count = static_cast<int>(owners.owner.size());
    for (auto const shard : owners.shards_of(self)) {
        ShardId const after((shard.value + group_size) % count);
        next.insert(owners.of(after));
        if (owners.shares.empty()) continue;
        for (auto const& share : owners.shares[after.index()]) next.insert(share.trainer);
    }
    next.erase(self);
    for (auto const trainer : next) courier.send(rank_of(trainer), MessageKind::greeting, {});
}

// Refuses plug-ins and initial weights that differ between hosts: they would train different models there.
void require_same_files(std::vector<NamedFile> const& files) {
    std::string text;
    for (auto const& [path, expected] : files)
        if (auto const found = hash_file(path); found != expected)
            text += fmt::format(
                "{}{}: is another file on {} than on rank 0's host (hash {} and {}); copy one file to all hosts, or use a "
                "shared file system",
                text.empty() ? "" : "\n", path, host_name(), to_hex(found), to_hex(expected));
    if (!text.empty()) throw DataError(text);
}

// Several threads draw first values only if that takes no core from others. Beyond 16 the gain is small.
int cores_of_each(World const& world) {
    return std::clamp(static_cast<int>(allowed_cores().size()) / std::max(1, world.trainers_on_host()), 1, 16);
}

// Opens the data that this trainer owns by that table; the Hello has the reason if that fails.
Hello open_data(std::optional<TrialRunner>& runner, Welcome const& welcome, Experiment const& experiment,
                Trainer const& trainer) {
    auto const self = trainer_of(trainer.courier.world().rank());
    auto const shards = welcome.owners.shards_of(self);
    auto hello = introduce(trainer.build);
    bool const by_speed = has_setting(welcome.strategy, "owners");
    auto const speed_before = by_speed ? core_speed() : 0;  // a disturbance seldom lasts until the data is open
    try {
        if (!runner && !shards.empty()) require_same_files(welcome.files);
        auto const& world = trainer.courier.world();
        if (runner)
            runner->adopt(shards);
        else
            runner.emplace(experiment, shards,
                           TrialRunner::Seat{self, world.number_on_host(), cores_of_each(world),
                                             state_memory(experiment.run.states.memory, world.trainers_on_host()),
                                             &trainer.gpu},
                           trainer.factory);
        if (world.trainers_on_host() > 1) trainer.courier.pool().share_memory();
        trainer.courier.pool().set_pinning(pinning_for(runner->device()));
        bool const works = !shards.empty() || strategy_traits(welcome.strategy).rows == Rows::travel;
        if (works) {
            runner->open_validation();
            trainer.courier.pool().reserve(welcome.state_bytes, ready_buffers(welcome.state_bytes));
        }
        hello.device = device_of(trainer, runner->device());
        if (!hello.device.is_gpu()) require_engine({experiment.model, experiment.train, experiment.data});
        if (by_speed && !hello.device.is_gpu())
            hello.speed = std::max(speed_before, core_speed()) / experiment.run.inject.slowness_of(self.value + 1, 0);
        hello.dataset_hash = dataset_hash(runner->manifest());
    } catch (Error const& error) {
        hello.error = error.what();
    }
    return hello;
}

// Until rank 0 says shutdown. After a loss, rank 0 welcomes the others again, with a table of owners without the lost
// trainer. runner: becomes this trainer's; the caller lets go of it.
void serve_job(Trainer const& trainer, Welcome welcome, std::optional<TrialRunner>& runner) {
    fault_point("start.welcome");
    auto& courier = trainer.courier;
    Problems problems("experiment");
    auto const experiment = read_experiment(welcome.experiment, {}, problems);
    problems.throw_if_any();
    trust_code(model_files(experiment));  // rank 0 has compared the files, and refuses orders with other files
    auto const& run = experiment.run;
    // Rank 0 sees all trainers and knows best which one stands still: so this trainer waits longer than rank 0.
    courier.peers().watch({run.limits.deadline_s, run.limits.silence_s, run.limits.stall_s + run.limits.deadline_s});
    while (true) {
        courier.activity().pause = false;
        auto const hello = open_data(runner, welcome, experiment, trainer);
        greet_next(courier, welcome.owners, trainer_of(courier.world().rank()), experiment.strategy.group_size);
        fault_point("start.hello");
        courier.send(Rank(0), MessageKind::hello, encode(hello));
        if (!runner) {  // rank 0 may know other owners, whose files are all here
            auto again = await_welcome(courier);
            if (!again) return leave(courier);
            welcome = std::move(*again);
            continue;
        }
        TrainerGpu const gpu{hello.device, trainer.gpu.nccl, trainer.gpu.meter, trainer.gpu.complaint};
        GpuWatch const watch(gpu.meter(gpu.info));
        auto const worker =
            strategy_named(welcome.strategy)
                .make_worker({{courier, experiment, welcome.owners}, *runner, gpu, watch, welcome.checkpoints});
        auto next = worker->serve();
        if (!next) return await_farewell(courier);
        welcome = std::move(*next);
    }
}

// Rank 0 prints the message and ends the job; if it cannot, this rank does.
void report_fatal(World& world, Courier& courier, std::string const& text) {
    auto const told = fmt::format("rank {} ({}): {}", world.rank().value, host_name(), text);
    try {
        courier.send(Rank(0), MessageKind::fatal, encode(Fatal{told}));
        auto const deadline = monotonic_s() + 5;
        while (monotonic_s() < deadline) courier.receive(1);
    } catch (Error const&) {
        if (world.name() == "threads") return;              // the job has been ended by rank 0 already
        if (courier.peers().ended(Rank(0))) std::_Exit(1);  // likewise: rank 0 has printed the message, and ended
    }
    log_error(told);
    try {
        world.abort(1);
    } catch (Error const&) {
    }
}

}  // namespace

void trainer_main(World& world, BuildInfo const& build, ModelFactory const& factory, TrainerGpu const& gpu) {
    Courier courier(world, {});
    std::optional<TrialRunner> runner;  // goes after an error has been told: on a broken GPU its memory may end the process
    try {
        courier.peers().watch({.silence_s = Peers::Watch{}.deadline_s});  // rank 0 may be reading
        auto welcome = await_welcome(courier);
        if (!welcome) return leave(courier);
        serve_job({courier, build, factory, gpu}, std::move(*welcome), runner);
    } catch (SchedulerSilent const& error) {
        // This rank must not abort the job: perhaps only this rank has lost contact with rank 0.
        log_error(fmt::format("rank {} ({}): {}", world.rank().value, host_name(), words_of(error)));
        if (world.name() != "threads") std::_Exit(k_exit_resumable);
    } catch (std::exception const& error) {
        report_fatal(world, courier, words_of(error));
    }
}

}  // namespace hopscotch
