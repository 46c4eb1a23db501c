// SPDX-License-Identifier: Apache-2.0
#include "tensor/gpu/norm_device.hpp"

#ifdef HOPSCOTCH_CUDA
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "tensor/gpu/norm_kernels.hpp"

namespace hopscotch {
namespace {

class CudaNormDevice final : public NormDevice {
public:
    explicit CudaNormDevice(at::Device device) : device_(device) {}
    void run(NormForward const& pass) const override { launch(pass); }
    void run(NormBackward const& pass) const override { launch(pass); }

private:
    template <class Pass>
    void launch(Pass const& pass) const {
        c10::cuda::CUDAGuard const here(device_);
        launch_norm(pass, c10::cuda::getCurrentCUDAStream(device_.index()).stream());
    }

    at::Device device_;
};

}  // namespace

std::unique_ptr<NormDevice> make_norm_device(at::Device device) {
    return device.is_cuda() ? std::make_unique<CudaNormDevice>(device) : nullptr;
}

}  // namespace hopscotch
#else
namespace hopscotch {

std::unique_ptr<NormDevice> make_norm_device(at::Device) { return nullptr; }

}  // namespace hopscotch
#endif
