// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "cli/common/launch.hpp"
#include "core/quantity_text.hpp"

namespace hopscotch {
namespace {

constexpr std::uint64_t k_open_files = 1024;
constexpr std::uint64_t k_shared_bytes = std::uint64_t{1} << 30;
constexpr std::uint64_t k_locked_bytes = std::uint64_t{1} << 30;
constexpr std::uint64_t k_folder_bytes = std::uint64_t{1} << 30;
constexpr double k_clock_s = 1;  // for larger differences, time lines of two hosts look wrong
constexpr double k_round_trip_s = 0.005;
constexpr double k_slow_link = 110e6;        // bytes/s: what TCP leaves of one Gbit/s
constexpr double k_slow_infiniband = 1.5e9;  // below, messages go through TCP

using Findings = std::vector<Finding>;

// One finding for all ranks for which `what` has the same text.
void by_text(Checkup const& checkup, bool fatal, std::function<std::string(RankFacts const&)> const& what, Findings& out) {
    std::map<std::string, std::vector<std::int32_t>> ranks;
    std::map<std::string, std::set<std::string>> hosts;
    for (auto const& rank : checkup.ranks) {
        auto const text = what(rank);
        if (text.empty()) continue;
        ranks[text].push_back(rank.rank);
        hosts[text].insert(rank.host);
    }
    for (auto const& [text, of] : ranks) {
        std::string on;
        for (auto const& host : hosts[text]) on += (on.empty() ? "" : ", ") + host;
        out.push_back({fatal, fmt::format("rank {} ({}): {}", ranks_text(of), on, text)});
    }
}

void look_at_launch(Checkup const& checkup, Findings& out) {
    auto const seen = static_cast<int>(checkup.ranks.size());
    if (auto problem = launch_problem(checkup.started, seen); !problem.empty()) {
        out.push_back({true, std::move(problem)});
        return;
    }
    if (checkup.started == 1)
        out.push_back({false,
                       "one process under a launcher trains with threads of one host (rank 0 schedules, each other "
                       "process is a trainer); start one process more than trainers"});
    if (checkup.srun_may_crash)
        out.push_back(
            {false,
             "SLURM_PMIX_FENCE is not ring (on several nodes, starts now and then end with a segmentation fault in "
             "MPI_Init); set it to ring before srun"});
}

void look_at_builds(Checkup const& checkup, Findings& out) {
    auto const& first = checkup.ranks.front();
    by_text(
        checkup, true,
        [&](RankFacts const& rank) {
            return rank.build == first.build ? ""
                                             : fmt::format("runs build {} (rank 0 runs {}); start every rank from one build",
                                                           rank.build, first.build);
        },
        out);
    by_text(
        checkup, false,
        [&](RankFacts const& rank) {
            return rank.cpu == first.cpu ? ""
                                         : fmt::format(
                                               "has another kind of CPU, {} (rank 0: {}); bits may differ from those of "
                                               "other kinds, results do not",
                                               rank.cpu, first.cpu);
        },
        out);
}

void look_at_folder(Checkup const& checkup, Findings& out) {
    by_text(
        checkup, true,
        [&](RankFacts const& rank) {
            return rank.folder_error.empty() ? ""
                                             : fmt::format("{} {}; put run.dir on a file system that all hosts share",
                                                           checkup.folder, rank.folder_error);
        },
        out);
    if (checkup.folder_free_bytes < k_folder_bytes)
        out.push_back(
            {false, fmt::format("{} has {} free (checkpoints and metrics go there); hopscotch run --dry-run prints "
                                "the need of an experiment",
                                checkup.folder, bytes_text(checkup.folder_free_bytes))});
}

void look_at_limits(Checkup const& checkup, Findings& out) {
    by_text(
        checkup, false,
        [](RankFacts const& rank) {
            return rank.limits.open_files >= k_open_files
                       ? ""
                       : fmt::format(
                             "may open {} files (many trials and shards need more); write `ulimit -n {}` before the "
                             "launcher",
                             rank.limits.open_files, k_open_files);
        },
        out);
    by_text(
        checkup, false,
        [](RankFacts const& rank) {
            return rank.limits.file_bytes >= k_folder_bytes
                       ? ""
                       : fmt::format(
                             "may write files of at most {} (a checkpoint may be larger); write `ulimit -f unlimited`",
                             bytes_text(rank.limits.file_bytes));
        },
        out);
}

void look_at_memory(Checkup const& checkup, Findings& out) {
    by_text(
        checkup, false,
        [](RankFacts const& rank) {
            return rank.shared_bytes >= k_shared_bytes
                       ? ""
                       : fmt::format(
                             "/dev/shm has {} free (states hop there between processes of a host); enlarge it, for "
                             "example with `docker run --shm-size=8g`",
                             bytes_text(rank.shared_bytes));
        },
        out);
    by_text(
        checkup, false,
        [](RankFacts const& rank) {
            return !rank.infiniband || rank.limits.locked_bytes >= k_locked_bytes
                       ? ""
                       : fmt::format(
                             "may lock {} of memory (InfiniBand needs locked memory); ask for `ulimit -l unlimited`, "
                             "under Slurm with PropagateResourceLimitsExcept=MEMLOCK",
                             bytes_text(rank.limits.locked_bytes));
        },
        out);
}

void look_at_devices(Checkup const& checkup, Findings& out) {
    by_text(checkup, true, [](RankFacts const& rank) { return rank.training_error; }, out);
    for (auto const& line : checkup.advice) out.push_back({false, line});
}

void look_at_clocks(Checkup const& checkup, Findings& out) {
    by_text(
        checkup, false,
        [](RankFacts const& rank) {
            return std::abs(rank.clock.ahead_s) <= k_clock_s
                       ? ""
                       : fmt::format(
                             "its clock is {} by {:.0f} s (time lines of several hosts look wrong; results do not "
                             "change); set the clock with NTP",
                             rank.clock.ahead_s > 0 ? "ahead" : "behind", std::abs(rank.clock.ahead_s));
        },
        out);
}

void look_at_links(Checkup const& checkup, Findings& out) {
    by_text(
        checkup, false,
        [](RankFacts const& rank) {
            return rank.clock.round_trip_s <= k_round_trip_s
                       ? ""
                       : fmt::format(
                             "a message of rank 0 and its answer take {:.0f} ms or more (each lap waits for one); look "
                             "for a busy core or a slow network",
                             std::floor(rank.clock.round_trip_s * 100) * 10);
        },
        out);
    for (auto const& link : checkup.links) {
        auto const speed =
            fmt::format("{} to {}: {}/s", link.from, link.to, bytes_text(static_cast<std::uint64_t>(link.bytes_per_s)));
        if (link.infiniband && link.bytes_per_s < k_slow_infiniband)
            out.push_back({false, speed + " (slow for InfiniBand: messages may go through TCP); build the MPI library with "
                                          "UCX, or unset OMPI_MCA_btl and OMPI_MCA_pml"});
        else if (link.bytes_per_s < k_slow_link)
            out.push_back({false, speed + " (slower than 1 Gbit/s; hops of large models will not be hidden); hopscotch plan "
                                          "--bandwidth tells what that costs"});
    }
}

}  // namespace

std::string ranks_text(std::vector<std::int32_t> ranks) {
    std::ranges::sort(ranks);
    std::string out;
    for (std::size_t first = 0, last = 0; first < ranks.size(); first = ++last) {
        while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
        out += fmt::format("{}{}", first == 0 ? "" : ", ", ranks[first]);
        if (last > first) out += fmt::format("-{}", ranks[last]);
    }
    return out;
}

std::vector<Finding> findings_of(Checkup const& checkup) {
    Findings out;
    look_at_launch(checkup, out);
    look_at_builds(checkup, out);
    look_at_folder(checkup, out);
    look_at_devices(checkup, out);
    look_at_limits(checkup, out);
    look_at_memory(checkup, out);
    look_at_clocks(checkup, out);
    look_at_links(checkup, out);
    std::ranges::stable_partition(out, &Finding::fatal);
    return out;
}

}  // namespace hopscotch
