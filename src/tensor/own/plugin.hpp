// SPDX-License-Identifier: Apache-2.0
// A network of the user's own in C++: a shared object that is loaded, never unloaded, and asked for its modules.
#pragma once
#include <memory>

#include "tensor/network/network.hpp"

namespace hopscotch {

struct DataSchema;
struct ModelConfig;
class Problems;

// model.file: the shared object, compiled against include/hopscotch/model.hpp and the same LibTorch; model.arguments are its
// own.
std::unique_ptr<Network> make_plugin(ModelConfig const& model, DataSchema const& data, Problems& problems);

}  // namespace hopscotch
