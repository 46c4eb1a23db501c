// SPDX-License-Identifier: Apache-2.0
#include <ATen/Context.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "tensor/gpu/step_device.hpp"
#include "tensor/gpu/step_kernels.hpp"

namespace hopscotch {
namespace {

class CudaStepDevice final : public StepDevice {
public:
    explicit CudaStepDevice(at::Device device) : device_(device) {}

    void write(void* to, ByteView values) override {
        c10::cuda::CUDAGuard const here(device_);
        launch_write(to, values, stream());
    }
    void gather(StepBlock const* block, GatherSize const& size) override {
        c10::cuda::CUDAGuard const here(device_);
        launch_due_gather(block, size, stream());
    }
    void update(FlatUpdate const& update) override {
        c10::cuda::CUDAGuard const here(device_);
        launch_update(update, stream());
    }
    void advance(StepBlock* block) override {
        c10::cuda::CUDAGuard const here(device_);
        launch_advance(block, stream());
    }

private:
    cudaStream_t stream() const { return c10::cuda::getCurrentCUDAStream(device_.index()).stream(); }

    at::Device device_;
};

}  // namespace

std::unique_ptr<StepDevice> make_step_device(at::Device device) {
    if (!device.is_cuda()) return nullptr;
    at::globalContext().lazyInitDevice(at::kCUDA);
    return std::make_unique<CudaStepDevice>(device);
}

}  // namespace hopscotch
