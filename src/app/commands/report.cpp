// SPDX-License-Identifier: Apache-2.0
// hopscotch report: one HTML file about a run, or about several.
#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "app/commands/commands.hpp"
#include "app/common/bytes_text.hpp"
#include "app/common/out_file.hpp"
#include "app/report/report_page.hpp"
#include "core/durable_file.hpp"
#include "core/error.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_most_reports = 50;  // all of them are in memory at a time

struct ReportOptions {
    std::vector<std::string> run_dirs;
    std::string out;  // default: report.html in the first run directory
};

int report_command(ReportOptions const& options) {
    if (options.run_dirs.size() > k_most_reports)
        throw ConfigError(
            fmt::format("{} run directories are too many for a page (at most {})", options.run_dirs.size(), k_most_reports));
    if (!options.out.empty()) check_out_file(options.out, "HTML file");
    std::vector<ReportData> runs;
    for (auto const& dir : options.run_dirs) {
        try {
            runs.push_back(read_report(dir));
        } catch (ConfigError const&) {
            throw;
        } catch (DataError const&) {
            throw;
        } catch (Error const& error) {  // adds the directory, which at() of a JSON value cannot know
            throw DataError(fmt::format("{}: {} (not written by this hopscotch?)", dir, error.what()));
        }
    }
    auto const path = options.out.empty() ? std::filesystem::path(options.run_dirs.front()) / "report.html"
                                          : std::filesystem::path(options.out);
    check_out_file(path.string(), "HTML file");
    auto const page = report_page(runs);
    write_atomically(path, page);
    fmt::print("{} ({})\n", path.string(), bytes_text(page.size()));
    return 0;
}

}  // namespace

Work add_report(CLI::App& command) {
    auto const options = std::make_shared<ReportOptions>();
    command.add_option("run_dirs", options->run_dirs, "Run directories, of runs that have ended or not")
        ->required()
        ->type_name("RUN_DIR");
    command.add_option("--out", options->out, "The file to write (default: report.html in the first run directory)")
        ->type_name("FILE");
    command.footer(
        "The page needs no network and no server. Several runs: the page compares them.\n"
        "Example: hopscotch report runs/digits");
    return on_first_rank([options] { return report_command(*options); });
}

}  // namespace hopscotch
