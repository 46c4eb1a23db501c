// SPDX-License-Identifier: Apache-2.0
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/Sleep.h>
#include <c10/core/Device.h>
#include <c10/cuda/CUDAStream.h>

#include "model/gpu/device_timer.hpp"
#include "model/gpu/gpu_calls.hpp"

namespace hopscotch {
namespace {

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

}  // namespace

std::unique_ptr<DeviceTimer> make_gpu_timer(std::string const& device) { return std::make_unique<EventTimer>(device); }

}  // namespace hopscotch
