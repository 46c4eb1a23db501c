// SPDX-License-Identifier: Apache-2.0
#include "model/step.hpp"

#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>

#include <optional>

namespace hopscotch {
namespace {

std::int64_t offset_in_floats(StateTensor const& tensor) { return static_cast<std::int64_t>(tensor.offset / sizeof(float)); }
std::int64_t length_in_floats(StateTensor const& tensor) { return static_cast<std::int64_t>(tensor.bytes / sizeof(float)); }

at::Tensor view_of(at::Tensor const& flat, StateTensor const& tensor) {
    return flat.narrow(0, offset_in_floats(tensor), length_in_floats(tensor)).view(tensor.shape);
}

}  // namespace

Step::Step(std::unique_ptr<Network> network, TrainConfig const& train, Workspace::Impl& workspace)
    : network_(std::move(network)), optimizer_(train.optimizer, workspace.device), loss_(train.loss, workspace.device),
      workspace_(workspace), loss_sum_(at::zeros({}, at::TensorOptions(workspace.device).dtype(at::kDouble))) {}

void Step::bind(at::Tensor const& floats, StateLayout const& layout) {
    auto const length = static_cast<std::int64_t>(layout.end_of(Block::parameter) / sizeof(float));
    gradient_ = workspace_.gradient(length);
    std::vector<at::Tensor> parameters, gradients, slots;
    auto const count = network_->parameters().size();
    for (std::size_t i = 0; i < layout.tensors.size(); ++i) {
        auto const& tensor = layout.tensors[i];
        if (tensor.block == Block::parameter) {
            parameters.push_back(view_of(floats, tensor));
            gradients.push_back(view_of(gradient_, tensor));
        } else if (tensor.block == Block::slot && i % count == 0) {  // the first tensor of a slot kind: its range begins
            slots.push_back(floats.narrow(0, offset_in_floats(tensor), length));
        }
    }
    network_->bind(std::move(parameters), std::move(gradients));
    optimizer_.bind(floats.narrow(0, 0, length), gradient_, slots);
}

// The gradient is shared with models of other layouts, whose values may lie where this one has padding.
void Step::begin_unit() {
    gradient_.zero_();
    loss_sum_.zero_();
}

void Step::forward_backward(Batch const& batch, std::uint64_t noise_key) {
    bool const recorded = network_->kind() == Backward::autograd;
    std::optional<c10::InferenceMode> unrecorded;
    if (recorded)
        gradient_.zero_();  // autograd adds
    else
        unrecorded.emplace();
    workspace_.noise.set_current_seed(noise_key);
    auto const outputs = network_->forward(batch.x, &workspace_.noise);
    auto const [loss, gradient] = loss_.mean(outputs, batch.y);
    network_->backward(outputs, gradient);
    loss_sum_.add_(loss, batch.x.size(0));
}

double Step::loss_sum() const { return loss_sum_.item<double>(); }

}  // namespace hopscotch
