// SPDX-License-Identifier: Apache-2.0
// The calls of NVML, the driver's library of measures, that a meter of one GPU needs. The library is opened while the
// program runs, so no build needs it. Tests without a GPU use a fake.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hopscotch {

class NvmlCalls {
public:
    struct ProcessUse {
        std::uint32_t pid = 0;      // as the driver knows the process: of the host, also in a container
        std::uint64_t unix_us = 0;  // the end of the time that percent covers
        std::uint32_t percent = 0;  // of the time in which kernels of the process ran; in bad samples more than 100
    };

    virtual ~NvmlCalls() = default;

    // Processes that have used the GPU since then, as far as the driver has new samples. None: an error, or this GPU does
    // not count by process.
    virtual std::optional<std::vector<ProcessUse>> processes_since(std::uint64_t unix_us) = 0;

    // Of the last 1/6 to 1 s, the percentage in which any kernel ran. None: an error, or this GPU does not count.
    virtual std::optional<std::uint32_t> device_percent() = 0;
};

// uuid: of the GPU, "GPU-8f1e...": an index would depend on CUDA_VISIBLE_DEVICES. Null: the library or one of its functions
// is missing, the driver does not answer, or the GPU is unknown or divided (MIG).
std::unique_ptr<NvmlCalls> open_nvml(std::string const& uuid, std::string const& library = "libnvidia-ml.so.1");

}  // namespace hopscotch
