// SPDX-License-Identifier: Apache-2.0
#include "tensor/network/sync_batch_norm.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace hopscotch {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr double k_epsilon = 1e-5, k_momentum = 0.1;

// Over everything but the channels, in double.
at::Tensor sums_by_channel(at::Tensor const& x) {
    std::vector<std::int64_t> dimensions(static_cast<std::size_t>(x.dim()));
    std::iota(dimensions.begin(), dimensions.end(), 0);
    dimensions.erase(dimensions.begin() + 1);
    return x.sum(dimensions, /*keepdim=*/false, at::kDouble);
}

at::Tensor over_group(at::Tensor const& sums, SumOverGroup const& sum) {
    auto const host = sums.to(at::kCPU).contiguous().clone();
    sum({host.mutable_data_ptr<double>(), static_cast<std::size_t>(host.numel())});
    return host.to(sums.device());
}

// [channels] as float, to be used beside [rows, channels, ...].
at::Tensor beside(at::Tensor const& values, at::Tensor const& x) {
    std::vector<std::int64_t> shape(static_cast<std::size_t>(x.dim()), 1);
    shape[1] = values.numel();
    return values.to(at::kFloat).view(shape);
}

struct GroupStatistics {  // the arguments of forward() that are not inputs of the graph
    at::Tensor const &running_mean, &running_variance;
    SumOverGroup const& sum;
};

struct SyncBatchNorm : torch::autograd::Function<SyncBatchNorm> {
    static at::Tensor forward(AutogradContext* context, at::Tensor const& x, at::Tensor const& weight,
                              at::Tensor const& bias, GroupStatistics const* group) {
        auto const own = static_cast<double>(x.numel() / x.size(1));  // values a channel
        auto const counted = at::cat({sums_by_channel(x), at::full({1}, own, x.options().dtype(at::kDouble))});
        auto const first = over_group(counted, group->sum);
        auto const all = first[-1].item<double>();
        auto const mean = first.narrow(0, 0, x.size(1)) / all;
        auto const centred = x.to(at::kFloat) - beside(mean, x);
        auto const variance = over_group(sums_by_channel(centred.square()), group->sum) / all;
        auto const inverse = (variance + k_epsilon).rsqrt();
        group->running_mean.mul_(1 - k_momentum).add_(mean.to(at::kFloat), k_momentum);
        group->running_variance.mul_(1 - k_momentum)
            .add_(variance.to(at::kFloat), k_momentum * all / std::max(1.0, all - 1));
        auto const normalised = centred * beside(inverse, x);
        context->save_for_backward({normalised, inverse, weight});
        context->saved_data["own"] = own;
        context->saved_data["all"] = all;
        context->saved_data["sum"] = reinterpret_cast<std::int64_t>(&group->sum);  // an IValue holds no function
        return (normalised * beside(weight, x) + beside(bias, x)).to(x.scalar_type());
    }

    static variable_list backward(AutogradContext* context, variable_list const& gradients) {
        auto const saved = context->get_saved_variables();
        auto const &normalised = saved[0], &inverse = saved[1], &weight = saved[2];
        auto const own = context->saved_data["own"].toDouble(), all = context->saved_data["all"].toDouble();
        auto const& sum = *reinterpret_cast<SumOverGroup const*>(context->saved_data["sum"].toInt());
        auto const gradient = gradients[0].to(at::kFloat);
        auto const bias_gradient = sums_by_channel(gradient), weight_gradient = sums_by_channel(gradient * normalised);
        // Weighted by rows: sums of the gradient of the mean over all rows. Over `own`, not `all`: this trainer's share of
        // the result is own / all.
        auto const sums = over_group(at::cat({bias_gradient, weight_gradient}) * (own / all), sum) / own;
        auto const channels = weight.numel();
        auto const through = gradient - beside(sums.narrow(0, 0, channels), gradient) -
                             normalised * beside(sums.narrow(0, channels, channels), gradient);
        return {
            through * beside(inverse * weight, gradient), weight_gradient.to(at::kFloat), bias_gradient.to(at::kFloat), {}};
    }
};

}  // namespace

at::Tensor sync_batch_norm(at::Tensor const& x, NormTensors const& tensors, SumOverGroup const& sum) {
    GroupStatistics const group{tensors.running_mean, tensors.running_variance, sum};
    return SyncBatchNorm::apply(x, tensors.weight, tensors.bias, &group);
}

}  // namespace hopscotch
