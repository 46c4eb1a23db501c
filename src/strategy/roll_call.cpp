// SPDX-License-Identifier: Apache-2.0
#include "strategy/roll_call.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "comm/codec.hpp"
#include "comm/courier.hpp"
#include "comm/peers.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/fault.hpp"
#include "core/hash.hpp"
#include "core/log.hpp"
#include "experiment/run_config.hpp"
#include "strategy/build_info.hpp"
#include "strategy/common/devices.hpp"
#include "strategy/common/placement.hpp"
#include "strategy/common/pump.hpp"
#include "strategy/common/roll_call_messages.hpp"

namespace hopscotch {
namespace {

constexpr double k_word_s = 10;  // between two lines about trainers that still open their data

// Each complaint once, with the trainers that have it, unless all have the same one.
void refuse_complaints(std::map<Rank, Hello> const& hellos) {
    std::map<std::string, std::vector<Rank>> complaints;
    for (auto const& [rank, hello] : hellos)
        if (!hello.error.empty()) complaints[hello.error].push_back(rank);
    std::string text;
    for (auto const& [complaint, ranks] : complaints) {
        if (!text.empty()) text += "\n";
        auto const first = ranks.front();
        auto const others = ranks.size() > 1 ? fmt::format(" and {} more", ranks.size() - 1) : "";
        if (ranks.size() < hellos.size())
            text += fmt::format("rank {} ({}){}: ", first.value, hellos.at(first).host, others);
        text += complaint;
    }
    if (!text.empty()) throw ConfigError(text);
}

void refuse_differences(std::map<Rank, Hello> const& hellos, std::string const& build) {
    auto const& [first_rank, first] = *hellos.begin();
    for (auto const& [rank, hello] : hellos) {
        if (hello.build != build)
            throw ConfigError(fmt::format("rank {} ({}) runs build {} (rank 0 runs {}); start every rank from one build",
                                          rank.value, hello.host, hello.build, build));
        if (hello.dataset_hash != first.dataset_hash)
            throw ConfigError(fmt::format(
                "rank {} ({}) sees a dataset that differs from that of rank {} ({}); copy one dataset directory to all "
                "hosts, or use a shared file system",
                rank.value, hello.host, first_rank.value, first.host));
        if (hello.cpu != first.cpu)
            log_warning(fmt::format(
                "rank {} ({}) has a CPU that differs from that of rank {} ({} / {}): LibTorch's step may give other bits "
                "there (the dry run names the step of each trial)",
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
        for (auto const& line : seating_advice(seatings, run.cpu.threads)) log_warning(line);
    for (auto const& line : device_table(devices)) log_info(line);
    for (auto const& line : device_advice(devices, run.device)) log_warning(line);
}

// The ranks that have not answered yet.
std::string missing(std::vector<Rank> const& ranks, std::map<Rank, Hello> const& answers) {
    std::vector<int> out;
    for (auto const rank : ranks)
        if (!answers.contains(rank)) out.push_back(rank.value);
    return fmt::format("{}", fmt::join(out, ", "));
}

// Silence names only one rank; there may be more.
std::optional<Incoming> receive(Courier& courier, std::vector<Rank> const& ranks, std::map<Rank, Hello> const& answers) {
    try {
        return courier.receive(0.1);
    } catch (CommError const& error) {
        throw CommError(fmt::format("{}; rank(s) {} did not answer the roll call", error.what(), missing(ranks, answers)));
    }
}

// A trainer may read its data for minutes; its heartbeats show that it lives. Only silence ends the roll call early.
RollCall await_hellos(Courier& courier, std::vector<Rank> const& ranks, double setup_s) {
    std::map<Rank, Hello> answers;
    auto const begun = monotonic_s();
    auto next_word = begun + k_word_s;
    while (answers.size() < ranks.size()) {
        auto const now = monotonic_s();
        if (now > begun + setup_s)
            throw CommError(fmt::format(
                "rank(s) {} did not open their data within {:g} s (a file system may hang); look at their hosts, or raise "
                "run.setup_s",
                missing(ranks, answers), setup_s));
        if (now > next_word) {
            next_word = now + k_word_s;
            log_info(fmt::format("{:.0f} s: rank(s) {} still open their data", now - begun, missing(ranks, answers)));
        }
        auto const message = receive(courier, ranks, answers);
        if (!message) continue;
        if (auto setback = setback_in(*message)) return std::move(*setback);
        if (message->kind != MessageKind::hello) continue;
        auto& hello = answers[message->from] = decode<Hello>(message->body);
        courier.peers().set_name(message->from,
                                 fmt::format("rank {} ({}, pid {})", message->from.value, hello.host, hello.pid));
    }
    return answers;
}

}  // namespace

RollCall call_roll(Courier& courier, Welcome const& welcome, BuildInfo const& build, RunConfig const& run) {
    auto const ranks = courier.peers().living();
    courier.peers().watch({run.limits.deadline_s, run.limits.silence_s, run.limits.stall_s});
    for (auto const rank : ranks) courier.send(rank, MessageKind::welcome, encode(welcome));
    auto roll = await_hellos(courier, ranks, run.limits.setup_s);
    if (std::holds_alternative<Setback>(roll)) return roll;
    auto const& answers = std::get<std::map<Rank, Hello>>(roll);
    refuse_complaints(answers);
    refuse_differences(answers, build.version + " " + build.git);
    advise(answers, run, courier.world().name() == "mpi");
    return roll;
}

void refuse_several_gpus(World const& world, std::map<Rank, Hello> const& hellos) {
    if (world.name() != "threads") return;
    std::map<Rank, HostDevice> devices;
    for (auto const& [rank, hello] : hellos) devices[rank] = {hello.host, hello.device};
    if (auto const why = against_threads(devices); !why.empty()) throw ConfigError(why);
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
        if (!goodbyes.contains(message->from)) std::erase(ranks, message->from);  // all its earlier messages have arrived
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

}  // namespace hopscotch
