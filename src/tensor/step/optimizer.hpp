// SPDX-License-Identifier: Apache-2.0
// Optimizers over flat ranges in host memory; a GPU has a kernel of its own (update_element.hpp). Torch's fused kernels
// where there are some, one call per step whatever the number of parameters. The arithmetic is that of torch.optim (momentum
// buffers start at zero, which for dampening 0 is torch's own first step).
#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

#include "experiment/config.hpp"

namespace hopscotch {

class Optimizer {
public:
    explicit Optimizer(OptimizerConfig const& config);

    // Flat, equally long tensors: parameters, their gradients, and one per slot kind (layout.hpp, slot_kinds, without outer
    // and ema). Weight decay applies to the first `decayed` elements.
    void bind(at::Tensor const& parameters, at::Tensor const& gradients, std::vector<at::Tensor> const& slots,
              std::int64_t decayed);

    // One update; `step` counts from 1 (the bias correction of Adam).
    void update(double lr, std::int64_t step) {
        schedule(lr, step);
        apply();
    }

    // The same in two.
    void schedule(double lr, std::int64_t step);
    void apply();

private:
    struct Range {                                      // of the flat tensors, with a weight decay of its own
        std::vector<at::Tensor> parameters, gradients;  // lists of one, as the fused kernels want
        std::vector<std::vector<at::Tensor>> slots;
        double weight_decay = 0;
    };
    void fused(Range& range);
    void rmsprop(Range& range) const;
    void adagrad(Range& range) const;
    void descend(at::Tensor& parameters, at::Tensor const& gradient, at::Tensor const& scale) const;

    OptimizerConfig config_;
    std::vector<Range> ranges_;
    std::vector<at::Tensor> step_;
    double lr_ = 0;  // of the scheduled update; Adagrad's decay included
};

}  // namespace hopscotch
