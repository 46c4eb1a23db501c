// SPDX-License-Identifier: Apache-2.0
#include "model/gpu/gpu_meter.hpp"

#include <unistd.h>

#include <algorithm>

#include "core/clock.hpp"
#include "model/gpu/device.hpp"

namespace hopscotch {
namespace {

std::uint64_t microseconds(double unix_s) { return static_cast<std::uint64_t>(unix_s * 1e6); }

GpuMeter::Sample sample_of(std::uint32_t percent, double seconds) { return {0.01 * percent * seconds, seconds}; }

// The driver also has samples that are older than asked for, or of more than 100 %.
NvmlCalls::ProcessUse const* newest_of(std::vector<NvmlCalls::ProcessUse> const& uses, std::uint32_t pid,
                                       std::uint64_t since_us) {
    NvmlCalls::ProcessUse const* newest = nullptr;
    for (auto const& use : uses) {
        bool const counts = use.pid == pid && use.percent <= 100 && use.unix_us > since_us;
        if (counts && (newest == nullptr || use.unix_us > newest->unix_us)) newest = &use;
    }
    return newest;
}

}  // namespace

GpuMeter::GpuMeter(std::unique_ptr<NvmlCalls> calls, std::uint32_t own_pid, double now_unix_s)
    : calls_(std::move(calls)), own_pid_(own_pid), last_s_(now_unix_s), since_us_(microseconds(now_unix_s)) {}

std::optional<GpuMeter::Sample> GpuMeter::read(double now_unix_s) {
    if (by_ == By::device) return of_device(now_unix_s);
    auto const uses = calls_->processes_since(since_us_);
    if (!uses && by_ == By::process) return std::nullopt;
    if (!uses) by_ = By::device;
    auto const* const own = uses ? newest_of(*uses, own_pid_, since_us_) : nullptr;
    if (own == nullptr) return by_ == By::process ? of_silence(now_unix_s) : of_device(now_unix_s);
    auto const seconds = std::min(1e-6 * static_cast<double>(own->unix_us - since_us_), k_silence_s);
    by_ = By::process;
    since_us_ = own->unix_us;
    last_s_ = now_unix_s;
    return sample_of(own->percent, seconds);
}

std::optional<GpuMeter::Sample> GpuMeter::of_silence(double now_unix_s) {
    auto const seconds = now_unix_s - last_s_;
    if (seconds >= 0 && seconds < k_silence_s) return std::nullopt;
    last_s_ = now_unix_s;
    since_us_ = microseconds(now_unix_s);
    if (seconds < 0) return std::nullopt;  // the clock has been set back
    return sample_of(0, k_silence_s);
}

std::optional<GpuMeter::Sample> GpuMeter::of_device(double now_unix_s) {
    auto const percent = calls_->device_percent();
    auto const seconds = std::clamp(now_unix_s - last_s_, 0.0, k_longest_s);
    last_s_ = now_unix_s;
    if (!percent) return std::nullopt;
    return sample_of(*percent, seconds);
}

std::unique_ptr<GpuMeter> make_gpu_meter(DeviceInfo const& info) {
    if (!info.is_gpu()) return nullptr;
    auto calls = open_nvml(info.uuid);
    if (!calls) return nullptr;
    auto const now_s = unix_s();
    bool const counts = calls->device_percent() || calls->processes_since(microseconds(now_s));
    if (!counts) return nullptr;
    return std::make_unique<GpuMeter>(std::move(calls), static_cast<std::uint32_t>(getpid()), now_s);
}

}  // namespace hopscotch
