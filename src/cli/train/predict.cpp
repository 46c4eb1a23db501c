// SPDX-License-Identifier: Apache-2.0
// Predicts the rows of a dataset directory, or new rows of a CSV file or of images, with the best trial of a run or with
// another trial, and with the normalisation of the training data.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "cli/common/commands.hpp"
#include "cli/data/import_watch.hpp"
#include "cli/train/ensemble.hpp"
#include "cli/train/predictions_csv.hpp"
#include "cli/train/trained_model.hpp"
#include "core/csv.hpp"
#include "core/error.hpp"
#include "data/batches/shard_source.hpp"
#include "data/dataset/shard.hpp"
#include "data/dataset/source_rows.hpp"
#include "data/import/csv/csv_delimiter.hpp"
#include "data/import/csv/csv_new_rows.hpp"
#include "data/import/image/image_new_rows.hpp"
#include "model/gpu/device.hpp"
#include "model/trial/evaluation.hpp"
#include "model/trial/workspace.hpp"
#include "rundir/metrics.hpp"

namespace hopscotch {
namespace {

constexpr std::int64_t k_new_rows_at_once = 4096;

struct PredictOptions {
    TrialChoice trial;
    int ensemble = 1;   // this many best trials
    std::string rows;   // a dataset directory, or new rows
    std::string out;    // CSV
    std::string split;  // train | valid | test; empty: all
    std::string device = "auto";
    // Of new rows.
    std::string id;
    std::optional<MissingValues> missing;
    std::optional<bool> unseen_as_none;
    std::optional<char> delimiter;
    bool of_csv() const { return !id.empty() || missing || unseen_as_none || delimiter; }
};

double offset_at(std::vector<double> const& offsets, std::size_t i) { return offsets.empty() ? 0 : offsets[i]; }

// Features and targets in the form of the model, not in the form of another import.
void move_features(Manifest const& trained, Manifest const& data, Shard& rows) {
    if (data.features.offset == trained.features.offset) return;
    auto const width = static_cast<std::size_t>(data.row_size());
    auto& bytes = rows.features.own();
    for (std::size_t i = 0; i * sizeof(float) < bytes.size(); ++i) {
        float value = 0;
        std::memcpy(&value, &bytes[i * sizeof value], sizeof value);
        value = static_cast<float>(value + offset_at(data.features.offset, i % width) -
                                   offset_at(trained.features.offset, i % width));
        std::memcpy(&bytes[i * sizeof value], &value, sizeof value);
    }
}

void move_targets(Manifest const& trained, Manifest const& data, Shard& rows) {
    if (data.targets.mean == trained.targets.mean && data.targets.stddev == trained.targets.stddev) return;
    auto const width = static_cast<std::size_t>(trained.outputs);
    for (std::size_t i = 0; i < rows.targets.size(); ++i)
        rows.targets[i] =
            static_cast<float>(stored_target(trained, i % width, target_in_units(data, i % width, rows.targets[i])));
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
    auto const* columns = data.origin.provenance.find("features");
    auto const* expected = trained.origin.provenance.find("features");
    if (columns != nullptr && expected != nullptr && *columns != *expected)
        throw differs("the columns are", columns->dump(), expected->dump());
    if (data.features.offset != trained.features.offset && data.type != FeatureType::float32)
        throw differs("features are", "bytes", "numbers from which the import subtracts an offset");
    data.features.stddev = trained.features.stddev;
    data.features.mean = trained.features.mean;
    return data;
}

// check: as trained_trial.
Ensemble trained_trials(PredictOptions const& options, Workspace& workspace,
                        std::function<void(Manifest const&)> const& check) {
    std::vector<TrainedTrial> out;
    if (options.ensemble == 1) {
        out.push_back(trained_trial(options.trial, workspace, check));
        return Ensemble(std::move(out));
    }
    for (auto const trial : best_trials(options.trial.run_dir, options.ensemble)) {
        auto choice = options.trial;
        choice.trial = trial.value;
        out.push_back(trained_trial(choice, workspace, check));
    }
    return Ensemble(std::move(out));
}

// The outputs of each row, in order. The answer of a language row is the token after its last one.
template <class Visit>
void predict_rows(Ensemble& trained, ShardSource& source, Visit const& visit) {
    auto const& data = trained.manifest();
    auto const width = static_cast<std::size_t>(data.outputs);
    auto const per_row = data.task == Task::language ? width * static_cast<std::size_t>(data.row_size()) : width;
    std::size_t row = 0;
    for (std::int64_t batch = 0; batch < trained.batches(source.rows()); ++batch) {
        auto const outputs = trained.predict(source, batch);
        for (std::size_t at = 0; at < outputs.size(); at += per_row, ++row)
            visit(row, std::span(outputs).subspan(at + per_row - width, width));
    }
}

// The places of a dataset's rows, the first cells of their predictions: split, shard, row, and where the row comes from.
class RowPlaces {
public:
    RowPlaces(std::filesystem::path const& directory, Manifest const& data) : rows_(read_source_rows(directory, data)) {
        heading_ = "split,shard,row";
        if (rows_) heading_ += "," + csv_field(source_heading(data, *rows_));
    }

    std::string const& heading() const { return heading_; }

    std::string place(std::string_view split, std::size_t shard, std::string const& file, std::size_t row) const {
        auto out = fmt::format("{},{},{}", split, shard, row);
        if (!rows_) return out;
        auto const at = rows_->first.at(file) + row;
        return out + "," + (rows_->names.empty() ? std::to_string(rows_->numbers[at]) : csv_field(rows_->names[at]));
    }

private:
    std::optional<SourceRows> rows_;
    std::string heading_;
};

void predict_shard(Ensemble& trained, ShardSource& source, Shard const& answers,
                   std::function<std::string(std::size_t)> const& place, PredictionsCsv& table) {
    auto const width = static_cast<std::size_t>(trained.manifest().outputs);
    predict_rows(trained, source, [&](std::size_t row, std::span<float const> outputs) {
        auto const where = place(row);
        if (has_labels(trained.manifest().task))
            table.add(where, answers.labels[row], outputs);
        else
            table.add(where, std::span(answers.targets).subspan(row * width, width), outputs);
    });
}

std::string metrics_text(LapRecord const& record, Ensemble const& trained) {
    auto const metrics = metrics_of(record, trained.config().train.loss);
    std::string text = fmt::format("{} rows", record.valid.rows);
    using Shown = MetricTraits::Shown;
    for (auto const& metric : metric_traits()) {
        bool const for_tokens = metric.shown == Shown::for_tokens && trained.manifest().task == Task::language;
        bool const always_1 = metric.name == k_val_top5 && trained.manifest().outputs <= 5;
        bool const told =
            metric.shown == Shown::always || (metric.shown == Shown::in_predictions && !always_1) || for_tokens;
        auto const value = metric_value(metrics, metric.name);
        if (told && std::isfinite(value)) text += fmt::format(", {} {:.4f}", metric.short_name(), value);
    }
    for (auto const& score : metrics.own) text += fmt::format(", {} {:.4f}", score.name.substr(4), score.value);
    return text;
}

int predict_dataset(PredictOptions const& options, Workspace& workspace) {
    auto const fits = [&](Manifest const& expected) { normalised_as(expected, read_manifest(options.rows), options.rows); };
    auto trained = trained_trials(options, workspace, fits);
    auto const data = normalised_as(trained.manifest(), read_manifest(options.rows), options.rows);
    trained.read_as(data, workspace);
    RowPlaces const places(options.rows, data);
    PredictionsCsv table(options.out, trained.manifest(), places.heading(), RowAnswers::known);
    Evaluation sums(data.task, data.outputs);
    std::int64_t rows = 0;
    for (auto const& [split, name] : {std::pair{Split::train, "train"}, {Split::valid, "valid"}, {Split::test, "test"}}) {
        if (!options.split.empty() && options.split != name) continue;
        for (std::size_t s = 0; s < data.files(split).size(); ++s) {
            auto const& file = data.files(split)[s];
            auto answers = read_shard(options.rows, file, data);
            move_features(trained.manifest(), data, answers);
            move_targets(trained.manifest(), data, answers);
            auto const source = shard_in_memory(answers);
            predict_shard(trained, *source, answers, [&](auto row) { return places.place(name, s, file.file, row); }, table);
            trained.evaluate(*source, answers, sums);
            rows += answers.rows;
        }
    }
    if (rows == 0)
        throw ConfigError(fmt::format("{}: has no rows{}", options.rows,
                                      options.split.empty() ? "" : fmt::format(" of split \"{}\"", options.split)));
    table.finish();
    LapRecord record;
    record.valid = trained.scores(sums);
    fmt::print("{}\npredictions: {}\n", metrics_text(record, trained), options.out);
    return 0;
}

// A signal meanwhile leaves no copy of the rows.
std::unique_ptr<NewRowSource> open_csv(PredictOptions const& options, Manifest const& trained) {
    ImportWatch watch("predict");
    auto const poll = [&] { watch.see(0, 0); };
    auto rows = new_csv_rows({options.rows, options.id, options.missing, options.unseen_as_none.value_or(false), poll,
                              options.delimiter},
                             trained);
    poll();
    return rows;
}

// Opens the rows as the training data was imported.
std::unique_ptr<NewRowSource> open_new_rows(PredictOptions const& options, Manifest const& trained) {
    auto const* key = trained.origin.provenance.find("importer");
    auto const importer = key == nullptr ? "" : key->string();
    bool const csv = importer == "csv";
    if (!csv && options.of_csv())
        throw ConfigError(
            "--id, --missing, --unseen and --delimiter are for the columns of a CSV file (the model was not trained on "
            "one)");
    if (csv && std::filesystem::exists(options.rows) && !std::filesystem::is_directory(options.rows))
        return open_csv(options, trained);
    if (importer == "images") return new_images(options.rows, trained);
    throw ConfigError(fmt::format(
        "{}: not a dataset directory, nor new rows (the data of this run was imported from {}; new rows can be CSV files or "
        "images, like the training data); import the rows like the training data",
        options.rows, importer.empty() ? "a source that its best/model.json does not name" : importer));
}

int predict_new_rows(PredictOptions const& options, Workspace& workspace) {
    if (!options.split.empty())
        throw ConfigError(fmt::format("--split {}: {} is not a dataset directory (new rows have no splits); leave it out",
                                      options.split, options.rows));
    std::unique_ptr<NewRowSource> source;
    auto trained = trained_trials(options, workspace, [&](Manifest const& data) {
        if (!source) source = open_new_rows(options, data);
    });
    auto data = trained.manifest();
    data.type = source->type();
    trained.read_as(data, workspace);
    PredictionsCsv table(options.out, trained.manifest(), csv_field(source->id_name()), RowAnswers::unknown);
    std::int64_t count = 0;
    while (true) {
        auto rows = source->next(k_new_rows_at_once);
        auto const n = static_cast<std::size_t>(rows.shard.rows);
        if (n == 0) break;
        rows.shard.labels.assign(n, 0);
        rows.shard.targets.assign(has_labels(data.task) ? 0 : n * static_cast<std::size_t>(data.outputs), 0.0F);
        auto const shard = shard_in_memory(std::move(rows.shard));
        predict_rows(trained, *shard,
                     [&](std::size_t row, std::span<float const> outputs) { table.add(csv_field(rows.ids[row]), outputs); });
        count += static_cast<std::int64_t>(n);
    }
    if (count == 0) throw ConfigError(fmt::format("{}: has no rows", options.rows));
    table.finish();
    fmt::print("{} rows\npredictions: {}\n", count, options.out);
    return 0;
}

int predict_command(PredictOptions const& options) {
    Workspace workspace(resolve_device(options.device, 0), 1);
    if (!std::filesystem::exists(options.rows))
        throw ConfigError(fmt::format("{}: does not exist; name a dataset directory, a CSV file or images", options.rows));
    bool const dataset = std::filesystem::exists(std::filesystem::path(options.rows) / "dataset.json");
    if (!dataset) return predict_new_rows(options, workspace);
    if (options.of_csv())
        throw ConfigError(fmt::format(
            "--id, --missing, --unseen and --delimiter: {} is a dataset directory (its import has decided); leave them out",
            options.rows));
    return predict_dataset(options, workspace);
}

void add_which_trials(Command command, PredictOptions& options) {
    auto const ensemble =
        command
            .add_option("--ensemble", options.ensemble,
                        "The mean answer of the K best trials; with repeats or folds, those of the best configuration "
                        "first (run.keep_best \"trial\" stores their weights, else they are trained again)")
            .between(1, 1000)
            .type_name("K");
    command
        .add_option("--trial", options.trial.trial,
                    "Another trial, at its best epoch (trained again, unless its weights are stored)")
        .type_name("ID")
        .excludes(ensemble);
}

}  // namespace

Work add_predict(Command command) {
    auto const options = std::make_shared<PredictOptions>();
    command.add_option("run_dir", options->trial.run_dir, "A run directory").required().type_name("RUN_DIR");
    command
        .add_option(
            "rows", options->rows,
            "New rows: a CSV or Parquet file with the columns of the training data, or a folder of images; or a dataset "
            "directory, whose predictions are scored, too")
        .required()
        .type_name("ROWS");
    command.add_option("--out", options->out, "The CSV file to write").required().type_name("FILE.csv");
    add_which_trials(command, *options);
    command.add_option("--id", options->id, "CSV file: a column to copy into the predictions (default: the row's number)")
        .type_name("COLUMN");
    command.add_choice<std::optional<MissingValues>>(
        "--missing", {{"error", MissingValues::error}, {"mean", MissingValues::mean}}, options->missing,
        "CSV file, cells without a value and columns that are not there: the mean of the "
        "training rows and no category, or an error (default: cells as at the import, columns error)");
    command.add_choice<std::optional<bool>>(
        "--unseen", {{"error", false}, {"none", true}}, options->unseen_as_none,
        "CSV file, a category that the training rows did not have: no category, or an error "
        "(default)");
    command
        .add_value(
            "--delimiter", [options](std::string const& text) { options->delimiter = parse_delimiter(text); },
            "CSV file: the character between two cells, or the word tab (default: as at the import)")
        .type_name("CHARACTER");
    command.add_choice<std::string>("--split", {{"all", ""}, {"train", "train"}, {"valid", "valid"}, {"test", "test"}},
                                    options->split, "Dataset directory: only these rows (default: all)");
    command.add_option("--device", options->device, "Device of the model").shows_default().type_name("auto|cpu|cuda");
    command.add_flag("--allow-code", options->trial.allow_code,
                     "Execute the plug-in or TorchScript file that the run names");
    command.footer(
        "Examples: hopscotch predict runs/churn new.csv --id customer --out predictions.csv\n"
        "          hopscotch predict runs/digits data/digits --split valid --out predictions.csv");
    return on_first_rank([options] { return predict_command(*options); });
}

}  // namespace hopscotch
