// SPDX-License-Identifier: Apache-2.0
// The busy time of this process's GPU. Processes that share a GPU count apart if the driver counts by process and knows this
// process under its own id (in most containers it does not). Else the use of the whole GPU counts.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>

#include "model/gpu/nvml_calls.hpp"

namespace hopscotch {

struct DeviceInfo;

class GpuMeter {
public:
    static constexpr double k_longest_s = 1;  // the time that one sample of the whole GPU covers, about
    // The driver has samples of a process every second or so, and none of a process that is idle: a longer silence is idle
    // time.
    static constexpr double k_silence_s = 2;

    GpuMeter(std::unique_ptr<NvmlCalls> calls, std::uint32_t own_pid, double now_unix_s);

    struct Sample {
        double busy_s = 0, of_s = 0;
    };
    // The time since the sample before. None: no news, or an error.
    std::optional<Sample> read(double now_unix_s);

private:
    std::optional<Sample> of_device(double now_unix_s);
    std::optional<Sample> of_silence(double now_unix_s);

    std::unique_ptr<NvmlCalls> calls_;
    std::uint32_t own_pid_;
    double last_s_;           // end of the last sample
    std::uint64_t since_us_;  // the same, on the driver's clock
    enum class By { process_perhaps, process, device } by_ = By::process_perhaps;
};

// Null: nothing can be measured: a CPU, no NVML, MIG, or a GPU that does not count.
std::unique_ptr<GpuMeter> make_gpu_meter(DeviceInfo const& info);

}  // namespace hopscotch
