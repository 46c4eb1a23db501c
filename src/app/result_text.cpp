// SPDX-License-Identifier: Apache-2.0
#include "app/result_text.hpp"

#include <fmt/format.h>

#include <cmath>

#include "run/leaderboard.hpp"
#include "run/terminal.hpp"

namespace hopscotch {
namespace {

// "loss 0.3120, accuracy 0.9021": those that exist.
std::string test_text(Metrics const& metrics, Task task) {
    std::string text;
    for (auto const* name : {"loss", "accuracy", "f1", "auc", "mae", "r2", "perplexity"}) {
        auto const value = metric_value(metrics, std::string("val_") + name);
        bool const told = std::string_view(name) != "perplexity" || task == Task::language;
        if (told && std::isfinite(value)) text += fmt::format("{}{} {:.4f}", text.empty() ? "" : ", ", name, value);
    }
    return text;
}

}  // namespace

void print_result(Summary const& summary, Task task, std::filesystem::path const& run_dir) {
    fmt::print("{}", leaderboard(summary, terminal_of(1).columns));
    if (summary.test)
        fmt::print("test: {} rows, {}\n", summary.test->rows, test_text(*summary.test, task));
    fmt::print("{} in {:.2f} s (set-up {:.2f} s): {} units, {} hops in finished laps, {:.1f} MB of states moved\n",
               name_of(summary.status), summary.wall_s, summary.setup_s, summary.units, summary.hops,
               static_cast<double>(summary.bytes.state) / 1e6);
    fmt::print("makespan {:.2f} s, lower bound {:.2f} s, trainers busy {:.0f} %{}\n", summary.makespan_s,
               summary.lower_bound_s, 100 * summary.utilisation,
               summary.synthetic ? "; SYNTHETIC model: losses and accuracies mean nothing" : "");
    fmt::print("run directory: {}\n", run_dir.string());
}

}  // namespace hopscotch
