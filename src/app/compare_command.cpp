// SPDX-License-Identifier: Apache-2.0
// Puts runs of one experiment side by side. What they did must be the same: only how they did it may differ.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "app/commands.hpp"
#include "app/compare/comparable.hpp"
#include "app/compare/comparison_text.hpp"
#include "app/compare/predictions.hpp"
#include "app/compare/quantity.hpp"
#include "core/error.hpp"
#include "experiment/strategy_traits.hpp"
#include "run/terminal.hpp"

namespace hopscotch {
namespace {

// A window's width; in a file or a pipe what a page of text takes.
std::size_t table_columns() {
    auto const terminal = terminal_of(1);
    return terminal.kind == Terminal::Kind::live ? static_cast<std::size_t>(terminal.columns) : 100;
}

std::vector<ComparedRun> read_runs(std::vector<std::string> const& dirs) {
    std::vector<ComparedRun> runs;
    std::string problems;
    for (auto const& dir : dirs) try {
            runs.push_back(read_compared_run(dir));
        } catch (ConfigError const& error) {
            problems += fmt::format("{}{}", problems.empty() ? "" : "\n", error.what());
        }
    if (!problems.empty()) throw ConfigError(problems);
    return runs;
}

// The mop run comes first, in the table too; without one the first run is what the others are compared with.
void base_first(std::vector<ComparedRun>& runs) {
    auto const hops = [](auto const& run) { return strategy_traits(run.strategy()).training == Training::hopping; };
    auto const mop = std::ranges::find_if(runs, hops);
    if (mop != runs.end()) std::rotate(runs.begin(), mop, mop + 1);
}

}  // namespace

int compare_command(CompareOptions const& options) {
    std::optional<Link> link;
    if (options.target && !std::isfinite(*options.target)) throw ConfigError("--target must be a finite number");
    if (options.bandwidth)
        link = {parse_bandwidth(*options.bandwidth, "--bandwidth"), parse_duration(options.latency, "--latency")};
    RunComparison comparison;
    comparison.runs = read_runs(options.run_dirs);
    base_first(comparison.runs);
    auto const& base = comparison.runs.front();
    if (comparison.runs.size() == 1) comparison.reasons = reasons_against(base, base);
    for (std::size_t r = 1; r < comparison.runs.size(); ++r) {
        std::ranges::copy(reasons_against(base, comparison.runs[r]), std::back_inserter(comparison.reasons));
        std::ranges::copy(other_differences(base, comparison.runs[r]), std::back_inserter(comparison.notes));
    }
    if (!comparison.reasons.empty() && !options.anyway)
        throw ConfigError(
            fmt::format("these runs cannot be compared (they did not do the same work, to its end) --anyway does it all "
                        "the same\n  {}",
                        fmt::join(comparison.reasons, "\n  ")));
    comparison.target = make_target(comparison.runs, options.target);
    comparison.measured = measures_of(comparison.runs, comparison.target);
    if (link) {
        comparison.link = fmt::format("{}, {}", *options.bandwidth, options.latency);
        comparison.predicted = predicted_measures(comparison.runs, predict(comparison.runs, *link));
    }
    if (options.json)
        fmt::print("{}\n", comparison_json(comparison).dump(2));
    else
        fmt::print("{}", comparison_text(comparison, table_columns()));
    return 0;
}

}  // namespace hopscotch
