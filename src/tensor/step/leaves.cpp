// SPDX-License-Identifier: Apache-2.0
#include "tensor/step/leaves.hpp"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/as_strided.h>
#include <c10/core/MemoryFormat.h>

#include "core/error.hpp"
#include "model/state/layout.hpp"

namespace hopscotch {
namespace {

FloatType type_of_copy(at::ScalarType type) {
    require(type == at::kFloat || type == at::kBFloat16, "a gradient that is neither float32 nor bfloat16");
    return type == at::kFloat ? FloatType::float32 : FloatType::bfloat16;
}

// In steps of the alignment of a state.
std::int64_t padded_floats(std::int64_t elements, at::ScalarType type) {
    auto const bytes = static_cast<std::size_t>(elements) * (type == at::kFloat ? sizeof(float) : sizeof(std::uint16_t));
    return static_cast<std::int64_t>((bytes + k_state_alignment - 1) / k_state_alignment * k_state_alignment /
                                     sizeof(float));
}

// [out, in, height, width]; with swapped: the last two as one dimension, and `in` after them.
struct Inner {
    std::uint32_t in, places;
    explicit Inner(at::IntArrayRef sizes)
        : in(static_cast<std::uint32_t>(sizes[1])), places(static_cast<std::uint32_t>(sizes[2] * sizes[3])) {}
};

// Into one without a swap, or with channels last.
TensorCopy into(at::Tensor const& to, void const* from, FloatType from_type) {
    TensorCopy copy;
    copy.from = from;
    copy.to = to.mutable_data_ptr();
    copy.count = static_cast<std::uint32_t>(to.numel());
    copy.from_type = from_type;
    copy.to_type = type_of_copy(to.scalar_type());
    return copy;
}

TensorCopy copy_of_weight(at::Tensor const& weight, at::Tensor const& leaf) {
    auto copy = into(leaf, weight.const_data_ptr(), FloatType::float32);
    if (leaf.is_contiguous()) return copy;
    Inner const inner(leaf.sizes());
    copy.rows = inner.places;
    copy.columns = inner.in;
    return copy;
}

// place: of the gradient, in the order of the state. Undefined: the pass has not used the parameter.
TensorCopy copy_of_gradient(at::Tensor const& gradient, at::Tensor const& place) {
    if (!gradient.defined()) return into(place, nullptr, FloatType::float32);
    auto copy = into(place, gradient.const_data_ptr(), type_of_copy(gradient.scalar_type()));
    if (gradient.is_contiguous()) return copy;
    Inner const inner(place.sizes());
    copy.rows = inner.in;
    copy.columns = inner.places;
    return copy;
}

at::Tensor in_known_order(at::Tensor const& gradient) {
    bool const known = !gradient.defined() || gradient.is_contiguous() ||
                       (gradient.dim() == 4 && gradient.is_contiguous(at::MemoryFormat::ChannelsLast));
    return known ? gradient : gradient.contiguous();
}

}  // namespace

std::int64_t Leaves::memory_floats(std::vector<ParameterSpec> const& parameters, LeafOptions const& options) {
    std::int64_t floats = 0;
    for (std::size_t i = 0; i < parameters.size(); ++i)
        if (options.convolutions[i]) floats += padded_floats(parameters[i].elements(), options.type);
    return floats;
}

Leaves::Leaves(CopyDevice const& device, BoundTensors const& bound, at::Tensor const& memory, LeafOptions const& options)
    : device_(device), places_(bound.gradients), tensors_(bound) {
    at::AutoDispatchBelowADInplaceOrView const unrecorded;
    tensors_.gradients_stay = true;
    std::int64_t used = 0;
    for (std::size_t i = 0; i < tensors_.parameters.size(); ++i) {
        auto& parameter = tensors_.parameters[i];
        if (!options.convolutions[i]) continue;
        auto const floats = padded_floats(parameter.numel(), options.type);
        auto const sizes = parameter.sizes().vec();
        auto const strides = options.channels_last ? c10::get_channels_last_strides_2d(sizes) : parameter.strides().vec();
        auto const leaf = memory.narrow(0, used, floats).view(options.type).as_strided(sizes, strides);
        weights_.push_back(copy_of_weight(parameter, leaf));
        parameter = leaf;
        used += floats;
    }
}

void Leaves::bring_weights() const { device_.run(weights_); }

void Leaves::forget_gradients() {
    for (auto const& parameter : tensors_.parameters)
        if (parameter.grad().defined()) parameter.mutable_grad().reset();
}

void Leaves::collect_gradients() {
    std::vector<TensorCopy> copies;
    std::vector<at::Tensor> kept;  // until they are launched
    for (std::size_t i = 0; i < places_.size(); ++i) {
        if (!places_[i].defined()) continue;  // frozen
        kept.push_back(in_known_order(tensors_.parameters[i].grad()));
        copies.push_back(copy_of_gradient(kept.back(), places_[i]));
    }
    device_.run(copies);
    forget_gradients();
}

}  // namespace hopscotch
