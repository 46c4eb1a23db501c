// SPDX-License-Identifier: Apache-2.0
// Predicts the rows of a dataset directory with the best trial of a run, or with another trial, and with the normalisation
// of the training data. The weights of the best trial are stored. Another trial is trained again, to the same bits.
#include <CLI/CLI.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "app/commands/commands.hpp"
#include "app/commands/predictions_csv.hpp"
#include "app/common/choice.hpp"
#include "app/common/run_code.hpp"
#include "comm/buffer_pool.hpp"
#include "core/durable_file.hpp"
#include "core/error.hpp"
#include "core/file.hpp"
#include "core/hash.hpp"
#include "data/batches/shard_source.hpp"
#include "data/dataset/shard.hpp"
#include "experiment/reader.hpp"
#include "model/feed/workspace.hpp"
#include "model/gpu/device.hpp"
#include "model/trial/evaluation.hpp"
#include "model/trial/evaluator.hpp"
#include "model/trial/trial_state.hpp"
#include "run/journal.hpp"
#include "run/metrics.hpp"
#include "run/run_directory.hpp"
#include "strategy/common/journey.hpp"
#include "strategy/trainer/trial_runner.hpp"

namespace hopscotch {
namespace {

struct PredictOptions {
    std::string run_dir, dataset;
    std::optional<int> trial;   // default: the best one
    std::string out;            // CSV
    std::string split = "all";  // train | valid | test | all
    std::string device = "auto";
    bool allow_code = false;
};

struct Trained {
    TrialConfig config;
    Manifest manifest;  // of the training data, without its files
    TrialModel model;
    std::shared_ptr<BufferPool> pool = std::make_shared<BufferPool>();
    Buffer state;
};

// The contents of best/model.json: the trial of the model, and the data that the model expects.
struct Best {
    TrialId trial;
    Manifest data;
};

Manifest expected_data(Json const& model) {
    Manifest out;
    auto const numbers = [&](char const* key) {
        std::vector<double> values;
        for (auto const& value : model.at(key).array()) values.push_back(value.number());
        return values;
    };
    for (auto const& side : model.at("shape").array()) out.shape.push_back(side.integer());
    for (auto const task : {Task::classification, Task::regression, Task::multilabel, Task::language})
        if (model.at("task").string() == name_of(task)) out.task = task;
    out.outputs = model.at("outputs").integer();
    for (auto const& name : model.at("class_names").array()) out.class_names.push_back(name.string());
    for (auto const& count : model.at("categories").array()) out.categories.push_back(count.integer());
    out.provenance = Json(Json::Object{});
    if (auto const* columns = model.find("column_features")) out.provenance["features"] = *columns;
    out.mean = numbers("mean");
    out.stddev = numbers("stddev");
    return out;
}

Best read_best(std::filesystem::path const& file) {
    auto const best = parse_json_or_throw(read_whole(file), file.string());
    try {
        return {TrialId(static_cast<int>(best.at("trial").integer())), expected_data(best.at("model"))};
    } catch (Error const& error) {  // adds the file
        throw DataError(fmt::format("{}: {} (not written by this hopscotch?)", file.string(), error.what()));
    }
}

// The rows must have the meaning of the training rows. They are normalised like the training rows.
Manifest normalised_as(Manifest const& trained, Manifest data, std::string const& path) {
    auto const text = [](auto const& values, char const* between) { return fmt::format("{}", fmt::join(values, between)); };
    auto const differs = [&](std::string_view what, auto const& there, auto const& here) {
        return ConfigError(fmt::format("{}: {} {} (the model was trained with {}); import the data in the same way", path,
                                       what, there, here));
    };
    if (data.shape != trained.shape) throw differs("rows have shape", text(data.shape, "x"), text(trained.shape, "x"));
    if (data.task != trained.task) throw differs("its task is", name_of(data.task), name_of(trained.task));
    if (data.outputs != trained.outputs) throw differs("the number of outputs is", data.outputs, trained.outputs);
    if (data.categories != trained.categories)
        throw differs("categories are", text(data.categories, " "), text(trained.categories, " "));
    if (data.class_names != trained.class_names)
        throw differs("classes are", text(data.class_names, " "), text(trained.class_names, " "));
    auto const* columns = data.provenance.find("features");
    auto const* expected = trained.provenance.find("features");
    if (columns != nullptr && expected != nullptr && *columns != *expected)
        throw differs("the columns are", columns->dump(), expected->dump());
    data.mean = trained.mean;
    data.stddev = trained.stddev;
    return data;
}

// Trains a trial again, alone, up to its best epoch, and compares its hash with the journal on the way.
Buffer train_again(Experiment const& experiment, Journal const& journal, TrialId trial, BufferPool& pool) {
    auto const loss = loss_of(experiment, journal.assignments.at(trial));
    std::vector<ShardId> shards;
    for (std::size_t s = 0; s < read_manifest(experiment.data.path).train.size(); ++s) shards.emplace_back(s);
    std::vector<LapRecord const*> laps;
    std::optional<std::size_t> best;
    for (auto const& lap : journal.laps) {
        if (lap.trial != trial || lap.outcome != Outcome::finished) continue;
        laps.push_back(&lap);
        auto const value = [&](std::size_t i) { return metric_value(metrics_of(*laps[i], loss), experiment.search.metric); };
        if (!best || better(value(laps.size() - 1), value(*best), experiment.search.mode)) best = laps.size() - 1;
    }
    if (!best) throw ConfigError(fmt::format("trial {} finished no epoch; there is nothing to predict with", trial.value));
    fmt::print(stderr, "only the best trial's weights are stored: training trial {} again, {} epoch{}\n", trial.value,
               *best + 1, *best == 0 ? "" : "s");
    TrialRunner runner(experiment, shards, {TrainerId(0)});
    Journey journey;
    journey.lap.trial = trial;
    journey.lap.assignment = journal.assignments.at(trial);
    auto state = runner.initial_state(journey.lap, pool);
    for (std::size_t epoch = 0; epoch <= *best; ++epoch) {
        journey.lap.epoch = static_cast<int>(epoch);
        journey.step = 0;
        for (std::int64_t unit = 0; unit < totals_of(*laps[epoch]).count; ++unit)
            runner.run_unit(journey, state.bytes(), nullptr);
        if (journey.record.state_hash != laps[epoch]->state_hash)
            throw Error(
                fmt::format("trial {} came out different in epoch {} (state hash {}, journal {}); see hopscotch replay",
                            trial.value, epoch, to_hex(journey.record.state_hash), to_hex(laps[epoch]->state_hash)));
        runner.end_epoch(journey.lap, state.bytes(), *laps[epoch]);
    }
    return state;
}

// Predicts a shard batch by batch. The answer of a language row is the token after its last one.
void predict_shard(Trained& trained, ShardSource& source, Shard const& answers, std::string const& place,
                   PredictionsCsv& table) {
    auto const width = static_cast<std::size_t>(trained.manifest.outputs);
    std::size_t row = 0;
    for (std::int64_t batch = 0; batch < trained.model.evaluation->evaluation_batches(source.rows()); ++batch) {
        auto const outputs = trained.model.evaluation->predict(source, {batch, 1});
        auto const per_row =
            trained.manifest.task == Task::language ? width * static_cast<std::size_t>(trained.manifest.row_size()) : width;
        for (std::size_t at = 0; at < outputs.size(); at += per_row, ++row) {
            auto const last = std::span(outputs).subspan(at + per_row - width, width);
            auto const where = fmt::format("{},{}", place, row);
            if (has_labels(trained.manifest.task))
                table.add(where, answers.labels[row], last);
            else
                table.add(where, std::span(answers.targets).subspan(row * width, width), last);
        }
    }
}

std::string metrics_text(LapRecord const& record, Trained const& trained) {
    auto const metrics = metrics_of(record, trained.config.train.loss);
    std::string text = fmt::format("{} rows", record.valid.rows);
    using Shown = MetricTraits::Shown;
    for (auto const& metric : metric_traits()) {
        bool const for_tokens = metric.shown == Shown::for_tokens && trained.manifest.task == Task::language;
        bool const told = metric.shown == Shown::always || metric.shown == Shown::in_predictions || for_tokens;
        auto const value = metric_value(metrics, metric.name);
        if (told && std::isfinite(value)) text += fmt::format(", {} {:.4f}", metric.short_name(), value);
    }
    return text;
}

// The best trial's stored weights, or those of another trial, trained again.
Trained trained_trial(PredictOptions const& options, Workspace& workspace) {
    std::filesystem::path const run_dir = options.run_dir;
    if (!std::filesystem::exists(run_dir / "experiment.json"))
        throw ConfigError(fmt::format("{}: not a run directory (it has no experiment.json)", run_dir.string()));
    auto const facts = read_run_facts(run_dir);
    Problems problems((run_dir / "experiment.json").string());
    auto const experiment = read_experiment(facts.experiment.dump(), {}, problems);
    problems.throw_if_any();
    auto const best_file = run_dir / "best" / "model.json";
    if (!std::filesystem::exists(best_file))
        throw ConfigError(fmt::format("{}: has no best/model.json (did the run finish?); run the experiment to its end",
                                      run_dir.string()));
    auto best = read_best(best_file);
    auto const trial = options.trial ? TrialId(*options.trial) : best.trial;
    auto const journal = read_journal(run_dir / "journal.jsonl");
    if (!journal.assignments.contains(trial))
        throw ConfigError(fmt::format("{}: there is no trial {} in this run", run_dir.string(), trial.value));
    Trained out;
    normalised_as(best.data, read_manifest(options.dataset), options.dataset);  // before a model is made of its numbers
    out.manifest = std::move(best.data);
    out.config = resolve(experiment, journal.assignments.at(trial), "experiment.json");
    if (!out.config.model.file.empty())
        require_allowed(options.allow_code ? RunCode::allowed : RunCode::refused, {out.config.model.file}, options.run_dir);
    out.manifest.train = {{"", 1, 0}};
    if (trial == best.trial) {
        out.config.model.init_from = (run_dir / "best" / "model.safetensors").string();
        out.config.model.init_mode = InitFrom::strict;
        out.config.model.freeze.clear();
    } else {
        out.state = train_again(experiment, journal, trial, *out.pool);
    }
    out.model = make_trial_model(out.config, out.manifest, workspace);
    if (!out.state) {
        out.state = out.pool->acquire(out.model.state->layout().bytes);
        out.model.state->initialise(out.state.bytes(), 0, trial);
    }
    return out;
}

int predict_command(PredictOptions const& options) {
    Workspace workspace(resolve_device(options.device, 0), 1);
    auto trained = trained_trial(options, workspace);
    auto const data = normalised_as(trained.manifest, read_manifest(options.dataset), options.dataset);
    // The same model, but reading features of this dataset's type.
    trained.model = make_trial_model(trained.config, data, workspace);
    trained.model.state->bind(trained.state.bytes());
    PredictionsCsv table(options.out, trained.manifest);
    Evaluation sums(data.task, data.outputs);
    std::int64_t rows = 0;
    for (auto const& [split, name] : {std::pair{Split::train, "train"}, {Split::valid, "valid"}, {Split::test, "test"}}) {
        if (options.split != "all" && options.split != name) continue;
        for (std::size_t s = 0; s < data.files(split).size(); ++s) {
            auto const answers = read_shard(options.dataset, data.files(split)[s], data);
            auto const source = shard_in_memory(answers);
            predict_shard(trained, *source, answers, fmt::format("{},{}", name, s), table);
            trained.model.evaluation->evaluate(*source, {0, trained.model.evaluation->evaluation_batches(answers.rows)},
                                               sums);
            rows += answers.rows;
        }
    }
    if (rows == 0) throw ConfigError(fmt::format("{}: has no rows of split \"{}\"", options.dataset, options.split));
    table.finish();
    LapRecord record;
    record.valid = sums.scores();
    fmt::print("{}\npredictions: {}\n", metrics_text(record, trained), options.out);
    return 0;
}

}  // namespace

Work add_predict(CLI::App& command) {
    auto const options = std::make_shared<PredictOptions>();
    command.add_option("run_dir", options->run_dir, "A run directory")->required()->type_name("RUN_DIR");
    command.add_option("dataset", options->dataset, "A dataset directory, imported like the training data")
        ->required()
        ->type_name("DATASET");
    command.add_option("--out", options->out, "The CSV file to write")->required()->type_name("FILE.csv");
    command
        .add_option("--trial", options->trial,
                    "Another trial, at its best epoch (it is trained again: its weights are not stored)")
        ->type_name("ID");
    add_choice<std::string>(command, "--split", {{"all", "all"}, {"train", "train"}, {"valid", "valid"}, {"test", "test"}},
                            options->split, "Only these rows (default: all)");
    command.add_option("--device", options->device, "Device: auto, cpu or cuda")->capture_default_str();
    command.add_flag("--allow-code", options->allow_code, "Execute the plug-in or TorchScript file that the run names");
    command.footer("Example: hopscotch predict runs/digits data/digits --split valid --out predictions.csv");
    return on_first_rank([options] { return predict_command(*options); });
}

}  // namespace hopscotch
