// SPDX-License-Identifier: Apache-2.0
#include "strategy/roll_call.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <map>
#include <optional>
#include <set>
#include <thread>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/fault.hpp"
#include "core/hash.hpp"
#include "core/log.hpp"
#include "data/dataset/shard_writer.hpp"
#include "experiment/strategy_traits.hpp"
#include "model/gpu/device.hpp"
#include "strategy/common/devices.hpp"
#include "strategy/common/messages.hpp"
#include "strategy/common/placement.hpp"
#include "strategy/common/pump.hpp"
#include "strategy/strategy_table.hpp"
#include "strategy/trainer/trainer_loop.hpp"

namespace hopscotch {
namespace {

// One state trains, one leaves, one arrives, one is the best so far. Models so large that these would weigh on the host
// have units long enough not to notice a page fault.
constexpr int k_ready_buffers = 4;
constexpr std::uint64_t k_most_ready_bytes = std::uint64_t{1} << 30;

int ready_buffers(std::uint64_t state_bytes) {
    if (state_bytes == 0) return 0;
    return static_cast<int>(std::min<std::uint64_t>(k_ready_buffers, k_most_ready_bytes / state_bytes));
}

// Each complaint once, however many trainers have it.
void refuse_complaints(std::map<Rank, Hello> const& hellos) {
    std::set<std::string> complaints;
    for (auto const& [rank, hello] : hellos)
        if (!hello.error.empty()) complaints.insert(hello.error);
    std::string text;
    for (auto const& complaint : complaints) text += (text.empty() ? "" : "\n") + complaint;
    if (!text.empty()) throw ConfigError(text);
}

void refuse_differences(std::map<Rank, Hello> const& hellos, std::string const& build) {
    auto const& [first_rank, first] = *hellos.begin();
    for (auto const& [rank, hello] : hellos) {
        if (hello.build != build)
            throw ConfigError(fmt::format("rank {} ({}) runs build {} (rank 0 runs {}); start every rank from one build",
                                          rank.value, hello.host, hello.build, build));
        if (hello.dataset_hash != first.dataset_hash)
            throw ConfigError(
                fmt::format("rank {} ({}) sees another dataset than rank {} ({}); copy one dataset directory to all hosts, "
                            "or use a shared file system",
                            rank.value, hello.host, first_rank.value, first.host));
        if (hello.cpu != first.cpu)
            log_warning(fmt::format("rank {} ({}) has another CPU than rank {} ({} / {}): bits may differ between them",
                                    rank.value, hello.host, first_rank.value, hello.cpu, first.cpu));
    }
}

void advise(std::map<Rank, Hello> const& hellos, RunConfig const& run, bool has_processes) {
    std::map<Rank, Seating> seatings;
    std::map<Rank, HostDevice> devices;
    for (auto const& [rank, hello] : hellos) {
        seatings[rank] = {hello.host, hello.cores, hello.own_cores};
        devices[rank] = {hello.host, hello.device};
    }
    if (has_processes)
        for (auto const& line : seating_advice(seatings, run.threads)) log_warning(line);
    for (auto const& line : device_table(devices)) log_info(line);
    for (auto const& line : device_advice(devices, run.device)) log_warning(line);
}

}  // namespace

std::map<Rank, Hello> call_roll(Courier& courier, Welcome const& welcome, BuildInfo const& build, RunConfig const& run) {
    auto const ranks = courier.peers().living();
    for (auto const rank : ranks) courier.send(rank, MessageKind::welcome, encode(welcome));
    std::map<Rank, Hello> answers;
    auto const deadline_s = run.deadline_s;
    auto const deadline = monotonic_s() + deadline_s;
    while (answers.size() < ranks.size()) {
        if (monotonic_s() > deadline) {
            std::vector<int> missing;
            for (auto const rank : ranks)
                if (!answers.contains(rank)) missing.push_back(rank.value);
            throw CommError(
                fmt::format("rank(s) {} did not answer the roll call within {:.0f} s; run.deadline_s sets this limit",
                            fmt::join(missing, ", "), deadline_s));
        }
        auto const message = courier.receive(0.1);
        if (!message) continue;
        throw_bad_news(*message);
        if (message->kind != MessageKind::hello) continue;
        auto& hello = answers[message->from] = decode<Hello>(message->body);
        courier.peers().set_name(message->from,
                                 fmt::format("rank {} ({}, pid {})", message->from.value, hello.host, hello.pid));
    }
    refuse_complaints(answers);
    refuse_differences(answers, build.version + " " + build.git);
    advise(answers, run, courier.world().name() == "mpi");
    courier.peers().watch({deadline_s, run.silence_s, run.stall_s});
    return answers;
}

JobTotals end_job(Courier& courier, int exit_code, double deadline_s) {
    fault_point("end.shutdown");
    auto ranks = courier.peers().living();
    for (auto const rank : ranks) courier.send(rank, MessageKind::shutdown, encode(Shutdown{exit_code}));
    JobTotals totals;
    std::map<Rank, Goodbye> goodbyes;
    auto const deadline = monotonic_s() + deadline_s;
    while (goodbyes.size() < ranks.size()) {
        if (monotonic_s() > deadline)
            throw CommError(fmt::format("only {} of {} trainers left in good order within {:.0f} s", goodbyes.size(),
                                        ranks.size(), deadline_s));
        auto const message = courier.receive(0.1);
        if (message && message->kind == MessageKind::goodbye) goodbyes[message->from] = decode<Goodbye>(message->body);
        if (!message || message->kind != MessageKind::lost) continue;
        bury_and_tell(courier, decode<Lost>(message->body));
        if (!goodbyes.contains(message->from)) std::erase(ranks, message->from);  // all else that it had was here before
    }
    totals.peak_rss_bytes.push_back(peak_rss_bytes());
    std::vector<std::uint64_t> own;
    for (auto const traffic : {Traffic::state, Traffic::gradient, Traffic::data, Traffic::control})
        own.push_back(courier.bytes_sent(traffic));
    totals.bytes_by_rank.push_back(std::move(own));
    for (int rank = 1; rank < courier.world().size(); ++rank) {
        auto const& goodbye = goodbyes[Rank(rank)];  // of a lost rank: nothing
        totals.bytes_by_rank.push_back(goodbye.bytes);
        totals.storage_bytes += goodbye.storage_bytes;
        totals.staged_bytes += goodbye.staged_bytes;
        totals.spilled_bytes += goodbye.spilled_bytes;
        totals.peak_rss_bytes.push_back(goodbye.peak_rss_bytes);
        totals.hop_s.add(goodbye.hop_s);
    }
    for (auto const& bytes : totals.bytes_by_rank)
        for (std::size_t i = 0; i < bytes.size(); ++i) totals.bytes.at(i) += bytes[i];
    return totals;
}

void say_farewell(Courier& courier) {
    fault_point("end.farewell");
    while (auto const message = courier.receive(0))
        if (message->kind == MessageKind::lost) bury_and_tell(courier, decode<Lost>(message->body));
    courier.stop_beating();
    for (auto const rank : courier.peers().living()) courier.send(rank, MessageKind::farewell, {});
    courier.close();
}

void bury_and_tell(Courier& courier, Lost const& lost) {
    courier.bury(lost.rank);
    for (auto const rank : courier.peers().living()) courier.send(rank, MessageKind::lost, encode(lost));
}

namespace {

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
    hello.cpu = cpu_model();
    hello.pid = static_cast<std::int32_t>(getpid());
    hello.cores = online_cores();
    hello.own_cores = allowed_cores();
    hello.memory_bytes = memory_bytes();
    return hello;
}

// Waits for Welcome; nothing if rank 0 has found bad input and sends everyone home.
std::optional<Welcome> await_welcome(Courier& courier) {
    while (true) {
        auto const message = courier.receive(1);
        if (!message) continue;
        if (message->kind == MessageKind::shutdown) return std::nullopt;
        if (message->kind == MessageKind::welcome) return decode<Welcome>(message->body);
    }
}

void await_shutdown(Courier& courier) {
    while (true)
        if (auto const message = courier.receive(1); message && message->kind == MessageKind::shutdown) return;
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

// Whom this trainer's states will hop to: MPI connects on the first message, which can take tens of milliseconds.
void greet_next(Courier& courier, OwnerTable const& owners, TrainerId self) {
    std::set<TrainerId> next;
    auto const count = static_cast<int>(owners.owner.size());
    for (auto const shard : owners.shards_of(self)) next.insert(owners.of(ShardId((shard.value + 1) % count)));
    next.erase(self);
    for (auto const trainer : next) courier.send(rank_of(trainer), MessageKind::greeting, {});
}

// A plug-in or initial weights that differ between hosts would train other models there.
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

// Opens what this trainer owns by that table; what keeps it from doing so is in the Hello.
Hello open_data(std::optional<TrialRunner>& runner, Welcome const& welcome, Experiment const& experiment,
                Trainer const& trainer) {
    auto const self = trainer_of(trainer.courier.world().rank());
    auto const shards = welcome.owners.shards_of(self);
    auto hello = introduce(trainer.build);
    try {
        if (!runner && !shards.empty()) require_same_files(welcome.files);
        if (runner)
            runner->adopt(shards);
        else
            runner.emplace(experiment, shards, TrialRunner::Seat{self, trainer.courier.world().number_on_host()},
                           trainer.factory);
        if (trainer.courier.world().trainers_on_host() > 1) trainer.courier.pool().share_memory();
        trainer.courier.pool().set_pinning(pinning_for(runner->device()));
        bool const works = !shards.empty() || strategy_traits(welcome.strategy).rows == Rows::travel;
        if (works) {
            runner->open_validation();
            trainer.courier.pool().reserve(welcome.state_bytes, ready_buffers(welcome.state_bytes));
        }
        hello.device = device_of(trainer, runner->device());
        hello.dataset_hash = dataset_hash(runner->manifest());
    } catch (Error const& error) {
        hello.error = error.what();
    }
    return hello;
}

// Until rank 0 says shutdown. After a loss it welcomes the others again, with a table of owners without the lost one.
void serve_job(Trainer const& trainer, Welcome welcome) {
    fault_point("start.welcome");
    auto& courier = trainer.courier;
    Problems problems("experiment");
    auto const experiment = read_experiment(welcome.experiment, {}, problems);
    problems.throw_if_any();
    auto const& run = experiment.run;
    // Rank 0 sees all trainers and knows best who stands still: it has the first word.
    courier.peers().watch({run.deadline_s, run.silence_s, run.stall_s + run.deadline_s});
    std::optional<TrialRunner> runner;
    while (true) {
        courier.activity().pause = false;
        auto const hello = open_data(runner, welcome, experiment, trainer);
        greet_next(courier, welcome.owners, trainer_of(courier.world().rank()));
        fault_point("start.hello");
        courier.send(Rank(0), MessageKind::hello, encode(hello));
        if (!runner) {
            await_shutdown(courier);
            return leave(courier);
        }
        auto const worker =
            strategy_named(welcome.strategy)
                .make_worker(
                    {{courier, experiment, welcome.owners}, *runner, welcome.checkpoints, {hello.device, trainer.gpu.nccl}});
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
        if (world.name() == "threads") return;  // the job has been ended by rank 0 already
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
    try {
        courier.peers().watch({.silence_s = Peers::Watch{}.deadline_s});  // rank 0 may be reading
        auto welcome = await_welcome(courier);
        if (!welcome) return leave(courier);
        serve_job({courier, build, factory, gpu}, std::move(*welcome));
    } catch (SchedulerSilent const& error) {
        // To abort the job is not this rank's to do: it may be the only one that does not hear of it any more.
        log_error(fmt::format("rank {} ({}): {}", world.rank().value, host_name(), error.what()));
        if (world.name() != "threads") std::_Exit(k_exit_resumable);
    } catch (std::exception const& error) {
        report_fatal(world, courier, error.what());
    }
}

}  // namespace hopscotch
