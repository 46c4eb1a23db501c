// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <algorithm>

#include "core/unique_handle.hpp"
#include "model/gpu/nvml_calls.hpp"

namespace hopscotch {
namespace {

// Types and values of NVML's interface, which has kept them since its first version.
using NvmlDevice = void*;
enum NvmlResult : int { nvml_success = 0, nvml_not_found = 6, nvml_insufficient_size = 7 };
constexpr unsigned k_nvml_mig_enabled = 1;

struct NvmlUtilization {
    unsigned gpu = 0, memory = 0;
};

struct NvmlProcessSample {
    unsigned pid = 0;
    unsigned long long unix_us = 0;
    unsigned sm = 0, memory = 0, encoder = 0, decoder = 0;
};
static_assert(sizeof(NvmlUtilization) == 8 && sizeof(NvmlProcessSample) == 32);

struct CloseLibrary {
    static void* null() { return nullptr; }
    void operator()(void* library) noexcept { ::dlclose(library); }
};

class NvmlLibrary final : public NvmlCalls {
public:
    explicit NvmlLibrary(std::string const& name) : library_(::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {}
    ~NvmlLibrary() override {
        if (begun_) shutdown_();
    }
    NvmlLibrary(NvmlLibrary const&) = delete;
    NvmlLibrary& operator=(NvmlLibrary const&) = delete;

    // False: see open_nvml.
    bool begin(std::string const& uuid) {
        if (!library_ || !find_functions()) return false;
        begun_ = init_() == nvml_success;
        if (!begun_ || device_by_uuid_(uuid.c_str(), &device_) != nvml_success) return false;
        unsigned mig = 0, mig_after_reset = 0;
        bool const knows_mig = mig_mode_ != nullptr && mig_mode_(device_, &mig, &mig_after_reset) == nvml_success;
        return !knows_mig || mig != k_nvml_mig_enabled;
    }

    std::optional<std::vector<ProcessUse>> processes_since(std::uint64_t unix_us) override {
        if (process_utilization_ == nullptr) return std::nullopt;
        unsigned count = 0;
        auto result = process_utilization_(device_, nullptr, &count, unix_us);
        std::vector<NvmlProcessSample> samples;
        if (result == nvml_insufficient_size && count > 0) {
            samples.resize(count);
            result = process_utilization_(device_, samples.data(), &count, unix_us);
        }
        if (result == nvml_not_found) return std::vector<ProcessUse>{};
        if (result != nvml_success) return std::nullopt;
        samples.resize(std::min<std::size_t>(count, samples.size()));
        std::vector<ProcessUse> out;
        for (auto const& sample : samples) out.push_back({sample.pid, sample.unix_us, sample.sm});
        return out;
    }

    std::optional<std::uint32_t> device_percent() override {
        NvmlUtilization use;
        if (utilization_rates_(device_, &use) != nvml_success || use.gpu > 100) return std::nullopt;
        return use.gpu;
    }

private:
    template <class Function>
    bool find(Function*& function, char const* name) {
        function = reinterpret_cast<Function*>(::dlsym(library_.handle(), name));
        return function != nullptr;
    }

    // Old drivers have neither MIG nor a count by process.
    bool find_functions() {
        find(mig_mode_, "nvmlDeviceGetMigMode");
        find(process_utilization_, "nvmlDeviceGetProcessUtilization");
        return find(init_, "nvmlInit_v2") && find(shutdown_, "nvmlShutdown") &&
               find(device_by_uuid_, "nvmlDeviceGetHandleByUUID") &&
               find(utilization_rates_, "nvmlDeviceGetUtilizationRates");
    }

    UniqueHandle<void*, CloseLibrary> library_;
    int (*init_)() = nullptr;
    int (*shutdown_)() = nullptr;
    int (*device_by_uuid_)(char const*, NvmlDevice*) = nullptr;
    int (*mig_mode_)(NvmlDevice, unsigned*, unsigned*) = nullptr;
    int (*utilization_rates_)(NvmlDevice, NvmlUtilization*) = nullptr;
    int (*process_utilization_)(NvmlDevice, NvmlProcessSample*, unsigned*, unsigned long long) = nullptr;
    NvmlDevice device_ = nullptr;
    bool begun_ = false;
};

}  // namespace

std::unique_ptr<NvmlCalls> open_nvml(std::string const& uuid, std::string const& library) {
    auto out = std::make_unique<NvmlLibrary>(library);
    if (!out->begin(uuid)) return nullptr;
    return out;
}

}  // namespace hopscotch
