// SPDX-License-Identifier: Apache-2.0
#include "model/gpu/device_block.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

namespace hopscotch {
namespace {

at::Tensor tensor_of(std::byte* data, std::size_t bytes) {
    return at::from_blob(data, {static_cast<std::int64_t>(bytes)}, at::TensorOptions(at::kByte));
}

}  // namespace

struct DeviceBlock::Impl {
    at::Tensor memory;
};

DeviceBlock::DeviceBlock(std::string const& device, std::size_t bytes)
    : impl_(std::make_unique<Impl>(
          at::zeros({static_cast<std::int64_t>(bytes)}, at::TensorOptions(at::Device(device)).dtype(at::kByte)))) {}
DeviceBlock::~DeviceBlock() = default;

void DeviceBlock::copy_to(MutableBytes host) const { tensor_of(host.data(), host.size()).copy_(impl_->memory); }

void DeviceBlock::copy_from(ByteView host) {
    impl_->memory.copy_(tensor_of(const_cast<std::byte*>(host.data()), host.size()));  // which is only read
}

}  // namespace hopscotch
