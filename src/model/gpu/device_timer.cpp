// SPDX-License-Identifier: Apache-2.0
#include "model/gpu/device_timer.hpp"

#include "core/clock.hpp"

#ifdef HOPSCOTCH_CUDA
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/Sleep.h>
#include <c10/core/Device.h>
#include <c10/cuda/CUDAStream.h>
#endif

namespace hopscotch {
namespace {

class ClockTimer final : public DeviceTimer {
public:
    void hold_back(double) override {}
    void start() override { started_s_ = monotonic_s(); }
    void stop() override { stopped_s_ = monotonic_s(); }
    double seconds() override { return stopped_s_ - started_s_; }

private:
    double started_s_ = 0, stopped_s_ = 0;
};

#ifdef HOPSCOTCH_CUDA
class EventTimer final : public DeviceTimer {
public:
    explicit EventTimer(std::string const& device) : index_(c10::Device(device).index()) {}
    void hold_back(double seconds) override {
        constexpr double k_cycles_per_s = 1.5e9;
        at::cuda::sleep(static_cast<std::int64_t>(seconds * k_cycles_per_s));
    }
    void start() override { started_.record(c10::cuda::getCurrentCUDAStream(index_)); }
    void stop() override { stopped_.record(c10::cuda::getCurrentCUDAStream(index_)); }
    double seconds() override {
        stopped_.synchronize();
        return 1e-3 * static_cast<double>(started_.elapsed_time(stopped_));
    }

private:
    c10::DeviceIndex index_;
    at::cuda::CUDAEvent started_{cudaEventDefault}, stopped_{cudaEventDefault};  // with times
};
#endif

}  // namespace

std::unique_ptr<DeviceTimer> make_device_timer([[maybe_unused]] std::string const& device) {
#ifdef HOPSCOTCH_CUDA
    if (device != "cpu") return std::make_unique<EventTimer>(device);
#endif
    return std::make_unique<ClockTimer>();
}

}  // namespace hopscotch
