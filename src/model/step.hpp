// SPDX-License-Identifier: Apache-2.0
// The one training step that every strategy shares: forward and backward into the flat gradient, then the update. Between
// the two a data-parallel strategy may combine gradients. Nothing is read back from the device within a unit.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "model/feed.hpp"
#include "model/loss.hpp"
#include "model/network.hpp"
#include "model/optimizer.hpp"
#include "model/workspace.hpp"

namespace hopscotch {

class Step {
public:
    Step(std::unique_ptr<Network> network, TrainConfig const& train, Workspace::Impl& workspace);

    Network& network() { return *network_; }

    // floats: the state's parameters and slots on the device, as one flat float tensor laid out like `layout`.
    void bind(at::Tensor const& floats, StateLayout const& layout);

    void begin_unit();  // zeros the gradient and the loss sum

    // Overwrites the gradient with that of the batch's mean loss. noise_key addresses the dropout masks of this step.
    void forward_backward(Batch const& batch, std::uint64_t noise_key);

    void update(double lr, std::int64_t step) { optimizer_.update(lr, step); }

    at::Tensor const& gradient() const { return gradient_; }  // flat, laid out like the parameters

    double loss_sum() const;  // over the rows since begin_unit; waits for the device

private:
    std::unique_ptr<Network> network_;
    Optimizer optimizer_;
    Loss loss_;
    Workspace::Impl& workspace_;
    at::Tensor gradient_, loss_sum_;
};

}  // namespace hopscotch
