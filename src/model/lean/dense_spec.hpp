// SPDX-License-Identifier: Apache-2.0
// A fully connected network: `logistic` and `mlp` of the zoo.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "model/state/layout.hpp"

namespace hopscotch {

enum class Activation;  // model/lean/elements.hpp

struct DenseSpec {
    std::vector<std::int64_t> widths;  // of the input, every hidden layer, the output
    std::vector<std::string> names;    // of the layers: names[i] + ".weight" [widths[i + 1], widths[i]]
    Activation activation{};           // relu
    double dropout = 0;                // after every hidden layer
    bool batch_norm = false;           // before every activation: "norms.i.weight"
};

// With its parameters and buffers, which are those of the network with tensors.
struct DenseModel {
    DenseSpec spec;
    std::vector<ParameterSpec> parameters;
    std::vector<BufferSpec> buffers;
};
DenseModel dense_model(DenseSpec spec);

double multiply_adds(DenseSpec const& spec);  // of one row, forward

}  // namespace hopscotch
