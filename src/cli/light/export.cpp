// SPDX-License-Identifier: Apache-2.0
// hopscotch export: a run as a file of another tool.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "analysis/export/epochs_csv.hpp"
#include "analysis/export/optuna_journal.hpp"
#include "cli/common/commands.hpp"
#include "cli/common/out_file.hpp"
#include "core/durable_file.hpp"
#include "core/error.hpp"
#include "core/quantity_text.hpp"

namespace hopscotch {
namespace {

struct Format {
    std::string kind, file;  // kind: for errors; file: its default name in the run directory
    std::string (*write)(RunResults const& data);
};

struct ExportOptions {
    std::string run_dir, out;
};

int export_command(Format const& format, ExportOptions const& options) {
    auto const path =
        options.out.empty() ? std::filesystem::path(options.run_dir) / format.file : std::filesystem::path(options.out);
    auto const data = read_results(options.run_dir);
    check_out_file(path.string(), format.kind);
    auto const text = format.write(data);
    write_atomically(path, text);
    fmt::print("{} ({})\n", path.string(), bytes_text(text.size()));
    return 0;
}

std::function<Work(Command)> exporter(Format format, std::string footer) {
    return [format = std::move(format), footer = std::move(footer)](Command command) {
        auto const options = std::make_shared<ExportOptions>();
        command.add_option("run_dir", options->run_dir, "The run, which may still train").required().type_name("RUN_DIR");
        command
            .add_option("--out", options->out,
                        fmt::format("The file to write (default: {} in the run directory)", format.file))
            .type_name("FILE");
        command.footer(footer);
        return on_first_rank([format, options] { return export_command(format, *options); });
    };
}

}  // namespace

Work add_export(Command command) {
    return command.add_sub_commands(
        {{"optuna", "An Optuna study, for optuna-dashboard and optuna.load_study",
          exporter({"journal file", "study.log", optuna_journal},
                   "Example: hopscotch export optuna runs/digits && optuna-dashboard runs/digits/study.log")},
         {"csv", "A table with a row for each trial and epoch, for pandas, R or a spreadsheet",
          exporter({"CSV file", "epochs.csv", epochs_csv}, "Example: hopscotch export csv runs/digits --out digits.csv")}});
}

}  // namespace hopscotch
