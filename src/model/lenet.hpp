// SPDX-License-Identifier: Apache-2.0
// LeNet-5 (LeCun et al. 1998) with relu and max pooling: on 1x28x28 the classic 400-120-84-10, 61,706 parameters. Images
// with a side below 12 keep their size in the second convolution too (padding 2), so that something is left to pool.
#pragma once
#include <memory>

#include "model/trial_model.hpp"

namespace hopscotch {

class Network;

void check_lenet(ModelConfig const& model, DataSchema const& data, Problems& problems);
double lenet_flops(ModelConfig const& model, DataSchema const& data);
std::unique_ptr<Network> make_lenet(ModelConfig const& model, DataSchema const& data);

}  // namespace hopscotch
