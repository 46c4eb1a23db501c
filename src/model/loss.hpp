// SPDX-License-Identifier: Apache-2.0
// Losses: for training the batch mean and its gradient, kept on the device; for evaluation sums over rows, in double.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "experiment/config.hpp"
#include "model/trial_model.hpp"

namespace hopscotch {

struct LossGradient {
    at::Tensor loss;      // scalar: the mean over the batch's rows
    at::Tensor gradient;  // d loss / d outputs
};

class Loss {
public:
    Loss(LossKind kind, at::Device device);

    // outputs: [rows, outputs]; targets: [rows] int64 labels (cross_entropy) or [rows, outputs] (mse). Records no gradients.
    LossGradient mean(at::Tensor const& outputs, at::Tensor const& targets) const;

private:
    LossKind kind_;
    at::Tensor one_;
};

// Row sums of cross entropy, hits and hits among the best five. Equal outputs rank by their index, as in argmax.
Sums score_labels(std::span<float const> outputs, std::span<std::int64_t const> labels);

// Row sums of the mean squared error; nothing is correct in a regression.
Sums score_targets(std::span<float const> outputs, std::span<float const> targets, std::int64_t rows);

}  // namespace hopscotch
