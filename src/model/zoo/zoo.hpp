// SPDX-License-Identifier: Apache-2.0
// The table of models, the check of a configuration against its model, and the cost of a row.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "model/trial/network_facts.hpp"

namespace hopscotch {

struct DataSchema;
struct ModelConfig;
class Problems;
struct TrialConfig;

struct ZooEntry {
    std::string name, summary;
    std::string arguments;  // one line an argument: name, default, meaning
    std::string input;      // shapes that it takes
    bool synthetic = false;
};
std::vector<ZooEntry> const& zoo();
bool is_synthetic(std::string const& model);

// Tells the watcher of `problems` the names of the models, and the arguments of the one that the watcher names.
void describe_models(Problems& problems);

// Cost of one training row in FLOPs (forward and backward), for schedules; a pure function of the configuration.
// The first form takes the batch size (the cost of `synthetic` depends on it), the second assumes the default one.
double flops_per_row(TrialConfig const& config, DataSchema const& data);
double flops_per_row(ModelConfig const& model, DataSchema const& data);

// For model.cache_frozen; none: the first layer trains, or rows change from epoch to epoch.
std::optional<FrozenPart> frozen_part(TrialConfig const& config, DataSchema const& data);

// Whether this model, which check_model accepts, draws from torch's own generator: then trainers must not share a process.
bool draws_from_torch(ModelConfig const& model, DataSchema const& data);

// Why LibTorch's step trains a trial whose model check_model accepts, for people ("train.precision is bf16"); empty: on a
// CPU, the lean step does (docs/decisions/0073).
std::string why_torch_step(TrialConfig const& config);

// Makes that step ready: loads LibTorch if the trial needs it. Throws Error if LibTorch cannot be loaded, or if this host's
// CPU cannot compute the lean step.
void require_engine(TrialConfig const& config);

// None of a model that check_model refuses.
std::vector<OwnMetricName> own_metrics(ModelConfig const& model, DataSchema const& data);

// Adds to problems, under /model: unknown names, unknown or ill-typed arguments, a shape that does not fit.
void check_model(ModelConfig const& model, DataSchema const& data, Problems& problems);

// The same, and a loss that does not fit the task (under /train/loss).
void check_model(TrialConfig const& config, DataSchema const& data, Problems& problems);

}  // namespace hopscotch
