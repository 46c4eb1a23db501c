// SPDX-License-Identifier: Apache-2.0
// A network of the user's own in Python: a file that torch.jit.script(module).save(file) wrote.
#pragma once
#include <memory>

#include "tensor/network/network.hpp"

namespace hopscotch {

struct DataSchema;
struct ModelConfig;
class Problems;

// model.file: the .pt; there are no other arguments. Every trial starts with the weights in it.
std::unique_ptr<Network> make_torchscript(ModelConfig const& model, DataSchema const& data, Problems& problems);

}  // namespace hopscotch
