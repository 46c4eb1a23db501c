// SPDX-License-Identifier: Apache-2.0
#include <ATen/Context.h>
#include <c10/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <array>

#include "model/gpu/device.hpp"
#include "tensor/gpu/cuda_check.hpp"
#include "tensor/gpu/feed_device.hpp"
#include "tensor/gpu/gather_kernels.hpp"

namespace hopscotch {
namespace {

// A waiting host must not spin: the courier's thread needs the core.
c10::cuda::CUDAEvent blocking_event() { return {cudaEventDisableTiming | cudaEventBlockingSync}; }

class CudaFeedDevice final : public FeedDevice {
public:
    explicit CudaFeedDevice(at::Device device)
        : device_(device), copies_(c10::cuda::getStreamFromPool(true, device.index())) {
        for (auto& event : events_) event = blocking_event();
    }

    at::TensorOptions on_host() const override { return at::TensorOptions(at::kCPU).pinned_memory(true); }
    at::TensorOptions on_device() const override { return {device_}; }

    DeviceMemory memory() const override { return *device_memory(device_.str()); }

    void copy(at::Tensor const& to, at::Tensor const& from, Stream which) override {
        c10::cuda::CUDAStreamGuard const there(stream(which));
        to.copy_(from, true);
    }
    void gather(FeatureGather const& gather) override { launch(gather); }
    void gather(AnswerGather const& gather) override { launch(gather); }
    void record(Event which, Stream on) override { event(which).record(stream(on)); }
    void wait(Event which, Stream on) override { event(which).block(stream(on)); }
    void wait(Event which) override { event(which).synchronize(); }

private:
    c10::cuda::CUDAStream stream(Stream which) const {
        return which == Stream::copy ? copies_ : c10::cuda::getCurrentCUDAStream(device_.index());
    }
    c10::cuda::CUDAEvent& event(Event which) { return events_.at(static_cast<std::size_t>(which)); }

    template <class Gather>
    void launch(Gather const& gather) {
        c10::cuda::CUDAGuard const here(device_);
        launch_gather(gather, stream(Stream::compute).stream());
    }

    at::Device device_;
    c10::cuda::CUDAStream copies_;
    std::array<c10::cuda::CUDAEvent, k_events> events_;
};

}  // namespace

std::unique_ptr<FeedDevice> make_feed_device(at::Device device) {
    if (!device.is_cuda()) return nullptr;
    at::globalContext().lazyInitDevice(at::kCUDA);  // before that its allocator knows no device
    return std::make_unique<CudaFeedDevice>(device);
}

}  // namespace hopscotch
