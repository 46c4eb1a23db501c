// SPDX-License-Identifier: Apache-2.0
#include "strategy/common/placement.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <set>
#include <vector>

#include "core/cpu_features.hpp"

namespace hopscotch {

std::vector<std::int32_t> allowed_cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<std::int32_t> cores;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;  // more cores than a cpu_set_t holds: no advice
    for (int core = 0; core < CPU_SETSIZE; ++core)
        if (CPU_ISSET(core, &set)) cores.push_back(core);
    return cores;
}

std::int32_t online_cores() { return static_cast<std::int32_t>(sysconf(_SC_NPROCESSORS_ONLN)); }

namespace {

std::string cpu_model() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
    return "unknown";
}

}  // namespace

std::string cpu_kind() {
    auto out = cpu_model() + ", " + features_text(cpu_features());
    for (auto const* const name :
         {"ATEN_CPU_CAPABILITY", "DNNL_MAX_CPU_ISA", "MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS", "ONEDNN_MAX_CPU_ISA"})
        if (auto const* const value = std::getenv(name)) out += fmt::format(", {}={}", name, value);
    return out;
}

namespace {

double thread_s() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

double core_speed() {
    constexpr std::size_t k_side = 48;
    constexpr double k_all_s = 3e-3;
    std::vector<float> a(k_side * k_side, 1.0F), b(k_side * k_side, 0.5F), c(k_side * k_side);
    auto const products = [&] {
        for (std::size_t i = 0; i < k_side; ++i)
            for (std::size_t k = 0; k < k_side; ++k)
                for (std::size_t j = 0; j < k_side; ++j) c[i * k_side + j] += a[i * k_side + k] * b[k * k_side + j];
    };
    double best = 0;
    for (double const begun = thread_s(); thread_s() < begun + k_all_s;) {
        auto const start = thread_s();
        products();
        best = std::max(best, static_cast<double>(k_side * k_side * k_side) / std::max(1e-9, thread_s() - start));
        static_cast<void>(static_cast<float volatile&>(c[0]) = 0);  // the compiler must not leave the sums out
    }
    return best;
}

std::uint64_t memory_bytes() {
    struct sysinfo info{};
    return sysinfo(&info) == 0 ? static_cast<std::uint64_t>(info.totalram) * info.mem_unit : 0;
}

namespace {

struct Host {
    std::vector<int> ranks;
    std::set<std::int32_t> cores;  // of all its trainers
    std::int32_t all_cores = 0;
};

std::string advice_for(std::string const& name, Host const& host, int threads) {
    auto const wanted = host.ranks.size() * static_cast<std::size_t>(threads);
    if (host.cores.empty() || host.cores.size() >= wanted) return "";
    bool const bound = host.cores.size() < static_cast<std::size_t>(host.all_cores);
    auto const has = fmt::format("{} runs {} trainer(s) of {} thread(s) on {} core(s)", name, host.ranks.size(), threads,
                                 host.cores.size());
    if (!bound) return has + ": they take turns; start no more than the host has cores for";
    return fmt::format(
        "{} of its {}: the launcher has bound ranks {} to them, and they take turns; write `mpirun --bind-to none`, or "
        "`srun --cpus-per-task={}`",
        has, host.all_cores, fmt::join(host.ranks, ", "), threads);
}

}  // namespace

std::vector<std::string> seating_advice(std::map<Rank, Seating> const& trainers, int threads) {
    std::map<std::string, Host> hosts;
    std::vector<std::string> advice;
    std::vector<int> cramped;
    for (auto const& [rank, seating] : trainers) {
        auto& host = hosts[seating.host];
        host.ranks.push_back(rank.value);
        host.cores.insert(seating.own_cores.begin(), seating.own_cores.end());
        host.all_cores = seating.host_cores;
        if (!seating.own_cores.empty() && seating.own_cores.size() < static_cast<std::size_t>(threads))
            cramped.push_back(rank.value);
    }
    for (auto const& [name, host] : hosts)
        if (auto line = advice_for(name, host, threads); !line.empty()) advice.push_back(std::move(line));
    if (advice.empty() && !cramped.empty())
        advice.push_back(fmt::format(
            "rank(s) {} may run on fewer cores than run.threads ({}); write `mpirun --map-by slot:PE={} --bind-to "
            "core`, or `srun --cpus-per-task={}`",
            fmt::join(cramped, ", "), threads, threads, threads));
    return advice;
}

std::uint64_t peak_rss_bytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace hopscotch
