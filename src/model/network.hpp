// SPDX-License-Identifier: Apache-2.0
// A network: a plain struct of views into a flat parameter range, with a forward and a backward pass. It owns no weights.
#pragma once
#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "model/layout.hpp"

namespace hopscotch {

// autograd: forward runs with gradients recorded and backward() is torch's. written_out: the network computes its own
// gradients, which halves the time of small models (a step of a 64-64-10 MLP is all overhead).
enum class Backward { autograd, written_out };

class Network {
public:
    virtual ~Network() = default;
    virtual std::vector<ParameterSpec> const& parameters() const = 0;
    virtual Backward kind() const = 0;

    // Views of the parameters and of their gradients, in the order of parameters(). Called for every new state.
    virtual void bind(std::vector<at::Tensor> parameters, std::vector<at::Tensor> gradients) = 0;

    // x: [rows, shape of the data...] -> [rows, outputs]. noise: the generator of dropout masks; null in evaluation.
    virtual at::Tensor forward(at::Tensor const& x, at::Generator* noise) = 0;

    // d loss / d outputs -> the bound gradients, which are zero before; of the last forward pass with noise.
    virtual void backward(at::Tensor const& outputs, at::Tensor const& output_gradient) = 0;
};

// Zero with probability p, else 1/(1-p); in the shape of x.
at::Tensor dropout_mask(at::Tensor const& x, double p, at::Generator const& noise);

}  // namespace hopscotch
