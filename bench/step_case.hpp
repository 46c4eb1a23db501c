// SPDX-License-Identifier: Apache-2.0
// One case of `hopscotch bench step`: the model, its data and its training. A file of cases is a JSON array of objects whose
// keys are named like the options; scripts/bench_step_pytorch.py reads the same file.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "data/dataset/manifest.hpp"
#include "data/dataset/shard.hpp"
#include "experiment/config.hpp"

namespace hopscotch {

struct StepCase {
    std::string name;  // in the result; empty: none
    std::string model = "mlp";
    std::string arguments;     // of the model, as JSON: {"hidden": [128]}; empty: its defaults
    std::string shape = "64";  // of a row: 64, or 3x32x32
    std::int64_t outputs = 10, batch = 32, rows = 2048;
    std::vector<std::string> augment;  // flip, crop, cutout
    std::string optimizer = "sgd";     // with momentum; or adam
    std::string precision = "fp32";    // or bf16
    std::string engine = "torch";      // or lean: train.engine
    bool fast = false;                 // of a GPU: run.deterministic false
    bool nchw = false;                 // train.channels_last false
    bool graphs = true;                // of a GPU: run.cuda_graphs
};

// Values that a case of the file does not name are those of `defaults`. Throws ConfigError.
std::vector<StepCase> read_step_cases(std::filesystem::path const& file, StepCase const& defaults);

Manifest manifest_of(StepCase const& step);
Shard shard_of(StepCase const& step, Manifest const& manifest);  // made-up rows
TrialConfig config_of(StepCase const& step);                     // throws ConfigError

}  // namespace hopscotch
