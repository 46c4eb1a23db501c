// SPDX-License-Identifier: Apache-2.0
// Of a GPU: how weights come to autograd and gradients come back, by a few launches for all parameters together.
//   weights:   a convolution gets a copy of its weight in the type and order in which it computes. By itself it would make
//              that copy in the forward pass, and again in the backward pass
//   gradients: autograd leaves each where it has computed it. Bound to a place, it would add each there by a launch
#pragma once
#include <cstdint>
#include <vector>

#include "tensor/gpu/copy_device.hpp"
#include "tensor/gpu/copy_element.hpp"
#include "tensor/network/network.hpp"

namespace hopscotch {

struct LeafOptions {
    std::vector<bool> const& convolutions;  // by parameter: the weight of a convolution
    at::ScalarType type = at::kFloat;       // of the copies
    bool channels_last = true;
};

class Leaves {
public:
    // Floats of memory that the copies of these parameters need.
    static std::int64_t memory_floats(std::vector<ParameterSpec> const& parameters, LeafOptions const& options);

    // bound: the network's own tensors. memory: memory_floats() floats, for this object alone while the network is bound.
    Leaves(CopyDevice const& device, BoundTensors const& bound, at::Tensor const& memory, LeafOptions const& options);

    // To bind the network to instead.
    BoundTensors const& tensors() const { return tensors_; }

    void bring_weights() const;  // before a forward pass
    void collect_gradients();    // after the backward pass: all of the flat gradient but its padding
    void forget_gradients();     // before the forward pass: those of a pass that failed

private:
    CopyDevice const& device_;
    std::vector<at::Tensor> places_;  // of the gradients
    BoundTensors tensors_;
    std::vector<TensorCopy> weights_;
};

}  // namespace hopscotch
