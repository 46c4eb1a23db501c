// SPDX-License-Identifier: Apache-2.0
// Damaged messages for the decoder of every kind, by the million and always the same: each is understood, or refused with an
// error. What is understood must survive a second journey unchanged. Anything else (a crash, gigabytes, another exception)
// is told with the words that repeat it:
//   fuzz_messages [--count 20000] [--seed 1]
#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdlib>
#include <functional>
#include <optional>

#include "comm/courier_messages.hpp"
#include "comm/process.hpp"
#include "core/error.hpp"
#include "fuzz/mutate.hpp"
#include "rundir/records.hpp"
#include "strategy/baselines/parameter_server/server_messages.hpp"
#include "strategy/baselines/whole_laps/row_messages.hpp"
#include "strategy/common/lap_codec.hpp"
#include "strategy/common/messages.hpp"
#include "strategy/common/roll_call_messages.hpp"
#include "strategy/mop/mop_messages.hpp"
#include "strategy/together/group_messages.hpp"

namespace hopscotch::fuzz {
namespace {

constexpr rlim_t k_most_memory = 2ULL << 30;  // address space

struct Kind {
    std::string name;
    Bytes sample;
    std::function<bool(ByteView)> survives;  // a second journey; throws what the decoder throws
};

template <class T>
Kind kind(std::string name, T const& sample) {
    return {std::move(name), encode(sample), [](ByteView bytes) {
                auto const first = encode(decode<T>(bytes));
                return encode(decode<T>(first)) == first;
            }};
}

Lap some_lap() {
    Lap out;
    out.trial = TrialId(3);
    out.epoch = 2;
    out.assignment = {{"train.optimizer.lr", Json(0.2)}, {"model.hidden", Json(Json::Array{Json(16), Json(32)})}};
    out.from = "checkpoints/trial-00003-e0001-s0000-b000000-i1.ckpt";
    out.clone_of = LapId{TrialId(1), 1};
    return out;
}

Journey some_journey() {
    Journey out;
    out.lap = some_lap();
    out.step = 1;
    out.record = testing::exchanging(testing::first_trial());
    out.parts.assign(21, std::byte{7});
    return out;
}

MemberPlace some_place() {
    MemberPlace out;
    out.units = testing::first_trial().units;
    out.own.assign(9, std::byte{1});
    return out;
}

Turn some_turn() {
    Turn out;
    out.lap = {{TrialId(1), 2}, 3.5, 0.5, TrainerId(1)};
    out.lap.visited = {ShardId(4), ShardId(0)};
    out.lap.repeats = {ShardId(4), ShardId(0), ShardId(1)};
    return out;
}

Welcome some_welcome() {
    Welcome out;
    out.experiment = R"({"name": "x"})";
    out.strategy = "mop";
    out.owners.owner = {TrainerId(0), TrainerId(1)};
    out.files = {{"net.so", 12345}};
    return out;
}

Hello some_hello() {
    Hello out;
    out.host = "node";
    out.own_cores = {0, 1};
    out.error = "no shard";
    return out;
}

Goodbye some_goodbye() {
    Goodbye out;
    for (double const seconds : {1e-5, 2e-3, 0.5}) out.hop_s.add(seconds);
    return out;
}

std::vector<Kind> all_kinds() {
    return {kind("heartbeat", Heartbeat{7, 2.5, TrialId(1), 3, ShardId(4), Phase::compute}),
            kind("process", ProcessId{"node7 0b1c 4:7", 71, 9}),
            kind("offer", Offer{1, MessageKind::state, 64, Bytes(5, std::byte{1}), {}}),
            kind("received", Received{1}),
            kind("unreachable", Unreachable{1}),
            kind("lost", Lost{Rank(2), "silent"}),
            kind("welcome", some_welcome()),
            kind("hello", some_hello()),
            kind("goodbye", some_goodbye()),
            kind("shutdown", Shutdown{75}),
            kind("lap", some_lap()),
            kind("lap_done", testing::exchanging(testing::second_trial())),
            kind("state", some_journey()),
            kind("checkpointed", SavedState{TrialId(3), 4, 2, 16, "checkpoints/x.ckpt"}),
            kind("keep", LapId{TrialId(1), 2}),
            kind("stop", TrialId(1)),
            kind("leave", Leave{TrialId(1), "stopped by a user"}),
            kind("turn", some_turn()),
            kind("visit", Visit{{TrialId(1), 2}, ShardId(3)}),
            kind("pause", Pause{3}),
            kind("save", Save{3, 0.5}),
            kind("all_saved", AllSaved{3, 1}),
            kind("fatal", Fatal{"out of memory"}),
            kind("share", Share{1, Bytes(7, std::byte{2})}),
            kind("unit", UnitCall{UnitCall::Work::validation, some_lap(), ShardId(2), 640}),
            kind("places", std::vector{some_place(), some_place()}),
            kind("look", Look{true, false, 4}),
            kind("serve", ServeLap{some_lap(), 10, 100, 1}),
            kind("serve_order", ServeOrder{ServeOrder::What::forget, TrialId(1)}),
            kind("gradient", GradientPart{TrialId(1), 2, 3, 4, 5}),
            kind("parameters", ParametersPart{TrialId(1), 2, 3, 4, 5}),
            kind("part_end", PartEnd{TrialId(1), 2, 3, {0, 1, 1, 0}}),
            kind("rows_wanted", RowsWanted{1, ShardId(2), 3, 4, {5, 6}})};
}

Bytes damaged(Bytes const& sample, Rng& rng) {
    auto const text = mutated_bytes({reinterpret_cast<char const*>(sample.data()), sample.size()}, rng);
    auto const bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

bool fuzz(Kind const& kind, std::uint32_t count, std::uint64_t seed) {
    std::uint32_t understood = 0, refused = 0, wrong = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        Rng rng(stream_key(seed, Purpose::synthetic, {static_cast<std::int64_t>(i)}));
        auto const message = damaged(kind.sample, rng);
        std::string problem;
        try {
            ++understood;
            if (!kind.survives(message)) problem = "is another message after a second journey";
        } catch (Error const&) {
            --understood;
            ++refused;
        } catch (std::exception const& error) {
            problem = error.what();
        }
        if (problem.empty()) continue;
        ++wrong;
        fmt::print(stderr, "fuzz_messages: {} --seed {}, message {}: {}\n", kind.name, seed, i, problem);
    }
    fmt::print("{:<16} {:>8} understood, {:>8} refused, {} wrong\n", kind.name, understood, refused, wrong);
    return wrong == 0;
}

// The value behind the option; none if it is not there.
std::optional<std::uint64_t> number_of(std::vector<std::string> const& arguments, std::string_view option) {
    for (std::size_t i = 0; i + 1 < arguments.size(); i += 2)
        if (arguments[i] == option) return std::strtoull(arguments[i + 1].c_str(), nullptr, 10);
    return std::nullopt;
}

int run(std::vector<std::string> const& arguments) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their shadow memory is address space too
    rlimit const limit{k_most_memory, k_most_memory};
    setrlimit(RLIMIT_AS, &limit);
#endif
    auto const count = static_cast<std::uint32_t>(number_of(arguments, "--count").value_or(20000));
    auto const seed = number_of(arguments, "--seed").value_or(1);
    bool good = true;
    for (auto const& kind : all_kinds()) {
        if (!kind.survives(kind.sample)) throw Error(kind.name + ": the sample does not survive");
        good &= fuzz(kind, count, seed);
    }
    return good ? 0 : 1;
}

}  // namespace
}  // namespace hopscotch::fuzz

int main(int argc, char** argv) {
    try {
        return hopscotch::fuzz::run({argv + 1, argv + argc});
    } catch (std::exception const& error) {
        fmt::print(stderr, "fuzz_messages: {}\n", error.what());
        return 1;
    }
}
