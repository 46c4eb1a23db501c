// SPDX-License-Identifier: Apache-2.0
#include "app/cli.hpp"

#include <CLI/CLI.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "app/cli_choice.hpp"
#include "app/cli_import.hpp"
#include "app/commands.hpp"
#include "app/data_commands.hpp"
#include "core/error.hpp"
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
    run->add_option("--strategy", options.strategy, "Instead of the experiment's strategy")->type_name("mop|sequential");
    run->add_option("--trainers", options.trainers, "Without mpirun: that many trainer threads (default: one per core)")
        ->type_name("N");
    run->add_flag("--resume", options.resume, "Not available in this version: an error");
    run->add_flag("--overwrite", options.overwrite, "Replace an existing run directory");
    run->add_flag("--dry-run", options.dry_run, "Check everything and print what would run; write and train nothing");
    run->add_flag("--quiet", options.quiet, "No progress, only the result");
    run->footer(
        "One process, a trainer a thread:        hopscotch run FILE\n"
        "Rank 0 schedules, two ranks train:      mpirun --oversubscribe -np 3 hopscotch run FILE\n"
        "  (as root, add --allow-run-as-root; with more cores than ranks leave --oversubscribe out)\n\n"
        "Exit codes: 0 finished; 1 failed or interrupted; 2 bad input, nothing was written or trained.");
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

void add_bench_read(CLI::App& bench, BenchReadOptions& options) {
    auto* read = bench.add_subcommand("read", "Speed of each data.cache (all, window, none), next to memcpy and pread");
    read->add_option("--dir", options.dir, "Read this dataset's first training shard (default: one made for it)")
        ->type_name("DATASET");
    read->add_option("--megabytes", options.megabytes, "Of the shard that is made")->capture_default_str();
    read->add_option("--batch", options.batch_size, "Rows of a batch")->capture_default_str();
    read->add_option("--repeats", options.repeats, "Interleaved repeats; medians are printed")->capture_default_str();
}

void add_bench(CLI::App& app, BenchStepOptions& step, BenchCommOptions& comm, BenchReadOptions& read) {
    auto* bench = app.add_subcommand("bench", "Measure this machine");
    bench->require_subcommand(1);
    auto* steps = bench->add_subcommand("step", "Rows/s of one trainer's training step, gather and normalisation included");
    steps->add_option("--model", step.model, "A name of hopscotch models")->capture_default_str();
    steps->add_option("--arguments", step.arguments, "Of the model, as JSON: '{\"hidden\": [512, 256]}'")->type_name("JSON");
    steps->add_option("--shape", step.shape, "Of a row: 64, or 3x32x32")->capture_default_str();
    steps->add_option("--augment", step.augment, "flip, crop, cutout (repeatable)")->type_name("NAME");
    steps->add_option("--outputs", step.outputs, "Classes")->capture_default_str();
    steps->add_option("--batch", step.batch_size, "Rows of a step")->capture_default_str();
    steps->add_option("--rows", step.rows, "Rows of the shard")->capture_default_str();
    steps->add_option("--optimizer", step.optimizer, "sgd (with momentum) or adam")->capture_default_str();
    steps->add_option("--seconds", step.seconds, "Of each repeat")->capture_default_str();
    steps->add_option("--repeats", step.repeats, "The median of these is printed")->capture_default_str();
    auto* hops =
        bench->add_subcommand("comm", "Speed of hops between two ranks that compute, and what they cost the computation");
    hops->add_option("--megabytes", comm.megabytes, "Of a state")->capture_default_str();
    hops->add_option("--period", comm.period_s, "Seconds between hops")->capture_default_str();
    hops->add_option("--seconds", comm.seconds, "Of each phase")->capture_default_str();
    hops->add_option("--repeats", comm.repeats, "Interleaved phases with and without hops")->capture_default_str();
    hops->footer(
        "Two threads of one process:  hopscotch bench comm\nTwo MPI ranks:               mpirun -np 2 hopscotch bench comm\n"
        "It takes (1 + 3 x repeats) x seconds: 80 s unless told otherwise.");
    add_bench_read(*bench, read);
    add_unavailable(*bench, "schedule")->callback([] {
        throw ConfigError("bench schedule is not available in this version (available: step, comm, read)");
    });
}

void add_later(CLI::App& app) {
    for (auto const* later : {"plan", "report", "ctl"}) {
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
    compare->add_option("--bandwidth", options.bandwidth, "Also what the cost model predicts for such links: 1gbit, 12.5GB/s");
    compare->add_option("--latency", options.latency, "Of these links")->capture_default_str();
    compare->add_flag("--json", options.json, "One JSON document instead of a table");
    compare->add_flag("--anyway", options.anyway, "Also runs that differ in data, model, space, search or epochs, or are unfinished");
    compare->footer("Ratios are to the mop run (without one: to the first run).\n"
                    "Example: hopscotch compare runs/mop runs/ring --bandwidth 1gbit");
}

int parse_and_run(int argc, char** argv) {
    CLI::App app("Hopscotch trains many deep-learning models at once: the data stays, the models hop.", "hopscotch");
    app.set_version_flag("--version", version_text, "Print the version, and those of LibTorch and MPI");
    app.set_help_flag("-h,--help", "Print this help");
    app.require_subcommand(1);
    app.get_formatter()->column_width(28);
    RunOptions run;
    ReplayOptions replay;
    PredictOptions predict;
    CompareOptions compare;
    ImportCommands imports;
    BenchStepOptions step;
    BenchCommOptions comm;
    BenchReadOptions read;
    std::string directory, model;
    add_run(app, run);
    add_data(app, imports, directory);
    auto* models = app.add_subcommand("models", "The models, their arguments and sizes");
    models->add_option("name", model, "Only this one, for example mlp");
    add_replay(app, replay);
    add_predict(app, predict);
    add_compare(app, compare);
    add_bench(app, step, comm, read);
    add_later(app);
    app.footer("Each command has its own --help. Exit codes: 0 done; 1 failed or interrupted; 2 bad input.");
    try {
        app.parse(argc, argv);
    } catch (CLI::ParseError const& error) {
        return complain(app, error, argc, argv);
    }
    if (app.got_subcommand("run")) return run_command(run);
    // Only run and bench comm are MPI jobs: of anything else under mpirun one rank is enough.
    auto* bench = app.get_subcommand("bench");
    if (!first_rank() && !(bench->parsed() && bench->got_subcommand("comm"))) return 0;
    if (app.got_subcommand(models)) return models_command(model);
    if (app.got_subcommand("replay")) return replay_command(replay);
    if (app.got_subcommand("predict")) return predict_command(predict);
    if (app.got_subcommand("compare")) return compare_command(compare);
    if (auto* data = app.get_subcommand("data"); data->parsed()) {
        if (data->got_subcommand("inspect")) return inspect_dataset(directory);
        if (data->got_subcommand("verify")) return verify_dataset(directory);
        return run_import(*data->get_subcommand("import"), imports);
    }
    if (bench->got_subcommand("read")) return bench_read_command(read);
    return bench->got_subcommand("step") ? bench_step_command(step) : bench_comm_command(comm);
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
        return parse_and_run(argc, argv);
    } catch (ConfigError const& error) {
        return report(error, 2, "");
    } catch (DataError const& error) {
        return report(error, 2, "");  // files that are missing, damaged or not what they should be
    } catch (std::exception const& error) {
        return report(error, 1, "hopscotch: ");
    }
}

}  // namespace hopscotch
