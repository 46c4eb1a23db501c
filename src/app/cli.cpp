// SPDX-License-Identifier: Apache-2.0
#include "app/cli.hpp"

#include <CLI/CLI.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "app/cli_bench.hpp"
#include "app/cli_choice.hpp"
#include "app/cli_import.hpp"
#include "app/commands.hpp"
#include "app/data_commands.hpp"
#include "core/error.hpp"
#include "core/fault.hpp"
#include "core/json_reader.hpp"
#include "core/log.hpp"

namespace hopscotch {
namespace {

// Before MPI_Init only the environment tells; without a launcher this is the one process there is. For bad input the
// other ranks exit with 0: mpirun kills everyone at the first rank that does not, and rank 0 has something to say.
bool first_rank() {
    for (auto const* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
        if (auto const* rank = std::getenv(name)) return std::string(rank) == "0";
    return true;
}

void add_run(CLI::App& app, RunOptions& options) {
    auto* run = app.add_subcommand("run", "Train every trial of an experiment");
    run->add_option("experiment", options.experiment, "The experiment, for example configs/digits-grid.json")
        ->required()
        ->type_name("FILE");
    run->add_option("--set", options.overrides, "Change one setting, for example train.epochs=3 (repeatable)")
        ->allow_extra_args(false)
        ->type_name("PATH=VALUE");
    run->add_option_function<std::string>(
           "--strategy", [&](std::string const& name) { options.strategy = name; },
           "Before --set: replaces the section strategy, all its keys, if that has another name")
        ->type_name("NAME");
    run->add_option("--inject", options.inject, "Trouble on purpose: slow:rank=3,factor=2 or delay:sync_s=20 (repeatable)")
        ->allow_extra_args(false)
        ->type_name("WHAT");
    run->add_option("--trainers", options.trainers, "Without mpirun: that many trainer threads (default: one per core)")
        ->type_name("N");
    run->add_flag("--resume", options.resume, "Go on with the run in run.dir, or start it if there is none");
    run->add_flag("--overwrite", options.overwrite, "Replace an existing run directory");
    run->add_flag("--dry-run", options.dry_run, "Check everything and print what would run; write and train nothing");
    run->add_flag("--quiet", options.quiet, "No progress, only the result");
    run->footer(
        "One process, a trainer a thread:        hopscotch run FILE\n"
        "Rank 0 schedules, two ranks train:      mpirun --oversubscribe -np 3 hopscotch run FILE\n"
        "  (as root, add --allow-run-as-root; with more cores than ranks leave --oversubscribe out)\n\n"
        "Exit codes: 0 finished; 1 failed; 2 bad input, nothing was written or trained; 75 interrupted (--resume goes on).");
}

// A command of the contract that this version does not have: it takes any arguments, so that its error is the one that is
// seen.
CLI::App* add_unavailable(CLI::App& parent, std::string const& name) {
    auto* command = parent.add_subcommand(name, "")->group("")->allow_extras();
    command->set_help_flag();
    return command;
}

void add_data(CLI::App& app, ImportCommands& imports, std::string& directory) {
    auto* data = app.add_subcommand("data", "Make, look at and check dataset directories");
    data->require_subcommand(1);
    add_import(*data, imports);
    for (auto const& [name, what] :
         {std::pair{"inspect", "Say what a dataset directory holds"},
          std::pair{"verify", "Read every row and check hashes, counts, labels and NaN (exit code 1: damaged)"}})
        data->add_subcommand(name, what)
            ->add_option("directory", directory, "A dataset directory")
            ->required()
            ->type_name("DIR");
}

void add_later(CLI::App& app) {
    for (auto const* later : {"plan", "report"}) {
        auto* unavailable = add_unavailable(app, later);
        unavailable->callback([later] {
            throw ConfigError(std::string("hopscotch ") + later +
                              " is not available in this version (see hopscotch --help)");
        });
    }
}

std::string full_name(CLI::App const& command) {
    return command.get_parent() == nullptr ? command.get_name()
                                           : full_name(*command.get_parent()) + " " + command.get_name();
}

// Which command the words lead to, and the first word that it does not know.
struct Reached {
    CLI::App const* command;
    std::string unknown;
    std::vector<std::string> known;  // that could have stood there
};

Reached follow(CLI::App const& app, int argc, char** argv) {
    Reached at{&app, {}, {}};
    for (int i = 1; i < argc; ++i) {
        std::string const word = argv[i];
        auto const commands = at.command->get_subcommands([](CLI::App const*) { return true; });
        if (word.starts_with("--")) {
            auto const name = word.substr(0, word.find('='));
            if (at.command->get_option_no_throw(name) != nullptr) continue;
            for (auto const* option : at.command->get_options())
                if (!option->get_lnames().empty()) at.known.push_back("--" + option->get_lnames().front());
            at.unknown = name;
            return at;
        }
        if (commands.empty()) continue;  // a positional, or an option's value
        auto const found =
            std::find_if(commands.begin(), commands.end(), [&](auto const* each) { return each->get_name() == word; });
        if (found == commands.end()) {
            for (auto const* each : commands)
                if (!each->get_group().empty()) at.known.push_back(each->get_name());
            at.unknown = word;
            return at;
        }
        at.command = *found;
    }
    return at;
}

// What is wrong with the command line, said better than CLI11 does, or the help that was asked for.
int complain(CLI::App const& app, CLI::ParseError const& error, int argc, char** argv) {
    bool const asked = error.get_exit_code() == 0;
    if (!first_rank()) return 0;
    if (asked) return app.exit(error);
    auto const reached = follow(app, argc, argv);
    auto const name = full_name(*reached.command);
    if (!reached.unknown.empty()) {
        auto const near = nearest(reached.unknown, reached.known);
        fmt::print(stderr, "unknown {} \"{}\"{} (see: {} --help)\n",
                   reached.unknown.starts_with("--") ? "option" : "command", reached.unknown,
                   near.empty() ? "" : fmt::format(" did you mean \"{}\"?", near), name);
    } else if (!reached.command->get_subcommands([](CLI::App const*) { return true; }).empty()) {
        auto const* parent = reached.command->get_parent();
        fmt::print(stderr, "{}", reached.command->help(parent != nullptr ? full_name(*parent) : ""));
    } else {
        fmt::print(stderr, "{}: {} (see: {} --help)\n", name, error.what(), name);
    }
    return 2;
}

void add_replay(CLI::App& app, ReplayOptions& options) {
    auto* replay = app.add_subcommand(
        "replay", "Train a run's trials again, one by one, and compare every state hash with its journal");
    replay->add_option("run_dir", options.run_dir, "A run directory")->required()->type_name("DIR");
    replay->add_option("--trial", options.trials, "Only this trial (repeatable)")->allow_extra_args(false)->type_name("ID");
    replay->footer("Exit codes: 0 every hash is equal; 1 some differ (trial and unit are named).");
}

void add_predict(CLI::App& app, PredictOptions& options) {
    auto* predict = app.add_subcommand("predict", "Predict a dataset's rows with a run's best trial, and score it");
    predict->add_option("run_dir", options.run_dir, "A run directory")->required()->type_name("RUN_DIR");
    predict->add_option("dataset", options.dataset, "A dataset directory, imported like the training data")
        ->required()
        ->type_name("DATASET");
    predict->add_option("--out", options.out, "The CSV file to write")->required()->type_name("FILE.csv");
    predict->add_option("--trial", options.trial, "Another trial, at its best epoch (trained again: weights are not kept)")
        ->type_name("ID");
    add_choice<std::string>(*predict, "--split", {{"all", "all"}, {"train", "train"}, {"valid", "valid"}, {"test", "test"}},
                            options.split, "Only these rows (default: all)");
    predict->add_option("--device", options.device, "auto, cpu or cuda")->capture_default_str();
    predict->footer("Example: hopscotch predict runs/digits data/digits --split valid --out predictions.csv");
}

void add_compare(CLI::App& app, CompareOptions& options) {
    auto* compare = app.add_subcommand("compare", "Put runs of one experiment under different strategies side by side");
    compare->add_option("run_dirs", options.run_dirs, "Run directories")->required()->type_name("RUN_DIR");
    compare->add_option("--target", options.target, "Time to this value of search.metric (default: the worst run's best)")
        ->type_name("VALUE");
    compare->add_option_function<std::string>(
        "--bandwidth", [&](std::string const& text) { options.bandwidth = text; },
        "Also what the cost model predicts for such links: 1gbit, 12.5GB/s");
    compare->add_option("--latency", options.latency, "Of these links")->capture_default_str();
    compare->add_flag("--json", options.json, "One JSON document instead of a table");
    compare->add_flag("--anyway", options.anyway,
                      "Also runs that differ in data, model, space, search or epochs, or are unfinished");
    compare->footer(
        "Ratios are to the mop run (without one: to the first run).\n"
        "Example: hopscotch compare runs/mop runs/ring --bandwidth 1gbit");
}

void add_ctl(CLI::App& app, CtlOptions& options) {
    auto* ctl = app.add_subcommand("ctl", "Ask the job that works on a run for something, or say how a run stands");
    ctl->add_option("run_dir", options.run_dir, "A run directory")->required()->type_name("RUN_DIR");
    ctl->add_option("action", options.action, "status, stop, resume, clone or finish")->required()->type_name("ACTION");
    ctl->add_option("arguments", options.arguments, "A trial; for clone also changes, as path=value")
        ->type_name("TRIAL PATH=VALUE...");
    ctl->add_option("--timeout", options.timeout_s, "Seconds to wait for the job's answer")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    ctl->footer(
        "hopscotch ctl runs/digits status                              how it stands; needs no job\n"
        "hopscotch ctl runs/digits stop 4                              trial 4 ends, at the end of the unit under way\n"
        "hopscotch ctl runs/digits resume 4                            a paused or stopped trial goes on to its last epoch\n"
        "hopscotch ctl runs/digits clone 4 train.optimizer.lr=0.01     a new trial that begins with the state of trial 4\n"
        "hopscotch ctl runs/digits finish                              no trial starts; nobody goes on after the next "
        "decision\n\n"
        "Exit codes: 0 the job will do it; 1 it refuses, or no job answers; 2 bad input.");
}

int parse_and_run(int argc, char** argv) {
    CLI::App app("Hopscotch trains many deep-learning models at once: the data stays, the models hop.", "hopscotch");
    bool const verbose = std::find(argv, argv + argc, std::string_view("--verbose")) != argv + argc;
    app.set_version_flag(
        "--version", [verbose] { return version_text() + (verbose ? "\n" + fault_points_text() : ""); },
        "Print the version, and those of LibTorch and MPI; with --verbose also where HOPSCOTCH_FAULT strikes");
    app.add_flag_function("--verbose", [](std::int64_t) {}, "With --version: say more");
    app.set_help_flag("-h,--help", "Print this help");
    app.require_subcommand(1);
    app.get_formatter()->column_width(28);
    RunOptions run;
    ReplayOptions replay;
    PredictOptions predict;
    CompareOptions compare;
    CtlOptions ctl;
    ImportCommands imports;
    BenchCommands benches;
    std::string directory, model;
    add_run(app, run);
    add_data(app, imports, directory);
    auto* models = app.add_subcommand("models", "The models, their arguments and sizes");
    models->add_option("name", model, "Only this one, for example mlp");
    add_replay(app, replay);
    add_predict(app, predict);
    add_compare(app, compare);
    add_ctl(app, ctl);
    auto* bench = add_bench(app, benches);
    add_later(app);
    app.footer("Each command has its own --help. Exit codes: 0 done; 1 failed; 2 bad input; 75 interrupted.");
    try {
        app.parse(argc, argv);
    } catch (CLI::ParseError const& error) {
        return complain(app, error, argc, argv);
    }
    if (app.got_subcommand("run")) return run_command(run);
    // Only run and some benches are MPI jobs: of anything else under mpirun one rank is enough.
    if (!first_rank() && !is_mpi_bench(*bench)) return 0;
    if (bench->parsed()) return run_bench(*bench, benches);
    if (app.got_subcommand(models)) return models_command(model);
    if (app.got_subcommand("replay")) return replay_command(replay);
    if (app.got_subcommand("predict")) return predict_command(predict);
    if (app.got_subcommand("compare")) return compare_command(compare);
    if (app.got_subcommand("ctl")) return ctl_command(ctl);
    auto* data = app.get_subcommand("data");
    if (data->got_subcommand("inspect")) return inspect_dataset(directory);
    if (data->got_subcommand("verify")) return verify_dataset(directory);
    return run_import(*data->get_subcommand("import"), imports);
}

int report(std::exception const& error, int exit_code, std::string_view who) {
    if (exit_code == 2 && !first_rank()) return 0;
    fmt::print(stderr, "{}{}\n", who, error.what());
    return exit_code;
}

}  // namespace

int run_cli(int argc, char** argv) {
    log_setup("", LogLevel::info);
    try {
        check_faults();
        return parse_and_run(argc, argv);
    } catch (ConfigError const& error) {
        return report(error, 2, "");
    } catch (DataError const& error) {
        return report(error, 2, "");  // files that are missing, damaged or not what they should be
    } catch (std::exception const& error) {
        return report(error, is_resumable(error) ? k_exit_resumable : k_exit_failed, "hopscotch: ");
    }
}

}  // namespace hopscotch
