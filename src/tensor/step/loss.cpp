// SPDX-License-Identifier: Apache-2.0
#include "tensor/step/loss.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_log_softmax.h>
#include <ATen/ops/_log_softmax_backward_data.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/huber_loss.h>
#include <ATen/ops/l1_loss.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/mse_loss_backward.h>
#include <ATen/ops/nll_loss.h>
#include <ATen/ops/nll_loss_backward.h>
#include <ATen/ops/nll_loss_forward.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <c10/core/InferenceMode.h>

namespace hopscotch {
namespace {

constexpr std::int64_t k_no_ignored_label = -100;  // torch's default

}  // namespace

Loss::Loss(TrainConfig const& train, at::Device device)
    : kind_(train.loss),
      label_smoothing_(train.of_loss.label_smoothing),
      huber_delta_(train.of_loss.huber_delta),
      quantile_(train.of_loss.quantile),
      one_(at::ones({}, at::TensorOptions().device(device))) {
    if (!train.of_loss.class_weights.empty())
        class_weights_ = at::tensor(train.of_loss.class_weights, at::kDouble).to(device, at::kFloat);
}

LossGradient Loss::mean(at::Tensor const& outputs, at::Tensor const& targets) const {
    at::NoGradGuard const unrecorded;
    auto const mean = at::Reduction::Mean;
    if (kind_ == LossKind::mse)
        return {at::mse_loss(outputs, targets, mean), at::mse_loss_backward(one_, outputs, targets, mean)};
    if (kind_ == LossKind::cross_entropy && label_smoothing_ == 0 && !class_weights_.defined())
        return plain_cross_entropy(outputs, targets);
    // Autograd computes the rarer losses, on a leaf of their own.
    c10::InferenceMode const ordinary(false);
    at::AutoGradMode const recording(true);
    auto const leaf = outputs.detach().clone().requires_grad_();
    auto const loss = recorded(leaf, targets);
    loss.backward();
    return {loss.detach(), leaf.grad()};
}

LossGradient Loss::plain_cross_entropy(at::Tensor const& outputs, at::Tensor const& targets) const {
    auto const mean = at::Reduction::Mean;
    auto const flat = outputs.dim() == 2 ? outputs : outputs.flatten(0, 1);
    auto const labels = targets.dim() == 1 ? targets : targets.flatten();
    auto const log_p = at::_log_softmax(flat, 1, false);
    auto const [loss, weight] = at::nll_loss_forward(log_p, labels, {}, mean, k_no_ignored_label);
    auto const gradient = at::nll_loss_backward(one_, log_p, labels, {}, mean, k_no_ignored_label, weight);
    auto const to_outputs = at::_log_softmax_backward_data(gradient, log_p, 1, flat.scalar_type());
    return {loss, outputs.dim() == 2 ? to_outputs : to_outputs.view(outputs.sizes())};
}

// The formula of torch's cross_entropy_loss, to the bit. Torch itself selects the weights of the labels that are not
// ignored, so the host waits for the device in every step. Here no label is ignored.
at::Tensor Loss::smoothed_and_weighted(at::Tensor const& outputs, at::Tensor const& labels) const {
    auto const log_p = at::log_softmax(outputs, 1);
    auto const nll = at::nll_loss(log_p, labels, class_weights_, at::Reduction::Mean, k_no_ignored_label);
    auto const classes = outputs.size(1);
    auto const smooth = log_p.mul(class_weights_.view({1, classes})).sum(1).neg();
    auto const mean = smooth.sum().div(class_weights_.gather(0, labels).sum());
    return nll.mul(1 - label_smoothing_).add(mean.mul(label_smoothing_ / static_cast<double>(classes)));
}

at::Tensor Loss::recorded(at::Tensor const& outputs, at::Tensor const& targets) const {
    auto const mean = at::Reduction::Mean;
    std::optional<at::Tensor> const weights = class_weights_.defined() ? std::optional(class_weights_) : std::nullopt;
    switch (kind_) {
        case LossKind::huber: return at::huber_loss(outputs, targets, mean, huber_delta_);
        case LossKind::mse: return at::mse_loss(outputs, targets, mean);
        case LossKind::mae: return at::l1_loss(outputs, targets, mean);
        case LossKind::quantile: {  // the pinball loss of Koenker and Bassett (1978)
            auto const error = targets - outputs;
            return at::maximum(error * quantile_, error * (quantile_ - 1)).mean();
        }
        case LossKind::bce_with_logits:
            return at::binary_cross_entropy_with_logits(outputs, targets, std::nullopt, weights, mean);
        case LossKind::cross_entropy: break;
    }
    auto const flat = outputs.flatten(0, -2), labels = targets.flatten();
    if (label_smoothing_ > 0 && weights) return smoothed_and_weighted(flat, labels);
    return at::cross_entropy_loss(flat, labels, weights, mean, k_no_ignored_label, label_smoothing_);
}

}  // namespace hopscotch
