// SPDX-License-Identifier: Apache-2.0
#include "model/gpu/step_numbers.hpp"

#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "core/error.hpp"
#include "experiment/config.hpp"
#include "model/gpu/step_device.hpp"

namespace hopscotch {
namespace {

static_assert(sizeof(StepLaunch) <= StepDevice::k_most_written && sizeof(AnswerGather) <= StepDevice::k_most_written);

template <class Value>
ByteView bytes_of_value(Value const& value) {
    return std::as_bytes(std::span(&value, 1));
}

float rest(double x) { return static_cast<float>(1 - x); }

}  // namespace

UpdateNumbers update_numbers(TrainConfig const& train) {
    auto const& o = train.optimizer;
    auto const as_float = [](double x) { return static_cast<float>(x); };
    UpdateNumbers out;
    out.weight_decay = as_float(o.weight_decay);
    out.momentum = as_float(o.momentum);
    out.epsilon = as_float(o.epsilon);
    out.beta1 = as_float(o.beta1), out.beta1_rest = rest(o.beta1);
    out.beta2 = as_float(o.beta2), out.beta2_rest = rest(o.beta2);
    out.alpha = as_float(o.alpha), out.alpha_rest = rest(o.alpha);
    out.averaged_rest = rest(train.ema);
    out.clip_value = as_float(train.clip.value.value_or(0));
    out.clip_norm = as_float(train.clip.norm.value_or(0));
    return out;
}

StepEntry step_entry(OptimizerConfig const& optimizer, double lr, std::int64_t step) {
    auto const n = static_cast<double>(step);
    if (optimizer.kind == OptimizerKind::adagrad) lr /= 1 + (n - 1) * optimizer.lr_decay;
    return {static_cast<float>(lr), static_cast<float>(1 - std::pow(optimizer.beta1, n)),
            static_cast<float>(std::sqrt(1 - std::pow(optimizer.beta2, n)))};
}

StepNumbers::StepNumbers(std::unique_ptr<StepDevice> device, at::Device place)
    : device_(std::move(device)),
      memory_(at::zeros({static_cast<std::int64_t>(sizeof(StepBlock))}, at::TensorOptions(place).dtype(at::kByte))),
      loss_sum_(at::zeros({}, at::TensorOptions(place).dtype(at::kDouble))) {
    auto const number = [&](std::size_t at) {
        auto const offset = static_cast<std::int64_t>(offsetof(StepBlock, numbers) + at);
        return memory_.narrow(0, offset, sizeof(float)).view(at::kFloat);
    };
    clip_value_ = number(offsetof(UpdateNumbers, clip_value));
    clip_norm_ = number(offsetof(UpdateNumbers, clip_norm));
}

StepNumbers::~StepNumbers() = default;

void StepNumbers::load(UpdateNumbers const& numbers) {
    if (loaded_ == numbers) return;
    device_->write(&address()->numbers, bytes_of_value(numbers));
    loaded_ = numbers;
}

void StepNumbers::gather_from(AnswerGather const& first_batch, std::uint32_t stride) {
    if (gather_ && gather_->first_batch == first_batch && gather_->stride == stride) return;
    device_->write(&address()->gather, bytes_of_value(first_batch));
    device_->write(&address()->stride, bytes_of_value(stride));
    gather_ = Gather{first_batch, stride};
}

void StepNumbers::launch(std::uint32_t batch, std::span<StepEntry const> entries) {
    require(entries.size() <= StepLaunch::k_most, "more steps than a launch can hold");
    StepLaunch launch;
    launch.batch = batch;
    std::ranges::copy(entries, launch.steps);
    auto const used = offsetof(StepLaunch, steps) + entries.size() * sizeof(StepEntry);
    device_->write(&address()->launch, bytes_of_value(launch).first(used));
}

void StepNumbers::gather(GatherSize const& size) { device_->gather(block(), size); }
void StepNumbers::advance() { device_->advance(address()); }

std::unique_ptr<StepNumbers> make_step_numbers(at::Device device) {
    auto kernels = make_step_device(device);
    return kernels ? std::make_unique<StepNumbers>(std::move(kernels), device) : nullptr;
}

}  // namespace hopscotch
