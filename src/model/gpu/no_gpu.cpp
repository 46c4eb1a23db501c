// SPDX-License-Identifier: Apache-2.0
// The calls of a GPU, in a build without GPUs.
#include "core/error.hpp"
#include "model/gpu/device.hpp"
#include "model/gpu/device_block.hpp"
#include "model/gpu/device_timer.hpp"
#include "model/gpu/gpu_calls.hpp"

namespace hopscotch {

int visible_gpus() { return 0; }
std::string why_no_gpu() {
    return "device \"cuda\" is not available (this is a CPU build); build with preset gpu, or set run.device to \"cpu\"";
}
DeviceInfo device_info(std::string const& device) { return {device, "", "", 0, ""}; }
std::optional<DeviceMemory> device_memory(std::string const&) { return std::nullopt; }
void* compute_stream(std::string const&) { return nullptr; }
void prepare_process() {}
bool pin_host_memory(std::string const&, void*, std::size_t) { return false; }
void unpin_host_memory(std::string const&, void*) {}
std::optional<DeviceComplaint> device_complaint(std::string const&) { return std::nullopt; }
void begin_with_device(std::string const&) {}
std::unique_ptr<DeviceBlock> make_gpu_block(std::string const&, std::size_t) { throw ConfigError(why_no_gpu()); }
std::unique_ptr<DeviceTimer> make_gpu_timer(std::string const&) { throw ConfigError(why_no_gpu()); }

}  // namespace hopscotch
