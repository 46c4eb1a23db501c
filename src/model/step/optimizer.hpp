// SPDX-License-Identifier: Apache-2.0
// Optimizers over flat ranges: torch's fused kernels where there are some, one call per step whatever the number of
// parameters. The arithmetic is that of torch.optim (momentum buffers start at zero, which for dampening 0 is torch's own
// first step).
#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

#include "experiment/config.hpp"

namespace hopscotch {

class Optimizer {
public:
    // Where the kernels find the learning rate: among their arguments, or in memory of the device, in float, which a
    // captured CUDA graph reads anew at each replay.
    enum class Rate { argument, on_device };
    Optimizer(OptimizerConfig const& config, at::Device device)
        : Optimizer(config, device, device.is_cpu() ? Rate::argument : Rate::on_device) {}
    Optimizer(OptimizerConfig const& config, at::Device device, Rate rate);

    // Flat, equally long tensors: parameters, their gradients, and one per slot kind (layout.hpp, slot_kinds, without outer
    // and ema). Weight decay applies to the first `decayed` elements.
    void bind(at::Tensor const& parameters, at::Tensor const& gradients, std::vector<at::Tensor> const& slots,
              std::int64_t decayed);

    // One update; `step` counts from 1 (the bias correction of Adam).
    void update(double lr, std::int64_t step) {
        schedule(lr, step);
        apply();
    }

    // The same in two: schedule() brings the numbers to where apply() reads them, without waiting for the device; apply()
    // only launches kernels; with Rate::on_device these are always the same.
    void schedule(double lr, std::int64_t step);
    void apply();

private:
    struct Range {                                      // of the flat tensors, with a weight decay of its own
        std::vector<at::Tensor> parameters, gradients;  // lists of one, as the fused kernels want
        std::vector<std::vector<at::Tensor>> slots;
        double weight_decay = 0;
    };
    template <class Lr>
    void fused(Range& range, Lr const& lr);
    void rmsprop(Range& range) const;
    void adagrad(Range& range) const;
    void descend(at::Tensor& parameters, at::Tensor const& gradient, at::Tensor const& scale) const;

    OptimizerConfig config_;
    std::vector<Range> ranges_;
    std::vector<at::Tensor> step_;
    double lr_ = 0;         // of the scheduled update; Adagrad's decay included
    at::Tensor device_lr_;  // the same; undefined: Rate::argument
};

}  // namespace hopscotch
