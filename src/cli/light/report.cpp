// SPDX-License-Identifier: Apache-2.0
// hopscotch report: one HTML file about a run, or about several.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/common/commands.hpp"
#include "cli/common/out_file.hpp"
#include "core/durable_file.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "core/quantity_text.hpp"
#include "report/report_page.hpp"
#include "report/report_text.hpp"
#include "rundir/run_directory.hpp"
#include "view/terminal.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_most_reports = 50;  // all of them are in memory at a time

struct ReportOptions {
    std::vector<std::string> run_dirs;
    std::string out;  // default: report.html in the first run directory
    bool text = false;
    ComparedMetric metric;
};

// Before anything is read. by_itself: no --out was given; the reader reports a directory that holds no run.
void check_page(std::filesystem::path const& path, bool by_itself) {
    if (!by_itself) return check_out_file(path.string(), "HTML file");
    if (!holds_run(path.parent_path())) return;
    try {
        check_out_file(path.string(), "HTML file");
    } catch (ConfigError const&) {
        throw ConfigError(
            fmt::format("{}: cannot be written (a directory of that name, or no right to write); name a file with --out",
                        path.string()));
    }
}

int report_command(ReportOptions const& options) {
    if (options.run_dirs.size() > k_most_reports)
        throw ConfigError(
            fmt::format("{} run directories are too many for a page (at most {})", options.run_dirs.size(), k_most_reports));
    auto const path = options.out.empty() ? std::filesystem::path(options.run_dirs.front()) / "report.html"
                                          : std::filesystem::path(options.out);
    if (!options.text) check_page(path, options.out.empty());
    std::vector<RunResults> runs;
    for (auto const& dir : options.run_dirs) {
        try {
            runs.push_back(read_results(dir, options.metric));
        } catch (ConfigError const&) {
            throw;
        } catch (DataError const&) {
            throw;
        } catch (Error const& error) {  // adds the directory, unknown to at() of a JSON value
            throw DataError(fmt::format("{}: {} (not written by this hopscotch?)", dir, error.what()));
        }
    }
    if (options.text) {
        for (auto const& run : runs) fmt::print("{}", printable(report_text(run, terminal_of(1).columns)));
        return 0;
    }
    auto const page = report_page(runs);
    write_atomically(path, page);
    fmt::print("{} ({})\n", path.string(), bytes_text(page.size()));
    return 0;
}

}  // namespace

Work add_report(Command command) {
    auto const options = std::make_shared<ReportOptions>();
    command.add_option("run_dirs", options->run_dirs, "Run directories, of runs that have ended or not")
        .required()
        .type_name("RUN_DIR");
    auto out =
        command.add_option("--out", options->out, "The file to write (default: report.html in the first run directory)")
            .type_name("FILE");
    auto const text =
        command.add_flag("--text", options->text, "Print the trials and the errors of the best model; write no page");
    out.excludes(text);
    auto const metric =
        command.add_option("--metric", options->metric.name, "Compare the trials by this metric, not by that of the search")
            .type_name("NAME");
    command
        .add_choice<std::optional<Mode>>("--mode", {{"max", Mode::max}, {"min", Mode::min}}, options->metric.mode,
                                         "Which values of --metric are better (default: as the metric says)")
        .needs(metric);
    command.footer(
        "The page needs no network and no server. Several runs: the page compares them.\n"
        "Examples: hopscotch report runs/digits\n"
        "          hopscotch report runs/digits --text --metric val_f1");
    return on_first_rank([options] { return report_command(*options); });
}

}  // namespace hopscotch
