// SPDX-License-Identifier: Apache-2.0
#include "comm/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <utility>

#include "comm/world.hpp"

namespace hopscotch {
namespace {

constexpr double k_look_s = 0.1;  // a look at one process takes some 13 us

// Fields of /proc/PID/stat, counted from the state, which follows the name in brackets (man 5 proc, fields 3 and 22).
constexpr int k_started_field = 19;

// /proc may belong to a namespace that is not this process's: a pid then names a different process there.
bool table_is_ours() {
    std::error_code error;
    return std::filesystem::read_symlink("/proc/self", error) == std::to_string(getpid());
}

std::string this_place() {
    std::string boot;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
    struct stat pids = {};
    if (boot.empty() || ::stat("/proc/self/ns/pid", &pids) != 0 || !table_is_ours()) return "";
    return fmt::format("{} {} {}:{}", host_name(), boot, pids.st_dev, pids.st_ino);
}

}  // namespace

ProcessEntry parse_process_entry(std::string_view stat) {
    auto const bracket = stat.rfind(") ");  // the name may contain brackets
    if (bracket == std::string_view::npos || bracket + 2 >= stat.size()) return {};
    auto rest = stat.substr(bracket + 2);
    ProcessEntry entry{ProcessEntry::Kind::present, rest.front(), 0};
    for (int field = 0; field < k_started_field; ++field) {
        auto const space = rest.find(' ');
        if (space == std::string_view::npos) return {};
        rest.remove_prefix(space + 1);
    }
    auto const parsed = std::from_chars(rest.data(), rest.data() + rest.size(), entry.started);
    return parsed.ec == std::errc() ? entry : ProcessEntry{};
}

ProcessEntry read_process_entry(std::int64_t pid) {
    int const file = ::open(fmt::format("/proc/{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return {errno == ENOENT ? ProcessEntry::Kind::absent : ProcessEntry::Kind::unknown};
    std::array<char, 1024> text;
    auto const size = ::read(file, text.data(), text.size());
    bool const gone = size < 0 && errno == ESRCH;  // it ended after the open
    ::close(file);
    if (gone) return {ProcessEntry::Kind::absent};
    return size > 0 ? parse_process_entry({text.data(), static_cast<std::size_t>(size)}) : ProcessEntry{};
}

ProcessId this_process() {
    auto const entry = read_process_entry(getpid());
    if (entry.kind != ProcessEntry::Kind::present) return {};
    return {this_place(), getpid(), entry.started};
}

bool has_ended(ProcessId const& peer, ProcessId const& self, ProcessTable const& table) {
    if (peer.place.empty() || peer.place != self.place) return false;
    auto const entry = table(peer.pid);
    if (entry.kind != ProcessEntry::Kind::present) return entry.kind == ProcessEntry::Kind::absent;
    return entry.state == 'Z' || entry.state == 'X' || entry.started != peer.started;
}

PeerProcesses::PeerProcesses(ProcessId self, ProcessTable table) : self_(std::move(self)), table_(std::move(table)) {}

void PeerProcesses::meet(Rank rank, ProcessId process) { running_[rank] = std::move(process); }

std::vector<Rank> PeerProcesses::ended(double now_s) {
    if (now_s < next_look_s_) return {};
    next_look_s_ = now_s + k_look_s;
    std::vector<Rank> out(ending_.begin(), ending_.end());
    ending_.clear();
    for (auto const& [rank, process] : running_)
        if (has_ended(process, self_, table_)) ending_.insert(rank);
    for (auto const rank : ending_) running_.erase(rank);
    return out;
}

}  // namespace hopscotch
