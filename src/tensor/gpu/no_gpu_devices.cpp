// SPDX-License-Identifier: Apache-2.0
// In a build without GPUs.
#include "tensor/gpu/device_allocator.hpp"
#include "tensor/gpu/feed_device.hpp"
#include "tensor/gpu/step_device.hpp"

namespace hopscotch {

std::unique_ptr<FeedDevice> make_feed_device(at::Device) { return nullptr; }
std::unique_ptr<ComputeStream> make_compute_stream(at::Device) { return nullptr; }
std::unique_ptr<StepDevice> make_step_device(at::Device) { return nullptr; }
std::unique_ptr<DeviceAllocator> make_device_allocator(std::string const&) { return nullptr; }

}  // namespace hopscotch
