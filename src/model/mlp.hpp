// SPDX-License-Identifier: Apache-2.0
// Fully connected networks: `logistic` (no hidden layer) and `mlp`. Free of torch: the zoo reads arguments and costs here.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/trial_model.hpp"

namespace hopscotch {

class Network;

struct MlpArguments {
    std::vector<std::int64_t> hidden{64};
    std::string activation = "relu";  // relu | tanh
    double dropout = 0;               // after every hidden activation
};

void check_logistic(ModelConfig const& model, DataSchema const& data, Problems& problems);
double logistic_flops(ModelConfig const& model, DataSchema const& data);
std::unique_ptr<Network> make_logistic(ModelConfig const& model, DataSchema const& data);

void check_mlp(ModelConfig const& model, DataSchema const& data, Problems& problems);
double mlp_flops(ModelConfig const& model, DataSchema const& data);
std::unique_ptr<Network> make_mlp(ModelConfig const& model, DataSchema const& data);

}  // namespace hopscotch
