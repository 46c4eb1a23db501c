// SPDX-License-Identifier: Apache-2.0
// The training losses: the batch mean and its gradient, kept on the device.
#pragma once
#include <ATen/core/Tensor.h>

#include "experiment/config.hpp"

namespace hopscotch {

struct LossGradient {
    at::Tensor loss;      // scalar: the mean over the batch's rows
    at::Tensor gradient;  // d loss / d outputs
};

class Loss {
public:
    Loss(TrainConfig const& train, at::Device device);

    // outputs: [rows, outputs] or [rows, tokens, outputs], float32; targets: [rows] or [rows, tokens] int64 (cross_entropy),
    // else [rows, outputs]. As torch.nn's CrossEntropyLoss, BCEWithLogitsLoss (class_weights: pos_weight), MSELoss,
    // HuberLoss and L1Loss with reduction "mean". Records no gradients.
    LossGradient mean(at::Tensor const& outputs, at::Tensor const& targets) const;

private:
    LossGradient plain_cross_entropy(at::Tensor const& outputs, at::Tensor const& targets) const;
    at::Tensor smoothed_and_weighted(at::Tensor const& outputs, at::Tensor const& labels) const;
    at::Tensor recorded(at::Tensor const& outputs, at::Tensor const& targets) const;

    LossKind kind_;
    double label_smoothing_, huber_delta_, quantile_;
    at::Tensor one_, class_weights_;
};

}  // namespace hopscotch
