// SPDX-License-Identifier: Apache-2.0
// A trial that sleeps instead of computing: it measures the scheduler and the network on more trainers than a machine has
// cores. Its loss and accuracy are made up, and every output says so.
#pragma once
#include "model/trial/trial_model.hpp"

namespace hopscotch {

struct DataSchema;
struct ModelConfig;
class Problems;

void check_synthetic(ModelConfig const& model, DataSchema const& data, Problems& problems);

// Per row, as if a trainer did 1 GFLOP/s on batches of this many rows.
double synthetic_flops(ModelConfig const& model, int batch_size);

TrialModel make_synthetic(TrialConfig const& config, DataSchema const& data);

}  // namespace hopscotch
