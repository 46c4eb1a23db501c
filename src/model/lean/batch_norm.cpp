// SPDX-License-Identifier: Apache-2.0
#include "model/lean/batch_norm.hpp"

#include <algorithm>
#include <cmath>

#include "model/lean/columns.hpp"

namespace hopscotch {
namespace {

constexpr double k_added_variance = 1e-5, k_share_of_batch = 0.1;

void move_to(float& running, double value) {
    running = static_cast<float>((1 - k_share_of_batch) * static_cast<double>(running) + k_share_of_batch * value);
}

}  // namespace

LeanBatchNorm::LeanBatchNorm(std::int64_t columns) : columns_(columns) {
    auto const n = static_cast<std::size_t>(columns);
    sums_.resize(2 * n + 1);
    for (auto* const each : {&mean_, &inverse_, &shift_}) each->resize(n);
}

void LeanBatchNorm::train(NormValues const& values, std::int64_t rows, float* x, float* out, SumOverGroup const* sum) {
    auto const n = static_cast<std::size_t>(columns_);
    Columns const shape{rows, columns_};
    std::span const counted(sums_.data(), n + 1), squares(sums_.data(), n);
    std::ranges::fill(counted, 0.0);
    add_columns(shape, x, sums_.data());
    counted.back() = static_cast<double>(rows);
    if (sum != nullptr) (*sum)(counted);
    all_rows_ = counted.back();
    for (std::size_t c = 0; c < n; ++c) {
        auto const mean = sums_[c] / all_rows_;
        mean_[c] = static_cast<float>(mean);
        inverse_[c] = 1;
        move_to(values.mean[c], mean);
    }
    centre(shape, mean_.data(), inverse_.data(), x);
    std::ranges::fill(squares, 0.0);
    add_products(shape, x, x, sums_.data());
    if (sum != nullptr) (*sum)(squares);
    std::ranges::fill(shift_, 0.0F);
    for (std::size_t c = 0; c < n; ++c) {
        auto const variance = sums_[c] / all_rows_;
        inverse_[c] = static_cast<float>(1 / std::sqrt(variance + k_added_variance));
        move_to(values.variance[c], variance * all_rows_ / std::max(1.0, all_rows_ - 1));
    }
    *values.batches += 1;
    centre(shape, shift_.data(), inverse_.data(), x);
    spread(shape, x, values.weight, values.bias, out);
}

void LeanBatchNorm::evaluate(NormValues const& values, std::int64_t rows, float* x) const {
    auto const n = static_cast<std::size_t>(columns_);
    std::vector<float> inverse(n);
    for (std::size_t c = 0; c < n; ++c)
        inverse[c] = static_cast<float>(1 / std::sqrt(static_cast<double>(values.variance[c]) + k_added_variance));
    Columns const shape{rows, columns_};
    centre(shape, values.mean, inverse.data(), x);
    spread(shape, x, values.weight, values.bias, x);
}

// The sums are weighted by rows: a trainer's gradient is that of the mean over its own rows, and gradients are combined by
// rows afterwards.
void LeanBatchNorm::backward(NormGradients const& gradients, std::int64_t rows, SumOverGroup const* sum) {
    auto const n = static_cast<std::size_t>(columns_);
    Columns const shape{rows, columns_};
    std::span const both(sums_.data(), 2 * n);
    std::ranges::fill(both, 0.0);
    add_columns(shape, gradients.gradient, sums_.data());
    add_products(shape, gradients.gradient, gradients.normalised, sums_.data() + n);
    for (std::size_t c = 0; c < n; ++c) {
        gradients.bias_gradient[c] = static_cast<float>(sums_[c]);
        gradients.weight_gradient[c] = static_cast<float>(sums_[n + c]);
    }
    auto const own = static_cast<double>(rows);
    for (auto& each : both) each *= own / all_rows_;
    if (sum != nullptr) (*sum)(both);
    for (std::size_t c = 0; c < n; ++c) {
        mean_[c] = static_cast<float>(sums_[c] / own);
        shift_[c] = static_cast<float>(sums_[n + c] / own);
        inverse_[c] *= gradients.weight[c];
    }
    through_norm(shape, {mean_.data(), shift_.data(), inverse_.data()}, gradients.normalised, gradients.gradient);
}

}  // namespace hopscotch
