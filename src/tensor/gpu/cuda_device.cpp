// SPDX-License-Identifier: Apache-2.0
// The calls of a GPU, in a build for GPUs.
#include <ATen/Context.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <fmt/format.h>

#include <cstdlib>
#include <mutex>

#include "core/log.hpp"
#include "model/gpu/device.hpp"
#include "model/gpu/gpu_calls.hpp"
#include "tensor/gpu/cuda_check.hpp"
#include "tensor/gpu/device_allocator.hpp"

namespace hopscotch {
namespace {

std::string cuda_version(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

std::string versions() {
    int runtime = 0, driver = 0;
    check_cuda(cudaRuntimeGetVersion(&runtime), "asking for the runtime's version");
    bool const has_driver = cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0;
    auto out = fmt::format("CUDA {}, {}", cuda_version(runtime),
                           has_driver ? "driver for up to CUDA " + cuda_version(driver) : "no driver");
    if (!at::globalContext().hasCUDA()) return out;
    auto const cudnn = at::detail::getCUDAHooks().versionCuDNN();
    return out + fmt::format(", cuDNN {}.{}.{}", cudnn / 10000, cudnn % 10000 / 100, cudnn % 100);
}

c10::DeviceIndex index_of(std::string const& device) { return at::Device(device).index(); }

}  // namespace

int visible_gpus() {
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess && at::globalContext().hasCUDA() ? count : 0;
}

std::string why_no_gpu() {
    int count = 0;
    auto const code = cudaGetDeviceCount(&count);
    auto const* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    return no_gpu_message(visible == nullptr ? std::nullopt : std::optional<std::string>(visible),
                          code == cudaSuccess ? "" : cudaGetErrorString(code));
}

DeviceInfo device_info(std::string const& device) {
    DeviceInfo out;
    out.name = device;
    out.versions = versions();
    if (device == "cpu") return out;
    cudaDeviceProp properties{};
    check_cuda(cudaGetDeviceProperties(&properties, index_of(device)), "asking for the GPU's properties");
    out.model = properties.name;
    auto const* u = reinterpret_cast<unsigned char const*>(properties.uuid.bytes);
    out.uuid = "GPU-";
    for (int i = 0; i < 16; ++i) out.uuid += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u[i]);
    out.memory_bytes = properties.totalGlobalMem;
    out.processors = properties.multiProcessorCount;
    return out;
}

std::optional<DeviceMemory> device_memory(std::string const& device) {
    if (device == "cpu") return std::nullopt;
    at::globalContext().lazyInitDevice(at::kCUDA);  // before that torch's allocator knows no device
    auto const index = index_of(device);
    c10::cuda::CUDAGuard const there(index);
    DeviceMemory out;
    std::size_t free = 0, total = 0;
    check_cuda(cudaMemGetInfo(&free, &total), "asking for free memory");
    auto const stats = c10::cuda::CUDACachingAllocator::getDeviceStats(index);
    auto const all = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
    out.free = static_cast<std::int64_t>(free) + stats.reserved_bytes[all].current - stats.allocated_bytes[all].current -
               idle_in_graphs(device);
    out.total = static_cast<std::int64_t>(total);
    return out;
}

void* compute_stream(std::string const& device) {
    return device == "cpu" ? nullptr : c10::cuda::getCurrentCUDAStream(index_of(device)).stream();
}

void prepare_process() { setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0); }  // needed for deterministic mode

bool pin_host_memory(std::string const& device, void* data, std::size_t bytes) {
    c10::cuda::CUDAGuard const here(index_of(device));  // else CUDA takes memory of the first GPU for this thread
    auto const code = cudaHostRegister(data, bytes, cudaHostRegisterPortable);
    if (code == cudaSuccess) return true;
    static_cast<void>(cudaGetLastError());
    static std::once_flag once;
    std::call_once(once, [&] {
        log_warning(
            fmt::format("{} bytes of host memory cannot be page-locked for {} ({}): copies to and from it are slower", bytes,
                        device, cudaGetErrorString(code)));
    });
    return false;
}

void unpin_host_memory(std::string const& device, void* data) {
    try {
        c10::cuda::CUDAGuard const here(index_of(device));
        static_cast<void>(cudaHostUnregister(data));
    } catch (std::exception const&) {  // a broken device: it stays locked until the process ends
    }
}

std::optional<DeviceComplaint> device_complaint(std::string const& device) {
    if (device == "cpu") return std::nullopt;
    auto code = cudaErrorUnknown;
    try {
        c10::cuda::CUDAGuard const here(index_of(device));  // the default stream is that of the current device
        code = cudaStreamQuery(c10::cuda::getCurrentCUDAStream(index_of(device)).stream());
    } catch (std::exception const& error) {
        return DeviceComplaint{error.what()};
    }
    static_cast<void>(cudaGetLastError());
    // A capture by another thread is not a fault of the device.
    if (code == cudaSuccess || code == cudaErrorNotReady ||
        (code >= cudaErrorStreamCaptureUnsupported && code <= cudaErrorStreamCaptureWrongThread))
        return std::nullopt;
    return DeviceComplaint{fmt::format("{}: {}", cudaGetErrorName(code), cudaGetErrorString(code)),
                           code == cudaErrorAssert || code == cudaErrorIllegalAddress};
}

void begin_with_device(std::string const& device) {
    if (device == "cpu") return;
    static_cast<void>(cudaInitDevice(index_of(device), cudaDeviceScheduleBlockingSync, cudaInitDeviceFlagsAreValid));
    static_cast<void>(cudaGetLastError());  // a hint: if it fails, waiting threads spin
}

}  // namespace hopscotch
