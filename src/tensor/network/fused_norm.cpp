// SPDX-License-Identifier: Apache-2.0
#include "tensor/network/fused_norm.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <limits>

#include "core/error.hpp"
#include "tensor/gpu/norm_device.hpp"
#include "tensor/gpu/norm_pass.hpp"

namespace hopscotch {
namespace {

constexpr std::uintptr_t k_load_bytes = 16;

at::MemoryFormat rows_together(at::Tensor const& x) {
    return x.dim() == 4 ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
}

// Like x, row after row. A view may begin anywhere, and the cut of the matrix must not depend on its address.
at::Tensor as_matrix(at::Tensor const& values, at::Tensor const& x) {
    auto const out = values.to(x.scalar_type()).contiguous(rows_together(x));
    return reinterpret_cast<std::uintptr_t>(out.const_data_ptr()) % k_load_bytes == 0 ? out : out.clone();
}

NormCut cut_of(at::Tensor const& x) {
    auto const rows = x.numel() / x.size(1);
    require(rows <= std::numeric_limits<std::int32_t>::max(), "a batch with over 2^31 values per channel");
    return norm_cut(static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(x.size(1)),
                    static_cast<std::uint32_t>(x.element_size()));
}

FloatType type_of(at::Tensor const& x) {
    return x.scalar_type() == at::kBFloat16 ? FloatType::bfloat16 : FloatType::float32;
}

Bounds bounds_of(Clip clip) {
    if (clip == Clip::none) return {};
    return clip == Clip::relu ? Bounds{.low = 0} : Bounds{0, 6};
}

at::Tensor floats(at::Tensor const& x, std::size_t count) {
    return at::empty({static_cast<std::int64_t>(count)}, x.options().dtype(at::kFloat));
}

NormForward forward_pass(at::Tensor const& x, at::Tensor const& added, at::Tensor const& y, FusedNorm const& norm) {
    auto const& tensors = norm.tensors;
    NormForward pass;
    pass.cut = cut_of(x);
    pass.type = type_of(x);
    pass.x = x.const_data_ptr();
    pass.added = added.defined() ? added.const_data_ptr() : nullptr;
    pass.y = y.mutable_data_ptr();
    pass.weight = tensors.weight.const_data_ptr<float>();
    pass.bias = tensors.bias.const_data_ptr<float>();
    pass.bounds = bounds_of(norm.clip);
    pass.running_mean = tensors.running_mean.mutable_data_ptr<float>();
    pass.running_variance = tensors.running_variance.mutable_data_ptr<float>();
    return pass;
}

at::Tensor added_matrix(at::Tensor const& x, FusedNorm const& norm) {
    return norm.added ? as_matrix(*norm.added, x) : at::Tensor();
}

NormMask mask_of(Clip clip, bool added) {
    if (clip == Clip::none) return NormMask::none;
    return added ? NormMask::stored : NormMask::computed;
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct FusedNormFunction : torch::autograd::Function<FusedNormFunction> {
    static at::Tensor forward(AutogradContext* context, at::Tensor const& given, at::Tensor const& weight,
                              at::Tensor const& bias, std::optional<at::Tensor> const&, FusedNorm const* norm) {
        auto const x = as_matrix(given, given), added = added_matrix(x, *norm), y = at::empty_like(x);
        auto pass = forward_pass(x, added, y, *norm);
        auto const mean = floats(x, pass.cut.channels), inverse = floats(x, pass.cut.channels),
                   partial = floats(x, pass.cut.partial_floats());
        pass.mean = mean.mutable_data_ptr<float>();
        pass.inverse = inverse.mutable_data_ptr<float>();
        pass.partial = partial.mutable_data_ptr<float>();
        pass.batches = norm->batches.mutable_data_ptr<std::int64_t>();
        norm->device.run(pass);
        auto const mask = mask_of(norm->clip, added.defined());
        context->save_for_backward({x, weight, bias, mean, inverse, mask == NormMask::stored ? y : at::Tensor()});
        context->saved_data["mask"] = static_cast<std::int64_t>(mask);
        context->saved_data["clip"] = static_cast<std::int64_t>(norm->clip);
        context->saved_data["added"] = added.defined();
        context->saved_data["device"] = reinterpret_cast<std::int64_t>(&norm->device);  // an IValue holds no reference
        return y;
    }

    static variable_list backward(AutogradContext* context, variable_list const& gradients) {
        auto const saved = context->get_saved_variables();
        auto const &x = saved[0], &mean = saved[3], &inverse = saved[4], &y = saved[5];
        auto const gradient = as_matrix(gradients[0], x), x_gradient = at::empty_like(x);
        NormBackward pass;
        pass.cut = cut_of(x);
        pass.type = type_of(x);
        pass.mask = static_cast<NormMask>(context->saved_data["mask"].toInt());
        pass.bounds = bounds_of(static_cast<Clip>(context->saved_data["clip"].toInt()));
        auto const passed = pass.mask == NormMask::stored ? at::empty_like(x) : at::Tensor();
        auto const weight_gradient = floats(x, pass.cut.channels), bias_gradient = floats(x, pass.cut.channels),
                   partial = floats(x, pass.cut.partial_floats());
        pass.x = x.const_data_ptr();
        pass.gradient = gradient.const_data_ptr();
        pass.y = y.defined() ? y.const_data_ptr() : nullptr;
        pass.passed = passed.defined() ? passed.mutable_data_ptr() : nullptr;
        pass.x_gradient = x_gradient.mutable_data_ptr();
        pass.channel.weight = saved[1].const_data_ptr<float>();
        pass.channel.bias = saved[2].const_data_ptr<float>();
        pass.channel.mean = mean.const_data_ptr<float>();
        pass.channel.inverse = inverse.const_data_ptr<float>();
        pass.weight_gradient = weight_gradient.mutable_data_ptr<float>();
        pass.bias_gradient = bias_gradient.mutable_data_ptr<float>();
        pass.partial = partial.mutable_data_ptr<float>();
        reinterpret_cast<NormDevice const*>(context->saved_data["device"].toInt())->run(pass);
        auto const added = !context->saved_data["added"].toBool() ? at::Tensor() : passed.defined() ? passed : gradient;
        return {x_gradient, weight_gradient, bias_gradient, added, at::Tensor()};
    }
};

}  // namespace

bool can_fuse_norm(at::Tensor const& x) {
    auto const type = x.scalar_type();
    bool const is_matrix = x.dim() == 2 || x.dim() == 4;
    return is_matrix && x.numel() > 0 && (type == at::kFloat || type == at::kBFloat16);
}

at::Tensor fused_norm_in_training(at::Tensor const& x, FusedNorm const& norm) {
    return FusedNormFunction::apply(x, norm.tensors.weight, norm.tensors.bias, norm.added, &norm);
}

at::Tensor fused_norm_in_evaluation(at::Tensor const& x, FusedNorm const& norm) {
    at::NoGradGuard const unrecorded;
    auto const matrix = as_matrix(x, x), added = added_matrix(x, norm), y = at::empty_like(matrix);
    norm.device.run(forward_pass(matrix, added, y, norm));
    return y;
}

}  // namespace hopscotch
