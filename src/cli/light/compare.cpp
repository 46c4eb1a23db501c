// SPDX-License-Identifier: Apache-2.0
// Compares runs of one experiment. They must have done the same work, but perhaps in different ways.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "analysis/compare/comparable.hpp"
#include "analysis/compare/comparison_text.hpp"
#include "analysis/compare/predictions.hpp"
#include "cli/common/commands.hpp"
#include "cli/common/quantity.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "experiment/strategy_traits.hpp"
#include "view/terminal.hpp"

namespace hopscotch {
namespace {

struct CompareOptions {
    std::vector<std::string> run_dirs;
    std::optional<double> target;          // of search.metric; default: the worst of the runs' best
    std::optional<std::string> bandwidth;  // "1gbit": also shows the predictions of the cost model
    std::string latency = "0.1ms";
    bool json = false, anyway = false;  // anyway: also runs that did different work
};

// The width of the terminal; for a file or a pipe, the width of a page of text.
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

// The base of the comparison stands first, also in the table: the mop run, or else the first run.
void base_first(std::vector<ComparedRun>& runs) {
    auto const hops = [](auto const& run) {
        return strategy_traits(run.recorded.facts.strategy).training == Training::hopping;
    };
    auto const mop = std::ranges::find_if(runs, hops);
    if (mop != runs.end()) std::rotate(runs.begin(), mop, mop + 1);
}

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
        throw ConfigError(fmt::format(
            "these runs cannot be compared (they did not do the same work to the end); --anyway compares them all the same"
            "\n  {}",
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
        fmt::print("{}", printable(comparison_text(comparison, table_columns())));
    return 0;
}

}  // namespace

Work add_compare(Command command) {
    auto const options = std::make_shared<CompareOptions>();
    command.add_option("run_dirs", options->run_dirs, "Run directories").required().type_name("RUN_DIR");
    command.add_option("--target", options->target, "Time to this value of search.metric (default: the worst run's best)")
        .type_name("VALUE");
    command.add_value(
        "--bandwidth", [options](std::string const& text) { options->bandwidth = text; },
        "Add the prediction of the cost model for links of this bandwidth: 1gbit, 12.5GB/s");
    command.add_option("--latency", options->latency, "With --bandwidth: latency of the links").shows_default();
    command.add_flag("--json", options->json, "Print one JSON document instead of a table");
    command.add_flag("--anyway", options->anyway,
                     "Also compare unfinished runs, and runs with other data, model, space, search or epochs");
    command.footer(
        "Ratios are to the mop run. Without a mop run, they are to the first run.\n"
        "Example: hopscotch compare runs/mop runs/ring --bandwidth 1gbit");
    return on_first_rank([options] { return compare_command(*options); });
}

}  // namespace hopscotch
