// SPDX-License-Identifier: Apache-2.0
#include "tensor/network/layers.hpp"

#include <ATen/ops/batch_norm.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/relu6.h>

#include <optional>

#include "core/error.hpp"
#include "tensor/network/fused_norm.hpp"
#include "tensor/network/gradient_hook.hpp"
#include "tensor/network/image_layout.hpp"
#include "tensor/network/sync_batch_norm.hpp"

namespace hopscotch {
namespace {

std::optional<at::Tensor> maybe(at::Tensor const* tensor) {
    return tensor == nullptr ? std::nullopt : std::optional<at::Tensor>(*tensor);
}

// By torch's operators, in place.
at::Tensor followed(at::Tensor h, AfterNorm const& after) {
    if (after.added) h = h.add_(after.added());
    if (after.clip == Clip::relu) h = h.relu_();
    return after.clip == Clip::relu6 ? at::relu6_(h) : h;
}

}  // namespace

at::Tensor const* Modules::parameter(ParameterSpec spec) {
    parameter_specs_.push_back(std::move(spec));
    convolutions_.push_back(false);
    return &parameters_.emplace_back();
}

at::Tensor const* Modules::buffer(BufferSpec spec) {
    buffer_specs_.push_back(std::move(spec));
    return &buffers_.emplace_back();
}

void Modules::bind(BoundTensors tensors) {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        parameters_[i] = tensors.parameters[i];
        if (!tensors.gradients[i].defined()) continue;  // frozen
        parameters_[i].requires_grad_();
        parameters_[i].mutable_grad() = tensors.gradients_stay ? at::Tensor() : tensors.gradients[i];
        if (tensors.on_gradient) on_accumulated(parameters_[i], [tell = tensors.on_gradient, i] { tell(i); });
    }
    for (std::size_t i = 0; i < buffers_.size(); ++i) buffers_[i] = tensors.buffers[i];
}

at::Tensor const* Scope::parameter(std::string const& name, std::vector<std::int64_t> shape, Init init) const {
    return modules.parameter({(*this / name).prefix, std::move(shape), init});
}

at::Tensor images_for(at::Tensor const& x, Pass const& pass) {
    return pass.channels_last ? x.contiguous(at::MemoryFormat::ChannelsLast) : x;
}

Linear::Linear(Scope const& scope, std::int64_t in, std::int64_t out, LinearOptions const& options)
    : weight(scope.parameter("weight", {out, in}, options.weight.for_fan_in(in))) {
    if (options.bias) bias = scope.parameter("bias", {out}, options.bias_init.for_fan_in(in));
    scope.modules.count(static_cast<double>(in * out * options.uses));
}

at::Tensor Linear::operator()(at::Tensor const& x) const { return at::linear(x, *weight, maybe(bias)); }

Conv2d::Conv2d(Scope const& scope, ImageShape& shape, Conv const& conv) : geometry(conv) {
    auto const in = shape.channels / conv.groups;
    auto const fan_in = in * conv.kernel * conv.kernel;
    weight = scope.parameter("weight", {conv.out, in, conv.kernel, conv.kernel},
                             conv.weight.for_fan_in(fan_in).for_fan_out(conv.out * conv.kernel * conv.kernel));
    scope.modules.last_is_convolution();
    if (conv.bias) bias = scope.parameter("bias", {conv.out}, conv.bias_init.for_fan_in(fan_in));
    channels_last_is_safe =
        hopscotch::channels_last_is_safe({shape.channels, conv.kernel, conv.stride, conv.groups}, onednn_features());
    auto const side = [&](std::int64_t length) { return (length + 2 * conv.padding - conv.kernel) / conv.stride + 1; };
    shape = {conv.out, side(shape.height), side(shape.width)};
    scope.modules.count(static_cast<double>(shape.elements() * fan_in));
}

at::Tensor Conv2d::operator()(at::Tensor const& x) const {
    if (channels_last_is_safe || !x.is_cpu()) return computed(x);
    return computed(x.contiguous()).contiguous(x.suggest_memory_format());
}

at::Tensor Conv2d::computed(at::Tensor const& x) const {
    auto const& g = geometry;
    return at::conv2d(x, *weight, maybe(bias), at::IntArrayRef{g.stride, g.stride}, at::IntArrayRef{g.padding, g.padding},
                      at::IntArrayRef{1, 1}, g.groups);
}

BatchNorm::BatchNorm(Scope const& scope, std::int64_t channels)
    : weight(scope.parameter("weight", {channels}, Init::constant(1))),
      bias(scope.parameter("bias", {channels}, Init::constant(0))),
      mean(scope.modules.buffer({(scope / "running_mean").prefix, {channels}, Element::float32, 0})),
      variance(scope.modules.buffer({(scope / "running_var").prefix, {channels}, Element::float32, 1})),
      batches(scope.modules.buffer({(scope / "num_batches_tracked").prefix, {}, Element::int64, 0})) {}

at::Tensor BatchNorm::fused(at::Tensor const& x, Pass const& pass, AfterNorm const& after) const {
    std::optional<at::Tensor> const added = after.added ? std::optional<at::Tensor>(after.added()) : std::nullopt;
    FusedNorm const norm{*pass.norm, {*weight, *bias, *mean, *variance}, *batches, added, after.clip};
    return pass.training() ? fused_norm_in_training(x, norm) : fused_norm_in_evaluation(x, norm);
}

at::Tensor BatchNorm::operator()(at::Tensor const& x, Pass const& pass, AfterNorm const& after) const {
    bool const over_group = pass.training() && pass.sum != nullptr;
    if (pass.training() && !over_group && x.numel() == x.size(1))
        throw Error(
            "batch norm needs more than one value per channel (this trainer's batch has one row); use a larger batch, or "
            "fewer trainers if they split it");
    // The host adds up the sums of a group, between the two halves of the operator.
    bool const rows_together = x.dim() == 2 || pass.channels_last;
    if (pass.norm != nullptr && !over_group && rows_together && can_fuse_norm(x)) return fused(x, pass, after);
    if (pass.training()) batches->add_(1);
    if (over_group) return followed(sync_batch_norm(x, {*weight, *bias, *mean, *variance}, *pass.sum), after);
    return followed(at::batch_norm(x, *weight, *bias, *mean, *variance, pass.training(), 0.1, 1e-5, /*cudnn_enabled=*/true),
                    after);
}

LayerNorm::LayerNorm(Scope const& scope, std::int64_t width, double eps)
    : weight(scope.parameter("weight", {width}, Init::constant(1))),
      bias(scope.parameter("bias", {width}, Init::constant(0))),
      epsilon(eps) {}

at::Tensor LayerNorm::operator()(at::Tensor const& x) const {
    return at::layer_norm(x, weight->sizes(), *weight, *bias, epsilon);
}

Embedding::Embedding(Scope const& scope, std::int64_t rows, std::int64_t width, Init init)
    : weight(scope.parameter("weight", {rows, width}, init)) {}

at::Tensor Embedding::operator()(at::Tensor const& ids) const { return at::embedding(*weight, ids); }

void AutogradNetwork::backward(at::Tensor const& outputs, at::Tensor const& output_gradient) {
    outputs.backward(output_gradient);
}

}  // namespace hopscotch
