// SPDX-License-Identifier: Apache-2.0
#include "model/loss.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_log_softmax.h>
#include <ATen/ops/_log_softmax_backward_data.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/mse_loss_backward.h>
#include <ATen/ops/nll_loss_backward.h>
#include <ATen/ops/nll_loss_forward.h>
#include <ATen/ops/ones.h>

#include <algorithm>
#include <cmath>

namespace hopscotch {
namespace {

constexpr std::int64_t k_no_ignored_label = -100;  // torch's default

double log_sum_exp(std::span<float const> row) {
    double const top = *std::max_element(row.begin(), row.end());
    double sum = 0;
    for (auto const value : row) sum += std::exp(static_cast<double>(value) - top);
    return top + std::log(sum);
}

}  // namespace

Loss::Loss(LossKind kind, at::Device device) : kind_(kind), one_(at::ones({}, at::TensorOptions().device(device))) {}

LossGradient Loss::mean(at::Tensor const& outputs, at::Tensor const& targets) const {
    at::NoGradGuard const unrecorded;
    auto const mean = at::Reduction::Mean;
    if (kind_ == LossKind::mse)
        return {at::mse_loss(outputs, targets, mean), at::mse_loss_backward(one_, outputs, targets, mean)};
    auto const log_p = at::_log_softmax(outputs, 1, false);
    auto const [loss, weight] = at::nll_loss_forward(log_p, targets, {}, mean, k_no_ignored_label);
    auto const gradient = at::nll_loss_backward(one_, log_p, targets, {}, mean, k_no_ignored_label, weight);
    return {loss, at::_log_softmax_backward_data(gradient, log_p, 1, outputs.scalar_type())};
}

Sums score_labels(std::span<float const> outputs, std::span<std::int64_t const> labels) {
    Sums sums;
    sums.rows = static_cast<std::int64_t>(labels.size());
    auto const width = labels.empty() ? 0 : outputs.size() / labels.size();
    for (std::size_t r = 0; r < labels.size(); ++r) {
        auto const row = outputs.subspan(r * width, width);
        auto const label = static_cast<std::size_t>(labels[r]);
        std::size_t rank = 0;
        for (std::size_t i = 0; i < width; ++i)
            if (row[i] > row[label] || (row[i] == row[label] && i < label)) ++rank;
        sums.loss += log_sum_exp(row) - static_cast<double>(row[label]);
        sums.correct += rank == 0 ? 1 : 0;
        sums.top5 += rank < 5 ? 1 : 0;
    }
    return sums;
}

Sums score_targets(std::span<float const> outputs, std::span<float const> targets, std::int64_t rows) {
    Sums sums;
    sums.rows = rows;
    for (std::size_t i = 0; i < targets.size(); ++i) {
        double const error = static_cast<double>(outputs[i]) - static_cast<double>(targets[i]);
        sums.loss += error * error;
    }
    if (!targets.empty()) sums.loss *= static_cast<double>(rows) / static_cast<double>(targets.size());
    return sums;
}

}  // namespace hopscotch
