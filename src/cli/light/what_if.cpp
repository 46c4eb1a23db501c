// SPDX-License-Identifier: Apache-2.0
// Plays searches on results that are known.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>

#include "analysis/what_if/picture.hpp"
#include "cli/common/commands.hpp"
#include "cli/common/out_file.hpp"
#include "core/durable_file.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "rundir/recorded_run.hpp"

namespace hopscotch {
namespace {

constexpr int k_usual_orders = 20, k_most_orders = 10'000;
constexpr std::int64_t k_usual_trainings = 20;  // of a table: the budget of each search

struct WhatIfOptions {
    std::string source;
    std::vector<std::string> procedures, overrides;
    std::optional<int> epochs;
    int orders = k_usual_orders;
    CurveColumns columns;
    bool json = false;
    std::optional<std::string> picture;  // a path
};

void print(WhatIf const& what_if, WhatIfOptions const& options) {
    if (options.picture) write_atomically(*options.picture, what_if_picture(what_if));
    if (options.json)
        fmt::print("{}\n", what_if_json(what_if).dump(2));
    else
        fmt::print("{}", printable(what_if_text(what_if)));
}

// The run's own search must decide as it did.
int check_own_search(RecordedRun const& run, KnownTrials const& known, WhatIfOptions const& options) {
    WhatIf what_if{known, known.epochs(), {}};
    auto played = play_own_search(known, run);
    auto const difference = first_difference(run.journal.decisions, played.decisions);
    auto const decisions = played.decisions.size();
    what_if.rows.push_back({run.experiment.search.procedure, {std::move(played)}});
    print(what_if, options);
    if (difference)
        throw Error(
            fmt::format("{}: its search decides otherwise now ({}); the run began with another version, or its "
                        "journal was changed",
                        known.source, *difference));
    if (!options.json) fmt::print("\nall {} decisions are those of the run\n", decisions);
    return 0;
}

std::int64_t budget_of(KnownTrials const& known, WhatIfOptions const& options, bool is_run) {
    if (options.epochs) return *options.epochs;
    return is_run ? known.epochs() : k_usual_trainings * known.experiment.train.epochs;
}

int what_if_command(WhatIfOptions const& options) {
    std::error_code error;
    if (!std::filesystem::exists(options.source, error))
        throw ConfigError(fmt::format("{}: is not there; name a run directory or a CSV file", options.source));
    if (options.picture) check_out_file(*options.picture, "SVG file", "--svg");
    bool const is_run = std::filesystem::is_directory(options.source, error);
    std::optional<RecordedRun> run;
    if (is_run) run = read_run(options.source);
    auto const known = is_run ? known_trials(*run) : read_curves(options.source, options.columns);
    if (is_run && options.procedures.empty() && options.overrides.empty()) return check_own_search(*run, known, options);
    if (options.procedures.empty() && !is_run)
        throw ConfigError(fmt::format(
            "{}: no search is named (a table has none of its own); add --procedure asha, for example", options.source));
    auto procedures = options.procedures;
    if (procedures.empty()) procedures = {known.experiment.search.procedure};
    WhatIf what_if{known, budget_of(known, options, is_run), {}};
    for (auto const& procedure : procedures) {
        auto& row = what_if.rows.emplace_back();
        row.label = procedure;
        for (auto const& override : options.overrides) row.label += " " + override;
        auto const experiment = experiment_of(known, {procedure, options.overrides, what_if.epochs});
        for (int order = 0; order < options.orders; ++order) row.played.push_back(play(known, experiment, order));
    }
    print(what_if, options);
    return 0;
}

}  // namespace

Work add_what_if(Command command) {
    auto const options = std::make_shared<WhatIfOptions>();
    command
        .add_option("source", options->source, "A run directory, or a CSV file with a row for each configuration and epoch")
        .required()
        .type_name("RUN_DIR|TABLE.csv");
    command.add_option("--procedure", options->procedures, "A search to play; repeatable (default: that of the run)")
        .type_name("NAME")
        .repeatable();
    command.add_option("--set", options->overrides, "A setting of the played searches: search.eta=4; repeatable")
        .type_name("KEY=VALUE")
        .repeatable();
    command
        .add_option("--epochs", options->epochs,
                    "Epochs that each search may train (default: those of the run; of a table 20 trainings)")
        .type_name("N")
        .positive();
    command.add_option("--orders", options->orders, "Orders in which the configurations are tried")
        .shows_default()
        .between(1, k_most_orders);
    command.add_option("--metric", options->columns.metric, "The column of a table that searches compare").type_name("NAME");
    command.add_word(
        "--mode", {"min", "max"}, [options](std::size_t chosen) { options->columns.mode = chosen == 0 ? "min" : "max"; },
        "Of a table: whether small or large values are better");
    command.add_flag("--json", options->json, "Print one JSON document instead of a table");
    command.add_option("--svg", options->picture, "Write a picture: the best value found, against epochs").type_name("FILE");
    command.footer(
        "Without --procedure and --set, a run's own search is played again, and must decide as it did.\n"
        "Nothing is trained. A search tries the known configurations, each order a seed; the first order is that of the "
        "source.\n"
        "Example: hopscotch what-if runs/digits --procedure asha --procedure hyperband --set search.eta=4");
    return on_first_rank([options] { return what_if_command(*options); });
}

}  // namespace hopscotch
