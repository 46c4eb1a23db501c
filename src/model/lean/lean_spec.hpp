// SPDX-License-Identifier: Apache-2.0
// The networks that the lean step trains: `logistic`, `mlp`, `lenet` and `cnn` of the zoo.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "model/state/layout.hpp"

namespace hopscotch {

enum class Activation;  // model/lean/elements.hpp

struct ImageSize {
    std::int64_t channels = 0, height = 0, width = 0;
    std::int64_t pixels() const { return height * width; }
};

// Of stride 1, then 2x2 max pooling, batch norm if it has one, and relu.
struct ConvolutionSpec {
    std::string name;  // name + ".weight" [channels, channels of the input, kernel, kernel]
    std::string norm;  // the name of the batch norm; empty: none, and name + ".bias"
    std::int64_t channels = 0, kernel = 3, padding = 1;
};

// Fully connected layers.
struct DenseSpec {
    std::vector<std::int64_t> widths;  // of the input, every hidden layer, the output
    std::vector<std::string> names;    // of the layers: names[i] + ".weight" [widths[i + 1], widths[i]]
    Activation activation{};           // relu
    double dropout = 0;                // after every hidden layer
    bool batch_norm = false;           // before every activation: "norms.i.weight"
};

struct LeanSpec {
    DenseSpec dense;
    ImageSize image = {};                            // if there are convolutions
    std::vector<ConvolutionSpec> convolutions = {};  // before the fully connected layers
    double image_dropout = 0;                        // between the two
};

// With its parameters and buffers, which are those of the network with tensors.
struct LeanModel {
    LeanSpec spec;
    std::vector<ParameterSpec> parameters;
    std::vector<BufferSpec> buffers;
};
LeanModel lean_model(LeanSpec spec);

double multiply_adds(LeanSpec const& spec);  // of one row, forward

// Sizes along each convolution.
struct ConvolutionSizes {
    ImageSize input, output, pooled;
};
std::vector<ConvolutionSizes> sizes_of(ImageSize image, std::vector<ConvolutionSpec> const& convolutions);

}  // namespace hopscotch
