// SPDX-License-Identifier: Apache-2.0
// What device.cpp, device_block.cpp and device_timer.cpp ask of a GPU. A build for GPUs has these and the calls of
// device.hpp in tensor/gpu/cuda_device*.cpp, another build in no_gpu.cpp.
#pragma once
#include <memory>
#include <string>

namespace hopscotch {

class DeviceBlock;
class DeviceTimer;

int visible_gpus();
std::string why_no_gpu();
std::unique_ptr<DeviceBlock> make_gpu_block(std::string const& device, std::size_t bytes);
std::unique_ptr<DeviceTimer> make_gpu_timer(std::string const& device);

}  // namespace hopscotch
