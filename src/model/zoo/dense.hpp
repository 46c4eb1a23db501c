// SPDX-License-Identifier: Apache-2.0
// The fully connected networks of the zoo. Both functions complain under /model; their result is worthless then.
#pragma once
#include "model/lean/dense_spec.hpp"

namespace hopscotch {

struct DataSchema;
struct ModelConfig;
class Problems;

DenseSpec logistic_spec(ModelConfig const& model, DataSchema const& data, Problems& problems);
DenseSpec mlp_spec(ModelConfig const& model, DataSchema const& data, Problems& problems);

}  // namespace hopscotch
