// SPDX-License-Identifier: Apache-2.0
// torch's fused optimizers over flat ranges: one kernel per step whatever the number of parameters. The arithmetic is that
// of torch.optim (momentum buffers start at zero, which for dampening 0 is torch's own first step).
#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

#include "experiment/config.hpp"

namespace hopscotch {

class Optimizer {
public:
    Optimizer(OptimizerConfig const& config, at::Device device);

    // Flat, equally long tensors: parameters, their gradients, and one per slot kind (layout.hpp, slot_kinds).
    void bind(at::Tensor const& parameters, at::Tensor const& gradients, std::vector<at::Tensor> const& slots);

    // One update; `step` counts from 1 (the bias correction of Adam).
    void update(double lr, std::int64_t step);

private:
    OptimizerConfig config_;
    std::vector<at::Tensor> parameters_, gradients_, first_, second_, step_;  // lists of one, as the fused kernels want
};

}  // namespace hopscotch
