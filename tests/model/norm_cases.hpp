// SPDX-License-Identifier: Apache-2.0
// Batch norm of every shape, with all that can stand behind it: what the fused operator makes of a case, and what torch
// does.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

#include <optional>
#include <string>
#include <vector>

#include "tensor/network/fused_norm.hpp"

namespace hopscotch::testing {

struct NormCase {
    std::vector<std::int64_t> shape;  // [rows, channels] or [rows, channels, height, width]
    Clip clip = Clip::none;
    bool adds = false;
    double offset = 0;  // of x, in deviations

    std::string name() const {
        std::string out;
        for (auto const n : shape) out += std::to_string(n) + " ";
        return out + (adds ? "added " : "") + (clip == Clip::none ? "" : clip == Clip::relu ? "relu" : "relu6");
    }
};

// Odd sizes, one row, one channel, up to 2048 of them; shapes of one piece and of many.
inline std::vector<NormCase> norm_cases() {
    std::vector<std::vector<std::int64_t>> const shapes{{1, 3, 5, 7},  {2, 1},          {7, 1, 3, 3},   {3, 2, 9, 11},
                                                        {61, 16},      {7, 17, 5, 3},   {5, 24, 6, 7},  {33, 64, 8, 8},
                                                        {2, 96, 7, 5}, {5, 129, 3, 3},  {1, 512, 7, 7}, {3, 2048, 4, 3},
                                                        {17, 2047},    {130, 8, 24, 24}};
    std::vector<NormCase> out;
    for (auto const& shape : shapes)
        for (auto const clip : {Clip::none, Clip::relu, Clip::relu6})
            for (bool const adds : {false, true}) out.push_back({shape, clip, adds});
    out.push_back({{9, 20, 6, 6}, Clip::relu, true, 100});
    return out;
}

struct NormInputs {
    at::Tensor x, weight, bias, added, gradient, running_mean, running_variance, batches;
};

inline NormInputs norm_inputs(NormCase const& which, at::ScalarType type) {
    auto const channels = which.shape[1];
    auto const like_x = [&] {
        auto out = at::randn(which.shape, at::kFloat).to(type);
        return out.dim() == 4 ? out.contiguous(at::MemoryFormat::ChannelsLast) : out;
    };
    NormInputs in;
    in.x = like_x().add_(which.offset);
    in.weight = at::randn({channels}).add_(0.5);
    in.bias = at::randn({channels});
    if (which.adds) in.added = like_x();
    in.gradient = like_x();
    in.running_mean = at::randn({channels});
    in.running_variance = at::rand({channels}).add_(0.1);
    in.batches = at::zeros({}, at::kLong);
    return in;
}

struct NormOutputs {
    at::Tensor y, x, weight, bias, added, running_mean, running_variance, batches;  // from x on: gradients; then state
    std::vector<std::pair<char const*, at::Tensor>> named() const {
        std::vector<std::pair<char const*, at::Tensor>> out{{"y", y},
                                                            {"gradient of x", x},
                                                            {"gradient of the weight", weight},
                                                            {"gradient of the bias", bias},
                                                            {"running mean", running_mean},
                                                            {"running variance", running_variance}};
        if (added.defined()) out.emplace_back("gradient of what is added", added);
        return out;
    }
};

inline NormInputs copied(NormInputs const& in, at::TensorOptions const& matrices, at::TensorOptions const& vectors) {
    auto const matrix = [&](at::Tensor const& each) { return each.defined() ? each.to(matrices, false, true) : each; };
    auto const vector = [&](at::Tensor const& each) { return each.to(vectors, false, true); };
    NormInputs out{matrix(in.x),
                   vector(in.weight),
                   vector(in.bias),
                   matrix(in.added),
                   matrix(in.gradient),
                   vector(in.running_mean),
                   vector(in.running_variance),
                   in.batches.to(vectors.dtype(at::kLong), false, true)};
    for (auto* each : {&out.x, &out.weight, &out.bias, &out.added})
        if (each->defined()) each->requires_grad_();
    return out;
}

inline NormOutputs backward(NormInputs const& in, at::Tensor const& y) {
    y.backward(in.gradient);
    auto const added = in.added.defined() ? in.added.grad() : at::Tensor();
    return {y.detach(), in.x.grad(),     in.weight.grad(),    in.bias.grad(),
            added,      in.running_mean, in.running_variance, in.batches};
}

inline NormOutputs fused_outputs(NormCase const& which, NormInputs const& given, NormDevice const& device,
                                 at::Device where = at::kCPU) {
    auto const options = at::TensorOptions(where);
    auto const in = copied(given, options.dtype(given.x.scalar_type()), options.dtype(at::kFloat));
    auto const added = in.added.defined() ? std::optional<at::Tensor>(in.added) : std::nullopt;
    FusedNorm const norm{device, {in.weight, in.bias, in.running_mean, in.running_variance}, in.batches, added, which.clip};
    return backward(in, fused_norm_in_training(in.x, norm));
}

inline at::Tensor unclipped(NormInputs const& in) {
    auto const y = at::batch_norm(in.x, in.weight, in.bias, in.running_mean, in.running_variance, true, 0.1, 1e-5, false);
    return in.added.defined() ? y.add(in.added) : y;
}

// Where y is so close to a bound that rounding decides whether it is clipped, no gradient arrives.
inline void settle_bounds(NormInputs const& given, double margin) {
    auto const doubles = at::TensorOptions(at::kDouble);
    auto const y = unclipped(copied(given, doubles, doubles)).detach();
    auto const is_close = y.abs().lt(margin).logical_or(y.sub(6).abs().lt(margin));
    given.gradient.masked_fill_(is_close, 0);
}

// In double precision: rounds nothing that counts.
inline NormOutputs torch_outputs(NormCase const& which, NormInputs const& given) {
    auto const doubles = at::TensorOptions(at::kDouble);
    auto const in = copied(given, doubles, doubles);
    auto y = unclipped(in);
    if (which.clip == Clip::relu) y = y.relu();
    if (which.clip == Clip::relu6) y = y.clamp(0, 6);
    return backward(in, y);
}

}  // namespace hopscotch::testing
