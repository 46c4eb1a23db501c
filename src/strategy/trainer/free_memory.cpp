// SPDX-License-Identifier: Apache-2.0
#include "strategy/trainer/free_memory.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace hopscotch {
namespace {

namespace fs = std::filesystem;

constexpr auto k_no_limit = std::numeric_limits<std::uint64_t>::max();

// A number, or "max".
std::uint64_t limit_in(fs::path const& file) {
    std::uint64_t bytes = 0;
    return std::ifstream(file) >> bytes ? bytes : k_no_limit;
}

// Of the group and all groups below: anonymous memory and shared memory (v2: anon, shmem; v1: total_rss, total_shmem). The
// kernel takes the other pages, of files, back when memory is short. MemAvailable counts in the same way. memory.current
// counts those pages too: it is near the limit in every job that has read its data.
std::uint64_t used_in_group(fs::path const& group) {
    constexpr std::array<std::string_view, 4> k_counted{"anon", "shmem", "total_rss", "total_shmem"};
    std::uint64_t used = 0, bytes = 0;
    std::ifstream statistics(group / "memory.stat");
    for (std::string word; statistics >> word >> bytes;)
        if (std::ranges::count(k_counted, word) > 0) used += bytes;
    return used;
}

std::uint64_t free_in_group(fs::path const& group) {
    auto least = k_no_limit;
    for (auto const* name : {"memory.max", "memory.high", "memory.limit_in_bytes"})
        least = std::min(least, limit_in(group / name));
    return least == k_no_limit ? least : least - std::min(least, used_in_group(group));
}

std::vector<std::string> split(std::string const& text, char separator) {
    std::vector<std::string> words;
    std::istringstream stream(text);
    for (std::string word; std::getline(stream, word, separator);) words.push_back(word);
    return words;
}

bool has_word(std::string const& list, std::string_view word) { return std::ranges::count(split(list, ','), word) > 0; }

// This process's group in the tree of v2 ("0::/job"), and in the tree of v1 that counts memory ("4:memory:/job"). Empty:
// none.
struct OwnGroups {
    std::string v2, v1;
};

OwnGroups own_groups(fs::path const& file) {
    OwnGroups own;
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);) {
        auto const first = line.find(':'), second = line.find(':', first + 1);
        if (first == line.npos || second == line.npos) continue;
        auto const controllers = line.substr(first + 1, second - first - 1);
        if (controllers.empty()) own.v2 = line.substr(second + 1);
        if (has_word(controllers, "memory")) own.v1 = line.substr(second + 1);
    }
    return own;
}

// A line of mountinfo: id parent device root place options [tags] - type source options.
struct Mount {
    std::string root, place;  // root: the group that is seen at the place
    bool v2 = false, v1_memory = false;
};

Mount mount_of(std::string const& line) {
    auto const words = split(line, ' ');
    auto const dash = std::ranges::find(words, "-");
    if (words.size() < 5 || words.end() - dash < 2) return {};
    bool const v1 = dash[1] == "cgroup" && words.end() - dash > 3 && has_word(dash[3], "memory");
    return {words[3], words[4], dash[1] == "cgroup2", v1};
}

// From the group up to the root of the mount. A container may not see its own group under the mount ("/../job", or a mount
// of another group): then only the root of the mount is left, which is above the group.
std::uint64_t free_up_from(std::string const& group, Mount const& mount, fs::path const& place) {
    auto least = free_in_group(place);
    auto below = fs::path(group).lexically_relative(mount.root);
    if (below.empty() || *below.begin() == "..") return least;
    for (; !below.empty() && below != "."; below = below.parent_path())
        least = std::min(least, free_in_group(place / below));
    return least;
}

std::uint64_t free_in_groups(fs::path const& root) {
    auto const own = own_groups(root / "proc/self/cgroup");
    auto least = k_no_limit;
    std::ifstream lines(root / "proc/self/mountinfo");
    for (std::string line; std::getline(lines, line);) {
        auto const mount = mount_of(line);
        auto const& group = mount.v2 ? own.v2 : own.v1;
        if ((!mount.v2 && !mount.v1_memory) || group.empty()) continue;
        least = std::min(least, free_up_from(group, mount, root / fs::path(mount.place).relative_path()));
    }
    return least;
}

std::uint64_t free_on_host(fs::path const& root) {
    std::uint64_t kilobytes = 0;
    std::ifstream meminfo(root / "proc/meminfo");
    for (std::string word; meminfo >> word;)
        if (word == "MemAvailable:") meminfo >> kilobytes;
    return kilobytes * 1024;
}

}  // namespace

std::uint64_t free_memory_bytes(fs::path const& root) { return std::min(free_on_host(root), free_in_groups(root)); }

std::uint64_t state_memory(std::uint64_t configured, int trainers_on_host) {
    if (configured > 0) return configured;
    return free_memory_bytes() / 3 / static_cast<std::uint64_t>(std::max(1, trainers_on_host));
}

}  // namespace hopscotch
