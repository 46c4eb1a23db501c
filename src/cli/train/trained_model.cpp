// SPDX-License-Identifier: Apache-2.0
#include "cli/train/trained_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "cli/train/best_so_far.hpp"
#include "cli/train/train_again.hpp"
#include "core/counted.hpp"
#include "core/error.hpp"
#include "core/file.hpp"
#include "core/json_reader.hpp"
#include "job/kept_best.hpp"
#include "job/run_code.hpp"
#include "model/trial/trial_state.hpp"
#include "model/trial/workspace.hpp"
#include "rundir/recorded_run.hpp"

namespace hopscotch {
namespace {

// The contents of best/model.json: the trial of the model, and the data that the model expects.
struct Best {
    TrialId trial;
    Manifest data;
    std::optional<LapId> lap;  // of a run that has not finished
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
    if (auto const* import = model.find("import")) out.origin.provenance = *import;
    if (!out.origin.provenance.is_object()) out.origin.provenance = Json(Json::Object{});  // of an earlier version
    if (auto const* columns = model.find("column_features")) out.origin.provenance["features"] = *columns;
    if (model.find("feature_offset") != nullptr) out.features.offset = numbers("feature_offset");
    if (model.find("target_mean") != nullptr) out.targets.mean = numbers("target_mean");
    if (model.find("target_stddev") != nullptr) out.targets.stddev = numbers("target_stddev");
    out.features.mean = numbers("mean");
    out.features.stddev = numbers("stddev");
    Problems problems("model");
    check_rows(out, problems);
    if (!problems.empty()) throw DataError(problems.text());
    return out;
}

Best read_best(std::filesystem::path const& file) {
    auto const best = parse_json_or_throw(read_whole(file), file.string());
    try {
        return {TrialId(static_cast<int>(best.at("trial").integer())), expected_data(best.at("model")), {}};
    } catch (Error const& error) {  // adds the file
        throw DataError(fmt::format("{}: {} (not written by this hopscotch?)", file.string(), error.what()));
    }
}

// The state at the end of a trial's best epoch: from a checkpoint, or trained again, compared with the journal on the way.
Buffer state_of(RecordedRun const& run, LapId const& best, BufferPool& pool) {
    if (auto kept = state_in_checkpoint(run, best, pool)) return std::move(*kept);
    if (trains_together(run.experiment.strategy))
        throw ConfigError(fmt::format(
            "trial {}: its weights are not stored, and {} trained it on several trainers (predict could only train it again "
            "on one); run the experiment with run.keep_best \"trial\"",
            best.trial.value, run.experiment.strategy.name));
    fmt::print(stderr, "the weights of trial {} are not stored: training it again, {}\n", best.trial.value,
               counted(best.epoch + 1, "epoch"));
    Buffer out;
    auto const verdicts = train_again(run, {best.trial}, pool, [&](LapId const& lap, ByteView state) {
        if (lap != best) return true;
        out = pool.acquire(state.size());
        std::ranges::copy(state, out.bytes().begin());
        return false;
    });
    if (!verdicts.differences.empty())
        throw Error(fmt::format("trial {} came out different ({}); see hopscotch replay", best.trial.value,
                                verdicts.differences.front()));
    return out;
}

LapId best_lap_of(RecordedRun const& run, TrialId trial) {
    if (auto const lap = best_lap(run, trial)) return *lap;
    throw ConfigError(fmt::format("trial {} finished no epoch; there is nothing to predict with", trial.value));
}

// Without best/: the run goes on, or a signal, a limit or a crash ended it.
Best best_so_far(RecordedRun const& run, std::optional<int> trial) {
    auto const wanted = trial ? std::optional(TrialId(*trial)) : std::nullopt;
    auto lap = best_lap(run, wanted);
    bool const together = trains_together(run.experiment.strategy);
    if (lap && together && !wanted) lap = best_lap(run, wanted, true);
    if (!lap)
        throw ConfigError(
            fmt::format("{}: {}{} (there is nothing to predict with); let the run go on first", run.directory.string(),
                        trial ? fmt::format("trial {} has finished no epoch", *trial) : "no trial has finished an epoch",
                        together ? ", or no checkpoint has its state" : ""));
    Best out{lap->trial, data_of(run), lap};
    fmt::print(stderr, "{}: has not finished; this is the best model so far: trial {}, epoch {}\n", run.directory.string(),
               lap->trial.value, lap->epoch);
    return out;
}

// The folder with the weights of this trial; none: they are not stored. best: the trial of best/. Others have a folder with
// run.keep_best "trial".
std::optional<std::filesystem::path> stored_weights(std::filesystem::path const& run_dir, TrialId trial, TrialId best) {
    auto const own = run_dir / "best" / fmt::format("trial-{}", trial.value);
    if (trial == best) return run_dir / "best";
    return std::filesystem::exists(own / "model.safetensors") ? std::optional(own) : std::nullopt;
}

void require_its_weights(std::filesystem::path const& folder) {
    auto const file = folder / "model.json";
    if (!has_its_weights(folder, parse_json_or_throw(read_whole(file), file.string())))
        throw DataError(
            fmt::format("{}: is not the file that model.json describes (its content differs); restore it, or "
                        "delete {} (predict then trains the model again)",
                        (folder / "model.safetensors").string(), folder.string()));
}

// Each output has weights of its own. A hostile model.json must not make this program ask for more memory.
void require_weights_for(Manifest const& data, std::filesystem::path const& run_dir) {
    std::error_code none;
    auto const bytes = std::filesystem::file_size(run_dir / "best" / "model.safetensors", none);
    if (!none && static_cast<std::uint64_t>(data.outputs) > bytes / 4)
        throw DataError(
            fmt::format("{}: best/model.json has {} outputs (best/model.safetensors has {} bytes); one of them was "
                        "changed",
                        run_dir.string(), data.outputs, bytes));
}

// If the user allows it, of all trials: a trial that is trained again may go on from another trial.
std::set<std::string> code_of(TrialChoice const& choice, TrialConfig const& config, RecordedRun const& run) {
    if (choice.allow_code) return code_files(run.experiment, run.journal);
    return config.model.file.empty() ? std::set<std::string>() : std::set{config.model.file};
}

}  // namespace

TrainedTrial trained_trial(TrialChoice const& choice, Workspace& workspace,
                           std::function<void(Manifest const&)> const& check) {
    std::filesystem::path const run_dir = choice.run_dir;
    auto const run = read_run(run_dir);
    auto const& journal = run.journal;
    if (choice.trial && !journal.assignments.contains(TrialId(*choice.trial)))
        throw ConfigError(fmt::format("{}: there is no trial {} in this run", run_dir.string(), *choice.trial));
    auto const best_file = run_dir / "best" / "model.json";
    bool const finished = std::filesystem::exists(best_file);
    auto best = finished ? read_best(best_file) : best_so_far(run, choice.trial);
    auto const trial = choice.trial ? TrialId(*choice.trial) : best.trial;
    if (!journal.assignments.contains(trial))
        throw ConfigError(fmt::format("{}: there is no trial {} in this run", run_dir.string(), trial.value));
    TrainedTrial out;
    check(best.data);
    if (finished) require_weights_for(best.data, run_dir);
    out.manifest = std::move(best.data);
    out.config = run.config_of(trial);
    require_allowed(if_allowed(choice.allow_code), code_of(choice, out.config, run), choice.run_dir);
    out.manifest.train = {{"", 1, 0}};
    if (auto const weights = finished ? stored_weights(run_dir, trial, best.trial) : std::nullopt) {
        require_its_weights(*weights);
        out.config.model.init_from = (*weights / "model.safetensors").string();
        out.config.model.init_mode = InitFrom::strict;
        out.config.model.freeze.clear();
        out.config.model.cache_frozen = false;
    } else {
        out.state = state_of(run, best.lap ? *best.lap : best_lap_of(run, trial), *out.pool);
    }
    out.model = make_trial_model(out.config, out.manifest, workspace);
    if (!out.state) {
        out.state = out.pool->acquire(out.model.state->layout().bytes);
        out.model.state->initialise(out.state.bytes(), 0, trial);
    }
    return out;
}

}  // namespace hopscotch
