// SPDX-License-Identifier: Apache-2.0
#include "tensor/gpu/step_numbers.hpp"

#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "core/error.hpp"
#include "tensor/gpu/step_device.hpp"

namespace hopscotch {
namespace {

static_assert(sizeof(StepLaunch) <= StepDevice::k_most_written && sizeof(AnswerGather) <= StepDevice::k_most_written);

template <class Value>
ByteView bytes_of_value(Value const& value) {
    return std::as_bytes(std::span(&value, 1));
}

}  // namespace

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
