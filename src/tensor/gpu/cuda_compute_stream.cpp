// SPDX-License-Identifier: Apache-2.0
#include <ATen/Context.h>
#include <c10/cuda/CUDAStream.h>

#include "tensor/gpu/feed_device.hpp"

namespace hopscotch {
namespace {

// Of torch's pool: such a stream does not wait for CUDA's default stream, and can be captured.
class PoolStream final : public ComputeStream {
public:
    explicit PoolStream(c10::DeviceIndex device) : stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device)) {}
    void enter() override { c10::cuda::setCurrentCUDAStream(stream_); }

private:
    c10::cuda::CUDAStream stream_;
};

}  // namespace

std::unique_ptr<ComputeStream> make_compute_stream(at::Device device) {
    if (!device.is_cuda()) return nullptr;
    at::globalContext().lazyInitDevice(at::kCUDA);
    return std::make_unique<PoolStream>(device.index());
}

}  // namespace hopscotch
