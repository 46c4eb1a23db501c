// SPDX-License-Identifier: Apache-2.0
#include "job/print_result.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "core/log.hpp"
#include "data/dataset/manifest.hpp"
#include "experiment/metric.hpp"
#include "experiment/strategy_traits.hpp"
#include "rundir/summary.hpp"
#include "view/comparisons.hpp"
#include "view/leaderboard.hpp"
#include "view/terminal.hpp"

namespace hopscotch {
namespace {

// "loss 0.3120, accuracy 0.9021": those that exist.
std::string test_text(Metrics const& metrics, Task task) {
    std::string text;
    using Shown = MetricTraits::Shown;
    for (auto const& metric : metric_traits()) {
        bool const told = metric.shown == Shown::always || (metric.shown == Shown::for_tokens && task == Task::language);
        auto const value = metric_value(metrics, metric.name);
        if (told && std::isfinite(value))
            text += fmt::format("{}{} {:.4f}", text.empty() ? "" : ", ", metric.short_name(), value);
    }
    for (auto const& score : metrics.own) text += fmt::format(", {} {:.4f}", score.name.substr(4), score.value);
    return text;
}

// ", 12.3 MB of gradients moved"; empty if the strategy sent none. Bytes are counted by each job for itself.
std::string moved_text(Summary const& summary) {
    auto const& traits = strategy_traits(summary.setting.strategy);
    auto const& bytes = summary.bytes.sent;
    auto const* by = summary.history.jobs > 1 ? " by this job" : "";
    auto const text = [&](std::int64_t moved) {
        return moved == 0
                   ? ""
                   : fmt::format(", {:.1f} MB of {} moved{}", static_cast<double>(moved) / 1e6, traits.traffic_word, by);
    };
    switch (traits.traffic) {
        case StrategyTraits::Traffic::states:
            return fmt::format(", {} hops in finished laps, {:.1f} MB of states moved{}", summary.times.hops,
                               static_cast<double>(bytes.state) / 1e6, by);
        case StrategyTraits::Traffic::gradients: return text(bytes.gradient);
        // Staged rows, or those of remote trials, and the best model, which is little beside them.
        case StrategyTraits::Traffic::rows: return text(summary.bytes.staged > 0 ? summary.bytes.staged : bytes.data);
        case StrategyTraits::Traffic::none: break;
    }
    return "";
}

void print_exchange(Summary const& summary) {
    double exposed_s = 0;
    for (auto const seconds : summary.sync.exposed_s) exposed_s += seconds;
    bool const others = summary.sync.exposed_s.size() > 1;
    if (others && exposed_s > 0 && summary.times.makespan_s > 0)
        fmt::print("{:.1f} % of the trainers' time waited for each other\n",
                   100 * exposed_s / (summary.times.makespan_s * static_cast<double>(summary.sync.exposed_s.size())));
    if (!summary.setting.injected.empty()) fmt::print("injected: {}\n", fmt::join(summary.setting.injected, ", "));
}

}  // namespace

void print_result(Summary const& summary, Task task, std::filesystem::path const& run_dir) {
    int const columns = terminal_of(1).columns;
    fmt::print("{}{}{}{}", leaderboard(summary, columns), printable(best_configuration(summary, columns)),
               ablation_text(summary), pareto_text(summary));
    if (summary.result.test)
        fmt::print("test: {} rows, {}\n", summary.result.test->rows, test_text(*summary.result.test, task));
    bool const interrupted = summary.status == RunStatus::interrupted;
    fmt::print("{} in {:.2f} s (set-up {:.2f} s): {} units{}{}\n", name_of(summary.status), summary.times.wall_s,
               summary.times.setup_s, summary.times.units, interrupted ? " in finished laps" : "", moved_text(summary));
    fmt::print("makespan {:.2f} s, lower bound {:.2f} s, trainers busy {:.0f} %{}{}\n", summary.times.makespan_s,
               summary.times.lower_bound_s, 100 * summary.times.utilisation,
               interrupted ? " with laps that have ended (others count when they end)" : "",
               summary.setting.synthetic ? "; SYNTHETIC model: losses and accuracies mean nothing" : "");
    print_exchange(summary);
    fmt::print("run directory: {}\n", run_dir.string());
    if (interrupted) fmt::print("hopscotch resume {} continues the run\n", run_dir.string());
}

}  // namespace hopscotch
