// SPDX-License-Identifier: Apache-2.0
// The makers of the zoo's networks, one a family. Each reads model.arguments, checks them and the shape of the data, and
// returns null when it had to complain (under /model).
#pragma once
#include <memory>
#include <string>

#include "tensor/network/network.hpp"

namespace hopscotch {

struct DataSchema;
struct ModelConfig;
class Problems;

using MakeNetwork = std::unique_ptr<Network> (*)(ModelConfig const&, DataSchema const&, Problems&);

// Of this name; null: the zoo has no network of this name.
MakeNetwork maker_of(std::string const& model);

std::unique_ptr<Network> make_logistic(ModelConfig const& model, DataSchema const& data, Problems& problems);
std::unique_ptr<Network> make_mlp(ModelConfig const& model, DataSchema const& data, Problems& problems);

// LeNet-5 (LeCun et al. 1998) with relu and max pooling: on 1x28x28 the classic 400-120-84-10, 61,706 parameters. Images
// with a side below 12 keep their size in the second convolution too (padding 2), so that something is left to pool.
std::unique_ptr<Network> make_lenet(ModelConfig const& model, DataSchema const& data, Problems& problems);

// A small network for small images: 3x3 convolution, max pooling, batch norm and relu for each of `channels`, then fc.
std::unique_ptr<Network> make_cnn(ModelConfig const& model, DataSchema const& data, Problems& problems);

// resnet20, 32, 56 (of CIFAR), resnet18, 34, 50 (torchvision's); model.name says which.
std::unique_ptr<Network> make_resnet(ModelConfig const& model, DataSchema const& data, Problems& problems);

std::unique_ptr<Network> make_mobilenet_v2(ModelConfig const& model, DataSchema const& data, Problems& problems);
std::unique_ptr<Network> make_vgg16(ModelConfig const& model, DataSchema const& data, Problems& problems);  // and vgg16_bn

// Wide & Deep: a linear model plus an MLP over embeddings, for tables with categories.
std::unique_ptr<Network> make_wide_and_deep(ModelConfig const& model, DataSchema const& data, Problems& problems);

// Sequences: rows of TxF numbers or of T tokens.
std::unique_ptr<Network> make_lstm(ModelConfig const& model, DataSchema const& data, Problems& problems);

// GPT-2, the one network for the task `language`: 12 layers of width 768 over 50257 x 1024 tokens have 124,439,808
// parameters.
std::unique_ptr<Network> make_gpt(ModelConfig const& model, DataSchema const& data, Problems& problems);

// ViT: preset b_16 on 3x224x224 with 1000 classes has 86,567,656 parameters.
std::unique_ptr<Network> make_vit(ModelConfig const& model, DataSchema const& data, Problems& problems);

}  // namespace hopscotch
