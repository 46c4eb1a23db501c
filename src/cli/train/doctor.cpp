// SPDX-License-Identifier: Apache-2.0
// hopscotch doctor: looks at the hosts of a job before a run does.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string_view>

#include "cli/common/commands.hpp"
#include "cli/common/launch.hpp"
#include "cli/doctor/examine.hpp"
#include "comm/mpi_world.hpp"
#include "comm/thread_world.hpp"
#include "core/counted.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "core/quantity_text.hpp"
#include "core/text_table.hpp"
#include "job/build_info.hpp"
#include "view/terminal.hpp"

namespace hopscotch {
namespace {

namespace fs = std::filesystem;

std::string limit_text(std::uint64_t limit) { return limit == UINT64_MAX ? "no limit" : fmt::format("{}", limit); }

std::string gpus_text(std::vector<RankFacts const*> const& ranks) {
    std::map<std::string, int> counts;
    for (auto const* rank : ranks)
        if (!rank->gpu.empty()) ++counts[rank->gpu];
    std::string out;
    for (auto const& [model, count] : counts) out += fmt::format("{}{} x {}", out.empty() ? "" : ", ", count, model);
    return out.empty() ? "none" : out;
}

// GPUs: of trainers, which may share one.
void print_hosts(Checkup const& checkup) {
    std::map<std::string, std::vector<RankFacts const*>> hosts;
    for (auto const& rank : checkup.ranks) hosts[rank.host].push_back(&rank);
    std::vector<std::vector<std::string>> rows{
        {"host", "ranks", "cores", "memory", "GPUs", "/dev/shm free", "open files", "round trip"}};
    bool const clocks = hosts.size() > 1;
    if (clocks) rows.front().emplace_back("clock");
    for (auto const& [host, ranks] : hosts) {
        std::vector<std::int32_t> numbers;
        double trip_s = 0, ahead_s = 0;
        for (auto const* rank : ranks) {
            numbers.push_back(rank->rank);
            trip_s = std::max(trip_s, rank->clock.round_trip_s);
            ahead_s = rank->clock.ahead_s;
        }
        auto const& first = *ranks.front();
        rows.push_back({host, ranks_text(numbers), fmt::format("{}", first.cores), bytes_text(first.memory_bytes),
                        gpus_text(ranks), bytes_text(first.shared_bytes), limit_text(first.limits.open_files),
                        trip_s > 0 ? fmt::format("{:.2f} ms", 1e3 * trip_s) : "-"});
        if (clocks) rows.back().push_back(fmt::format("{:+.3f} s", ahead_s));
    }
    fmt::print("{}", printable(text_table(rows, static_cast<std::size_t>(terminal_of(1).columns))));
}

void print_cpus(Checkup const& checkup) {
    std::map<std::string, std::set<std::string>> hosts;
    for (auto const& rank : checkup.ranks) hosts[rank.cpu].insert(rank.host);
    for (auto const& [cpu, of] : hosts)
        fmt::print("CPU: {} ({})\n", printable(cpu), printable(fmt::format("{}", fmt::join(of, ", "))));
}

void print_checkup(Checkup const& checkup) {
    auto const ranks = std::ssize(checkup.ranks);
    if (ranks == 1) fmt::print("One process: trainers will be threads of it.\n");
    if (ranks > 1) fmt::print("{} processes: rank 0 schedules, {} train.\n", ranks, ranks - 1);
    fmt::print("{}\n\n", version_text());
    print_hosts(checkup);
    fmt::print("\n");
    print_cpus(checkup);
    fmt::print("folder {}: {} free\n", printable(checkup.folder), bytes_text(checkup.folder_free_bytes));
    for (auto const& link : checkup.links)
        fmt::print("link {} to {}: {}/s\n", printable(link.from), printable(link.to),
                   bytes_text(static_cast<std::uint64_t>(link.bytes_per_s)));
}

int print_findings(std::vector<Finding> const& findings) {
    auto const problems = std::ranges::count(findings, true, &Finding::fatal);
    for (auto const& finding : findings)
        fmt::print("{}: {}\n", finding.fatal ? "problem" : "warning", printable(finding.text));
    auto const warnings = std::ssize(findings) - problems;
    if (problems == 0) fmt::print("\nno problem{}\n", warnings > 0 ? ", " + counted(warnings, "warning") : "");
    if (problems > 0) fmt::print("\n{}, {}: a run would fail\n", counted(problems, "problem"), counted(warnings, "warning"));
    return problems > 0 ? k_exit_failed : 0;
}

std::string_view variable(char const* name) {
    auto const* const value = std::getenv(name);
    return value != nullptr ? value : "";
}

// Of srun among several nodes (docs/decisions/0074).
bool is_unsafe_fence() { return variable("SLURM_STEP_NUM_NODES") != "1" && variable("SLURM_PMIX_FENCE") != "ring"; }

int tell(World& world, fs::path const& folder) {
    auto checkup = examine(world, folder);
    auto const launch = launch_by_environment();
    checkup.started = launch.started;
    checkup.srun_may_crash = launch.by_srun && is_unsafe_fence();
    print_checkup(checkup);
    return print_findings(findings_of(checkup));
}

void check_folder(fs::path const& folder) {
    std::error_code error;
    if (!fs::is_directory(folder, error))
        throw ConfigError(
            fmt::format("{}: is not a folder; name the folder that will hold your run directories", folder.string()));
}

// The ranks that are not rank 0 must be let go before it reports bad input.
int doctor_under_mpi(fs::path const& folder) {
    MpiWorld world;
    int exit_code = 0;
    try {
        if (world.rank() == Rank(0))
            exit_code = tell(world, folder);
        else
            be_examined(world);
    } catch (CommError const& error) {
        fmt::print(stderr, "problem: {}\n", printable(error.what()));
        world.abort(k_exit_failed);
    }
    world.finish();
    return exit_code;
}

int doctor_command(fs::path const& folder) {
    if (launched_by_mpi()) return doctor_under_mpi(folder);
    if (auto const* number = std::getenv("SLURM_PROCID"); number != nullptr && std::atoi(number) > 0) return 0;
    check_folder(folder);
    int exit_code = 0;
    run_thread_ranks(1, [&](World& world) { exit_code = tell(world, folder); });
    if (launch_by_environment().started == 0)
        fmt::print(
            "This was one host. To look at all hosts of a job: mpirun -np 5 hopscotch doctor (4 trainers), or srun.\n");
    return exit_code;
}

}  // namespace

Work add_doctor(Command command) {
    auto const folder = std::make_shared<std::string>(".");
    command.add_option("folder", *folder, "The folder that will hold your run directories (default: this one)")
        .type_name("FOLDER");
    command.footer(
        "Start it as you will start `hopscotch run`. It looks at processes, hosts, cores, GPUs, limits, clocks, links\n"
        "between hosts, and whether all ranks share the folder. Each problem and each warning says its cure.\n"
        "Exit codes: 0 a run can start; 1 a run would fail; 2 bad input.\n\n"
        "One host:   hopscotch doctor\n"
        "A cluster:  srun --mpi=pmix hopscotch doctor /shared/runs, or mpirun -np 5 hopscotch doctor /shared/runs");
    return [folder] { return doctor_command(*folder); };
}

}  // namespace hopscotch
