// SPDX-License-Identifier: Apache-2.0
#include "model/gpu/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "core/error.hpp"
#include "model/gpu/device_allocator.hpp"
#include "model/gpu/feed_device.hpp"
#include "model/gpu/step_device.hpp"

#ifdef HOPSCOTCH_CUDA
#include <ATen/Context.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdlib>
#include <mutex>

#include "core/log.hpp"
#include "model/gpu/cuda_check.hpp"
#endif

namespace hopscotch {
namespace {

std::string gigabytes(std::int64_t bytes) { return fmt::format("{:.2f} GB", static_cast<double>(bytes) * 1e-9); }

constexpr std::string_view k_tried = "Tried to allocate ";

// The one useful sentence of torch's message; the others describe its allocator.
std::string tried(std::string_view torch_says) {
    auto const from = torch_says.find(k_tried);
    if (from == torch_says.npos) return std::string(torch_says.substr(0, torch_says.find('\n')));
    auto const sentence = torch_says.substr(from, torch_says.find('\n', from) - from);
    return std::string(sentence.substr(0, std::min(sentence.find(". "), sentence.find(" ("))));
}

#ifdef HOPSCOTCH_CUDA
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
#else
int visible_gpus() { return 0; }
std::string why_no_gpu() {
    return "device \"cuda\" is not available (this is a CPU build); build with preset gpu, or set run.device to \"cpu\"";
}
#endif

}  // namespace

std::string no_gpu_message(std::optional<std::string> const& visible, std::string_view driver_says) {
    std::string why = "this machine shows no GPU";
    if (visible && visible->empty())
        why = "CUDA_VISIBLE_DEVICES is empty, which hides every GPU";
    else if (visible)
        why = fmt::format("CUDA_VISIBLE_DEVICES is \"{}\", and none of these is here", *visible);
    if (!driver_says.empty()) why += fmt::format("; CUDA says: {}", driver_says);
    return fmt::format(
        "device \"cuda\" is not available ({}); check nvidia-smi -L and CUDA_VISIBLE_DEVICES, or set run.device to \"cpu\"",
        why);
}

std::string resolve_device(std::string_view wanted, int local_rank) {
    if (wanted == "cpu") return "cpu";
    if (wanted != "auto" && wanted != "cuda")
        throw ConfigError(fmt::format("unknown device \"{}\" (known: auto, cpu, cuda)", wanted));
    auto const gpus = visible_gpus();
    if (gpus > 0) return fmt::format("cuda:{}", local_rank % gpus);
    if (wanted == "cuda") throw ConfigError(why_no_gpu());
    return "cpu";
}

std::optional<std::string> refusal(TrainingNeed const& need, DeviceMemory const& memory, std::string const& device) {
    auto const all = need.state + need.gradient + need.activations;
    if (all <= memory.free) return std::nullopt;
    auto const activations =
        need.activations > 0 ? fmt::format(", activations {} at batch size {}", gigabytes(need.activations), need.batch_size)
                             : "";
    return fmt::format(
        "{} has {} of {} free, and this trial needs {} (state {}, gradient {}{}); choose a smaller model{}, or fewer "
        "trainers for each GPU",
        device, gigabytes(memory.free), gigabytes(memory.total), gigabytes(all), gigabytes(need.state),
        gigabytes(need.gradient), activations, need.activations > 0 ? " or train.batch_size" : "");
}

std::string out_of_memory(TrainingNeed const& need, DeviceMemory const& memory, std::string const& device,
                          std::string_view torch_says) {
    return fmt::format(
        "{} has {} of {} free for this trial, and it needs at least {} (state {}, gradient {}, activations {} at batch "
        "size {}; torch says: {}); choose a smaller model or train.batch_size, or fewer trainers for each GPU",
        device, gigabytes(memory.free), gigabytes(memory.total), gigabytes(need.state + need.gradient + need.activations),
        gigabytes(need.state), gigabytes(need.gradient), gigabytes(need.activations), need.batch_size, tried(torch_says));
}

std::int64_t requested_bytes(std::string_view torch_says) {
    auto const words = tried(torch_says);
    std::istringstream in{words.substr(std::min(words.size(), k_tried.size()))};
    double number = 0;
    std::string unit;
    if (!(in >> number >> unit)) return 0;
    double factor = 0;
    if (unit == "bytes") factor = 1;
    if (unit == "KiB") factor = 1024;
    if (unit == "MiB") factor = 1024.0 * 1024;
    if (unit == "GiB") factor = 1024.0 * 1024 * 1024;
    return static_cast<std::int64_t>(number * factor);
}

DoesNotFit::Why why_it_does_not_fit(DeviceMemory const& memory) {
    auto const others = memory.total - memory.free;  // CUDA's own context among them
    return others > memory.total / 8 ? DoesNotFit::Why::others : DoesNotFit::Why::too_large;
}

#ifdef HOPSCOTCH_CUDA
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
#else
DeviceInfo device_info(std::string const& device) { return {device, "", "", 0, ""}; }
std::optional<DeviceMemory> device_memory(std::string const&) { return std::nullopt; }
void* compute_stream(std::string const&) { return nullptr; }
void prepare_process() {}
bool pin_host_memory(std::string const&, void*, std::size_t) { return false; }
void unpin_host_memory(std::string const&, void*) {}
std::optional<DeviceComplaint> device_complaint(std::string const&) { return std::nullopt; }
void begin_with_device(std::string const&) {}
std::unique_ptr<FeedDevice> make_feed_device(at::Device) { return nullptr; }
std::unique_ptr<ComputeStream> make_compute_stream(at::Device) { return nullptr; }
std::unique_ptr<StepDevice> make_step_device(at::Device) { return nullptr; }
std::unique_ptr<DeviceAllocator> make_device_allocator(std::string const&) { return nullptr; }
#endif

}  // namespace hopscotch
