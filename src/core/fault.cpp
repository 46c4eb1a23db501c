// SPDX-License-Identifier: Apache-2.0
#include "core/fault.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>
#include <thread>
#include <vector>

#include "core/error.hpp"

namespace hopscotch {
namespace {

enum class Kind { kill, fail, enospc, partial, eio, tear, flip, delay, hold, jitter, signal, stop };
constexpr std::array<std::string_view, 12> k_kinds{"kill", "throw", "enospc", "partial", "eio",    "tear",
                                                   "flip", "delay", "hold",   "jitter",  "signal", "stop"};

struct Point {
    std::string_view name, what;
};
constexpr std::array k_points{
    Point{"start.program", "hopscotch is about to become hopscotch-train"},
    Point{"start.prepare", "rank 0 is about to read the experiment, the dataset and what earlier jobs left"},
    Point{"start.welcome", "a trainer has received Welcome"},
    Point{"start.hello", "a trainer has opened its shards and is about to send Hello"},
    Point{"unit.begin", "a trainer begins a unit"},
    Point{"unit.rows", "a trainer reads the first rows of a unit (enospc: as if reading failed)"},
    Point{"group.look", "the trainers of a trial look at the clock between two steps"},
    Point{"group.unit", "a trainer of a group begins its part of a unit (strategy.group_size)"},
    Point{"hop.send", "a trainer sends a state"},
    Point{"hop.visit", "a trainer has heard from rank 0 which shard a waiting state visits next"},
    Point{"hop.receive", "a trainer has received a state"},
    Point{"spill.write", "a waiting state goes to the disk (run.state_memory)"},
    Point{"spill.read", "a waiting state comes back from the disk"},
    Point{"lap.done", "a trainer is about to tell rank 0 of a finished lap"},
    Point{"lap.record", "rank 0 has received a finished lap"},
    Point{"order.record", "rank 0 has recorded an order of hopscotch ctl"},
    Point{"pause.save", "a trainer is about to save what it holds, after a signal"},
    Point{"end.best", "rank 0 is about to write the best model"},
    Point{"end.fetch", "a trainer is about to send the best state to rank 0"},
    Point{"end.errors", "rank 0 has written the best model and is about to ask for its errors"},
    Point{"end.shutdown", "rank 0 sends the trainers home"},
    Point{"end.goodbye", "a trainer sends Goodbye"},
    Point{"end.farewell", "rank 0 has written everything, and lets the trainers go"},
    Point{"end.finalize", "a rank is about to leave MPI"},
    Point{"resume.checkpoint", "rank 0 is about to check the file that a trial continues from"},
    Point{"import.shard", "data import begins a shard"},
    Point{"import.manifest", "data import writes dataset.json"},
    Point{"units.append", "the units of a lap"},
    Point{"units.sync", "they reach the disk"},
    Point{"journal.append", "a line of journal.jsonl"},
    Point{"journal.sync", "lines of journal.jsonl reach the disk"},
    Point{"journal.rename", "a resumed run replaces journal.jsonl"},
    Point{"checkpoint.append", "a part of a checkpoint is written"},
    Point{"checkpoint.sync", "a checkpoint reaches the disk"},
    Point{"checkpoint.rename", "a checkpoint gets its name"},
    Point{"metrics.append", "a line of metrics.jsonl"},
    Point{"events.open", "a file of a trial for TensorBoard is about to be opened"},
    Point{"events.append", "points of a trial for TensorBoard"},
    Point{"trace.append", "a lap's part of trace.json"},
    Point{"experiment.append", "experiment.json is written"},
    Point{"experiment.rename", "experiment.json gets its name"},
    Point{"trials.append", "trials.csv is written"},
    Point{"summary.append", "summary.json is written"},
    Point{"summary.rename", "summary.json gets its name"},
    Point{"report.append", "report.html is written"},
    Point{"report.rename", "report.html gets its name"},
    Point{"live.append", "live.json is written, or written again"},
    Point{"live.rename", "live.json gets its name"},
    Point{"model.append", "a file of best/ is written"},
    Point{"validation.append", "the errors of the best model are written"},
};

struct Order {
    std::string point;
    int nth = 1;
    Kind kind = Kind::kill;
    std::atomic<int> seen = 0;
};

bool is_known(std::string_view point) { return std::ranges::find(k_points, point, &Point::name) != k_points.end(); }

std::vector<std::string_view> split(std::string_view text, char at) {
    std::vector<std::string_view> out;
    for (std::size_t start = 0; start <= text.size();) {
        auto const end = std::min(text.find(at, start), text.size());
        out.push_back(text.substr(start, end - start));
        start = end + 1;
    }
    return out;
}

bool read_number(std::string_view text, int& out) {
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc() && end == text.data() + text.size();
}

// Asks the launchers' variables, since MPI has not started yet. Without a launcher this process is every rank.
bool is_this_rank(int rank) {
    for (auto const* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
        if (auto const* value = std::getenv(name)) return value == std::to_string(rank);
    return true;
}

std::deque<Order> read_orders() {
    std::deque<Order> out;
    auto const* text = std::getenv("HOPSCOTCH_FAULT");
    if (text == nullptr || *text == 0) return out;
    for (auto const part : split(text, ',')) {
        auto const fields = split(part, ':');
        int nth = 0, rank = -1;
        auto const kind = fields.size() < 3 ? k_kinds.end() : std::ranges::find(k_kinds, fields[2]);
        bool const good = fields.size() <= 4 && kind != k_kinds.end() && is_known(fields[0]) &&
                          read_number(fields[1], nth) && nth > 0 && (fields.size() < 4 || read_number(fields[3], rank));
        if (!good)
            throw ConfigError(fmt::format(
                "HOPSCOTCH_FAULT: \"{}\" is not POINT:NTH:KIND[:RANK] (--version --verbose lists the points)", part));
        if (rank >= 0 && !is_this_rank(rank)) continue;
        auto& order = out.emplace_back();
        order.point = fields[0];
        order.nth = nth;
        order.kind = static_cast<Kind>(kind - k_kinds.begin());
    }
    return out;
}

std::deque<Order>& orders() {
    static std::deque<Order> all = read_orders();
    return all;
}

// Different in every process and every run: the results of a run must not depend on it.
void sleep_a_while() {
    thread_local std::minstd_rand numbers(std::random_device{}());
    std::this_thread::sleep_for(std::chrono::microseconds(std::uniform_int_distribution(0, 10'000)(numbers)));
}

// HOPSCOTCH_FAULT_HOLD_S: for tests with longer limits. HOPSCOTCH_FAULT_HOLD_UNTIL: for tests that end the hold with a file.
void hold() {
    using Clock = std::chrono::steady_clock;
    auto const* text = std::getenv("HOPSCOTCH_FAULT_HOLD_S");
    auto const* until = std::getenv("HOPSCOTCH_FAULT_HOLD_UNTIL");
    std::chrono::duration<double> const length(text == nullptr ? 3 : std::strtod(text, nullptr));
    if (until == nullptr) return std::this_thread::sleep_for(length);
    auto const end = Clock::now() + length;
    while (Clock::now() < end && ::access(until, F_OK) != 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

Fault carry_out(Order const& order) {
    switch (order.kind) {
        case Kind::jitter: sleep_a_while(); break;
        case Kind::kill: std::raise(SIGKILL); break;
        case Kind::stop: ::kill(::getpid(), SIGSTOP); break;
        case Kind::signal: ::kill(::getpid(), SIGUSR1); break;
        case Kind::fail: throw Error(fmt::format("fault on purpose at {}", order.point));
        case Kind::delay: std::this_thread::sleep_for(std::chrono::milliseconds(300)); break;
        case Kind::hold: hold(); break;
        case Kind::enospc: return Fault::enospc;
        case Kind::partial: return Fault::partial;
        case Kind::eio: return Fault::eio;
        case Kind::tear: return Fault::tear;
        case Kind::flip: return Fault::flip;
    }
    return Fault::none;
}

}  // namespace

Fault fault_at(std::string_view point) {
    for (auto& order : orders()) {
        if (order.point != point) continue;
        ++order.seen;
        bool const strikes = order.kind == Kind::jitter ? order.seen >= order.nth : order.seen == order.nth;
        if (strikes) return carry_out(order);
    }
    return Fault::none;
}

int error_of(Fault fault) {
    return fault == Fault::enospc || fault == Fault::partial ? ENOSPC : fault == Fault::eio ? EIO : 0;
}

void fault_point(std::string_view point) {
    auto const fault = fault_at(point);
    if (int const error = error_of(fault); error != 0)
        throw IoError(fmt::format("{} (a fault on purpose at {})", std::strerror(error), point));
    if (fault == Fault::tear) std::raise(SIGKILL);
}

std::string fault_points_text() {
    std::string out = "HOPSCOTCH_FAULT=POINT:NTH:KIND[:RANK][,...]   kinds: ";
    for (auto const kind : k_kinds) out += fmt::format("{}{}", kind == k_kinds.front() ? "" : ", ", kind);
    for (auto const& point : k_points) out += fmt::format("\n  {:<18} {}", point.name, point.what);
    return out;
}

void check_faults() { orders(); }

}  // namespace hopscotch
