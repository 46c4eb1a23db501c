// SPDX-License-Identifier: Apache-2.0
#include "tensor/gpu/copy_device.hpp"

#ifdef HOPSCOTCH_CUDA
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "tensor/gpu/copy_kernels.hpp"

namespace hopscotch {
namespace {

class CudaCopyDevice final : public CopyDevice {
public:
    explicit CudaCopyDevice(at::Device device) : device_(device) {}
    void run(std::span<TensorCopy const> copies) const override {
        c10::cuda::CUDAGuard const here(device_);
        launch_copies(copies, c10::cuda::getCurrentCUDAStream(device_.index()).stream());
    }

private:
    at::Device device_;
};

}  // namespace

std::unique_ptr<CopyDevice> make_copy_device(at::Device device) {
    return device.is_cuda() ? std::make_unique<CudaCopyDevice>(device) : nullptr;
}

}  // namespace hopscotch
#else
namespace hopscotch {

std::unique_ptr<CopyDevice> make_copy_device(at::Device) { return nullptr; }

}  // namespace hopscotch
#endif
