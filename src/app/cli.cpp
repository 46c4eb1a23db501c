// SPDX-License-Identifier: Apache-2.0
// The only file that includes CLI11.
#include "app/cli.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>

#include "app/commands.hpp"
#include "app/data_commands.hpp"
#include "core/error.hpp"
#include "core/log.hpp"

namespace hopscotch {
namespace {

// Before MPI_Init only the environment tells; without a launcher this is the one process there is.
bool first_rank() {
    for (auto const* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
        if (auto const* rank = std::getenv(name)) return std::string(rank) == "0";
    return true;
}

void add_run(CLI::App& app, RunOptions& options) {
    auto* run = app.add_subcommand("run", "Train every trial of an experiment");
    run->add_option("experiment", options.experiment, "The experiment (a JSON file)")->required();
    run->add_option("--set", options.overrides, "Change one setting: path=value, for example train.epochs=3 (repeatable)")
        ->allow_extra_args(false);
    run->add_option("--strategy", options.strategy, "Execute the laps this way instead: mop, sequential");
    run->add_option("--trainers", options.trainers, "Trainer threads of a run without mpirun (default: a core each)");
    run->add_flag("--resume", options.resume, "Go on where the run directory stands");
    run->add_flag("--overwrite", options.overwrite, "Replace an existing run directory");
    run->add_flag("--dry-run", options.dry_run, "Check everything, print what would run, write and train nothing");
    run->add_flag("--quiet", options.quiet, "No progress, only the result");
    run->footer("Under mpirun or srun rank 0 schedules and every other rank trains:  mpirun -np 3 hopscotch run FILE\n"
                "(more ranks than cores: mpirun --oversubscribe). Without a launcher: one process, a trainer a thread.\n"
                "Exit codes: 0 finished, 1 failed or interrupted, 2 bad input (nothing started, nothing written).");
}

void add_import_csv_options(CLI::App& csv, ImportCsvOptions& options) {
    csv.add_option("sources", options.sources, "CSV files with the same columns")->required();
    csv.add_option("--out", options.out, "Dataset directory to make")->required();
    csv.add_option("--shards", options.shards, "Training shards; best a multiple of the trainers")->required();
    csv.add_option("--valid", options.valid, "Fraction of the rows kept for validation")->capture_default_str();
    csv.add_option("--label", options.label, "Label column, by name or by index from 0 (default: the last)");
    csv.add_option("--seed", options.seed, "Of the split and the shuffle")->capture_default_str();
    csv.add_option("--shape", options.shape, "Shape of a row, for images: 1x8x8 (channels x height x width)");
    csv.add_option("--header", options.header, "The first line holds names: auto, yes, no")
        ->transform(CLI::CheckedTransformer(std::map<std::string, CsvHeader>{
            {"auto", CsvHeader::automatic}, {"yes", CsvHeader::present}, {"no", CsvHeader::absent}}));
    csv.add_option("--missing", options.missing, "Empty, NA, NaN or ? cells: error (default), mean, drop")
        ->transform(CLI::CheckedTransformer(std::map<std::string, MissingValues>{
            {"error", MissingValues::error}, {"mean", MissingValues::mean}, {"drop", MissingValues::drop}}));
    csv.add_flag_callback("--regression", [&] { options.task = Task::regression; }, "The label is a number to predict");
}

void add_data(CLI::App& app, ImportCsvOptions& csv, std::string& directory) {
    auto* data = app.add_subcommand("data", "Make, look at and check dataset directories");
    data->require_subcommand(1);
    auto* import = data->add_subcommand("import", "Turn source files into a dataset directory");
    import->require_subcommand(1);
    add_import_csv_options(*import->add_subcommand("csv", "Rows of numbers and categories from CSV files"), csv);
    for (auto const* later : {"images", "idx", "cifar", "npy", "h5"}) {
        auto* unavailable = import->add_subcommand(later, "")->group("")->allow_extras();
        unavailable->callback([later] {
            throw ConfigError(std::string("data import ") + later + " is not available in this version (available: csv)");
        });
    }
    data->add_subcommand("inspect", "Say what a dataset directory holds")->add_option("directory", directory)->required();
    data->add_subcommand("verify", "Read every row: hashes, counts, labels, NaN")->add_option("directory", directory)->required();
}

void add_bench(CLI::App& app, BenchStepOptions& step, BenchCommOptions& comm) {
    auto* bench = app.add_subcommand("bench", "Measure this machine");
    bench->require_subcommand(1);
    auto* steps = bench->add_subcommand("step", "Rows/s of one trainer's training step, gather and normalisation included");
    steps->add_option("--model", step.model, "mlp or logistic")->capture_default_str();
    steps->add_option("--hidden", step.hidden, "Hidden layers of the mlp")->capture_default_str();
    steps->add_option("--features", step.features)->capture_default_str();
    steps->add_option("--outputs", step.outputs)->capture_default_str();
    steps->add_option("--batch", step.batch_size)->capture_default_str();
    steps->add_option("--rows", step.rows, "Rows of the shard")->capture_default_str();
    steps->add_option("--optimizer", step.optimizer)->capture_default_str();
    steps->add_option("--seconds", step.seconds, "Of each repeat")->capture_default_str();
    steps->add_option("--repeats", step.repeats)->capture_default_str();
    auto* hops = bench->add_subcommand("comm", "Hops between two ranks that compute (mpirun -np 2)");
    hops->add_option("--megabytes", comm.megabytes, "Of a state")->capture_default_str();
    hops->add_option("--period", comm.period_s, "Seconds between hops")->capture_default_str();
    hops->add_option("--seconds", comm.seconds, "Of each phase")->capture_default_str();
    hops->add_option("--repeats", comm.repeats, "Interleaved pairs with and without hops")->capture_default_str();
    for (auto const* later : {"schedule", "read"}) {
        auto* unavailable = bench->add_subcommand(later, "")->group("")->allow_extras();
        unavailable->callback([later] {
            throw ConfigError(std::string("bench ") + later + " is not available in this version (available: step, comm)");
        });
    }
}

void add_later(CLI::App& app) {
    for (auto const* later : {"plan", "report", "compare", "predict", "ctl"}) {
        auto* unavailable = app.add_subcommand(later, "")->group("")->allow_extras();
        unavailable->callback([later] {
            throw ConfigError(std::string("hopscotch ") + later + " is not available in this version (see hopscotch --help)");
        });
    }
}

int parse_and_run(int argc, char** argv) {
    CLI::App app("Hopscotch trains many deep-learning models at once: the data stays, the models hop.", "hopscotch");
    app.set_version_flag("--version", version_text);
    app.require_subcommand(1);
    app.get_formatter()->column_width(28);
    RunOptions run;
    ReplayOptions replay;
    ImportCsvOptions csv;
    BenchStepOptions step;
    BenchCommOptions comm;
    std::string directory, model;
    add_run(app, run);
    add_data(app, csv, directory);
    auto* models = app.add_subcommand("models", "The model zoo: arguments and parameter counts");
    models->add_option("name", model, "One model; default all");
    auto* replays = app.add_subcommand("replay", "Train again what a run's journal says and compare every state hash");
    replays->add_option("run_dir", replay.run_dir)->required();
    replays->add_option("--trial", replay.trials, "Only this trial (repeatable)")->allow_extra_args(false);
    add_bench(app, step, comm);
    add_later(app);
    try {
        app.parse(argc, argv);
    } catch (CLI::ParseError const& error) {
        if (!first_rank()) return error.get_exit_code() == 0 ? 0 : 2;
        return app.exit(error) == 0 ? 0 : 2;
    }
    if (app.got_subcommand("run")) return run_command(run);
    if (app.got_subcommand(models)) return models_command(model);
    if (app.got_subcommand(replays)) return replay_command(replay);
    if (auto* data = app.get_subcommand("data"); data->parsed()) {
        if (data->got_subcommand("inspect")) return inspect_dataset(directory);
        if (data->got_subcommand("verify")) return verify_dataset(directory);
        return import_csv(csv);
    }
    return app.get_subcommand("bench")->got_subcommand("step") ? bench_step_command(step) : bench_comm_command(comm);
}

}  // namespace

int run_cli(int argc, char** argv) {
    log_setup("", LogLevel::info);
    try {
        return parse_and_run(argc, argv);
    } catch (ConfigError const& error) {
        if (first_rank()) std::fprintf(stderr, "%s\n", error.what());
        return 2;
    } catch (std::exception const& error) {
        std::fprintf(stderr, "hopscotch: %s\n", error.what());
        return 1;
    }
}

}  // namespace hopscotch
