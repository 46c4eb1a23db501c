// SPDX-License-Identifier: Apache-2.0
#include "model/gpu/device_block.hpp"

#include <algorithm>
#include <vector>

#include "model/gpu/gpu_calls.hpp"

namespace hopscotch {
namespace {

class HostBlock final : public DeviceBlock {
public:
    explicit HostBlock(std::size_t bytes) : memory_(bytes) {}
    void copy_to(MutableBytes host) const override { std::ranges::copy(memory_, host.begin()); }
    void copy_from(ByteView host) override { std::ranges::copy(host, memory_.begin()); }

private:
    std::vector<std::byte> memory_;
};

}  // namespace

std::unique_ptr<DeviceBlock> make_device_block(std::string const& device, std::size_t bytes) {
    if (device != "cpu") return make_gpu_block(device, bytes);
    return std::make_unique<HostBlock>(bytes);
}

}  // namespace hopscotch
