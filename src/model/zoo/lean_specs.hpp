// SPDX-License-Identifier: Apache-2.0
// The networks of the zoo that the lean step knows. All functions complain under /model; their result is worthless then.
#pragma once
#include <cstdint>
#include <string>

#include "model/lean/lean_spec.hpp"

namespace hopscotch {

struct DataSchema;
struct ModelConfig;
class Problems;

LeanSpec logistic_spec(ModelConfig const& model, DataSchema const& data, Problems& problems);
LeanSpec mlp_spec(ModelConfig const& model, DataSchema const& data, Problems& problems);
LeanSpec lenet_spec(ModelConfig const& model, DataSchema const& data, Problems& problems);
LeanSpec cnn_spec(ModelConfig const& model, DataSchema const& data, Problems& problems);

// Why LibTorch is faster for a network of these arguments, for people; empty: it is not. The arguments alone decide.
std::string why_large(ModelConfig const& model);

// CxHxW of data that are images with both sides at least `smallest`; else complains at /model/name, and the size is 0.
ImageSize image_size(ModelConfig const& model, DataSchema const& data, std::int64_t smallest, Problems& problems);

}  // namespace hopscotch
