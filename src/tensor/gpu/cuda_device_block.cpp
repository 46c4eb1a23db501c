// SPDX-License-Identifier: Apache-2.0
#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

#include "model/gpu/device_block.hpp"
#include "model/gpu/gpu_calls.hpp"

namespace hopscotch {
namespace {

at::Tensor tensor_of(std::byte* data, std::size_t bytes) {
    return at::from_blob(data, {static_cast<std::int64_t>(bytes)}, at::TensorOptions(at::kByte));
}

class GpuBlock final : public DeviceBlock {
public:
    GpuBlock(std::string const& device, std::size_t bytes)
        : memory_(at::zeros({static_cast<std::int64_t>(bytes)}, at::TensorOptions(at::Device(device)).dtype(at::kByte))) {}

    void copy_to(MutableBytes host) const override { tensor_of(host.data(), host.size()).copy_(memory_); }
    void copy_from(ByteView host) override {
        memory_.copy_(tensor_of(const_cast<std::byte*>(host.data()), host.size()));  // which is only read
    }

private:
    at::Tensor memory_;
};

}  // namespace

std::unique_ptr<DeviceBlock> make_gpu_block(std::string const& device, std::size_t bytes) {
    return std::make_unique<GpuBlock>(device, bytes);
}

}  // namespace hopscotch
