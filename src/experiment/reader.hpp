// SPDX-License-Identifier: Apache-2.0
// The strict reader of experiment files.
#pragma once
#include <string_view>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "core/json_reader.hpp"
#include "experiment/config.hpp"

namespace hopscotch {

// The document as the run in this directory began, if that run is to go on; null: there is none.
using BeganWith = std::function<Json(std::string const& run_dir)>;

// Parses and checks; every complaint goes to problems. overrides: "path=value" of --set, the value JSON or else a string.
// began_with: such a run keeps the choice of search.procedure "auto".
Experiment read_experiment(std::string_view text, std::vector<std::string> const& overrides, Problems& problems,
                           BeganWith const& began_with = {});

// Tells the watcher of `problems` all keys of an experiment but the arguments of the models (model/zoo/zoo.hpp).
void describe_experiment(Problems& problems);

// The experiment's train/model/data with the assignment written in; complaints (a bad value in the space) to problems.
TrialConfig resolve(Experiment const& experiment, Assignment const& assignment, Problems& problems);

// Likewise, but throws ConfigError. document: the first word of each complaint.
TrialConfig resolve(Experiment const& experiment, Assignment const& assignment, std::string const& document);

LossKind loss_of(Experiment const& experiment, Assignment const& assignment);  // of a trial: the loss may be searched
std::map<TrialId, LossKind> losses_of(Experiment const& experiment, std::map<TrialId, Assignment> const& assignments);

// The loss that fits the dataset, if neither the document nor the space names train.loss. The function writes the loss into
// the document and into `train`, so every rank and a replay read it. Keys of other losses are reported to problems.
void default_loss(Experiment& experiment, LossKind loss, Problems& problems);

// Likewise for search.metric, where the document does not name it: a regression has no accuracy.
void default_metric(Experiment& experiment, std::string_view metric, Problems& problems);

// Likewise for search.mode, of a metric of the user's own.
void default_mode(Experiment& experiment, Mode mode);

// Assignment <-> JSON object {dotted path: value}.
Json to_json(Assignment const& assignment);
Assignment assignment_from_json(Json const& object);

// The assignment without search.repeat and search.fold: the part that the copies of a configuration share.
Assignment configuration_of(Assignment const& assignment);

}  // namespace hopscotch
