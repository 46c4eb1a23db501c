// SPDX-License-Identifier: Apache-2.0
#include "app/commands/trained_model.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "app/common/run_code.hpp"
#include "core/error.hpp"
#include "core/file.hpp"
#include "core/hash.hpp"
#include "experiment/reader.hpp"
#include "model/feed/workspace.hpp"
#include "model/trial/trial_state.hpp"
#include "run/journal.hpp"
#include "run/metrics.hpp"
#include "run/run_directory.hpp"
#include "strategy/common/journey.hpp"
#include "strategy/trainer/trial_runner.hpp"

namespace hopscotch {
namespace {

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
    if (auto const* import = model.find("import")) out.provenance = *import;
    if (!out.provenance.is_object()) out.provenance = Json(Json::Object{});  // of an earlier version
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

// Each output has weights of its own. Whoever wrote model.json must not make this program ask for more memory.
void require_weights_for(Manifest const& data, std::filesystem::path const& run_dir) {
    std::error_code none;
    auto const bytes = std::filesystem::file_size(run_dir / "best" / "model.safetensors", none);
    if (!none && static_cast<std::uint64_t>(data.outputs) > bytes / 4)
        throw DataError(
            fmt::format("{}: best/model.json has {} outputs (best/model.safetensors has {} bytes); one of them was "
                        "changed",
                        run_dir.string(), data.outputs, bytes));
}

}  // namespace

TrainedTrial trained_trial(TrialChoice const& choice, Workspace& workspace,
                           std::function<void(Manifest const&)> const& check) {
    std::filesystem::path const run_dir = choice.run_dir;
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
    auto const trial = choice.trial ? TrialId(*choice.trial) : best.trial;
    auto const journal = read_journal(run_dir / "journal.jsonl");
    if (!journal.assignments.contains(trial))
        throw ConfigError(fmt::format("{}: there is no trial {} in this run", run_dir.string(), trial.value));
    TrainedTrial out;
    check(best.data);
    require_weights_for(best.data, run_dir);
    out.manifest = std::move(best.data);
    out.config = resolve(experiment, journal.assignments.at(trial), "experiment.json");
    if (!out.config.model.file.empty())
        require_allowed(choice.allow_code ? RunCode::allowed : RunCode::refused, {out.config.model.file}, choice.run_dir);
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

}  // namespace hopscotch
