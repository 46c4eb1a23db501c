// SPDX-License-Identifier: Apache-2.0
#include "job/best_model.hpp"

#include "core/durable_file.hpp"
#include "core/file.hpp"
#include "core/hash.hpp"
#include "direct/trial_view.hpp"
#include "experiment/reader.hpp"
#include "job/prepared_run.hpp"
#include "model/trial/trial_model.hpp"
#include "model/trial/trial_state.hpp"
#include "model/trial/workspace.hpp"
#include "rundir/metrics.hpp"

namespace hopscotch {
namespace {

// The model section as this trial had it, with the data it expects: enough to build the network again.
Json model_document(PreparedRun const& prepared, Assignment const& assignment) {
    auto document = prepared.inputs.experiment.document;
    for (auto const& [path, value] : assignment) document.set(path, value);
    auto out = Json::object({{"model", document.at("model")},
                             {"outputs", prepared.inputs.manifest.outputs},
                             {"task", std::string(name_of(prepared.inputs.manifest.task))},
                             {"class_names", prepared.inputs.manifest.class_names},
                             {"categories", prepared.inputs.manifest.categories},
                             {"mean", prepared.inputs.manifest.features.mean},
                             {"stddev", prepared.inputs.manifest.features.stddev}});
    out["shape"] = Json(prepared.inputs.manifest.shape);
    if (!prepared.inputs.manifest.features.offset.empty()) out["feature_offset"] = prepared.inputs.manifest.features.offset;
    if (!prepared.inputs.manifest.targets.mean.empty()) out["target_mean"] = prepared.inputs.manifest.targets.mean;
    if (!prepared.inputs.manifest.targets.stddev.empty()) out["target_stddev"] = prepared.inputs.manifest.targets.stddev;
    // What the features are called, so that predict can tell another table apart; and how new rows become features.
    auto import = prepared.inputs.manifest.origin.provenance;
    if (auto const* names = import.find("features")) out["column_features"] = *names;
    if (import.is_object()) std::erase_if(import.object(), [](auto const& member) { return member.key == "features"; });
    out["import"] = std::move(import);
    return out;
}

}  // namespace

void write_best_model(PreparedRun const& prepared, std::filesystem::path const& folder, BestModel const& best) {
    std::filesystem::remove(folder / "validation.json");  // of another state
    Workspace workspace("cpu", 1);
    auto const model = make_trial_model(*best.trial.config, prepared.inputs.manifest, workspace);
    model.state->bind(best.state);
    auto about = Json::object({{"format", 1},
                               {"trial", static_cast<std::int64_t>(best.trial.id.value)},
                               {"epoch", best.metrics.epoch},
                               {"metrics", to_json(best.metrics)},
                               {"config", to_json(best.trial.assignment)},
                               {"model", model_document(prepared, best.trial.assignment)},
                               {"state_hash_of", "the whole state after that epoch"},
                               {"state_hash", to_hex(state_hash(best.state, model.state->layout()))}});
    if (best.test != nullptr) about["test"] = test_to_json(*best.test);
    auto const weights = folder / "model.safetensors";
    model.state->save(weights.string(),
                      Json::object({{"format", "pt"}, {"hopscotch_trial", std::to_string(best.trial.id.value)}}));
    about["weights_file"] =
        Json::object({{"bytes", std::filesystem::file_size(weights)}, {"xxh64", to_hex(hash_file(weights))}});
    write_atomically(folder / "model.json", about.dump(2) + "\n");
}

void write_errors(std::filesystem::path const& folder, LapId const& lap, Json const& errors) {
    auto out = Json::object({{"format", 1}, {"trial", lap.trial.value}, {"epoch", lap.epoch}});
    for (auto const& [key, value, _] : errors.object()) out[key] = value;
    write_atomically(folder / "validation.json", out.dump() + "\n");
}

}  // namespace hopscotch
