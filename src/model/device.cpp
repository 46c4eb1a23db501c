// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "core/error.hpp"
#include "model/feed_device.hpp"
#include "model/trial_model.hpp"

#ifdef HOPSCOTCH_CUDA
#include <ATen/Context.h>
#include <ATen/detail/CUDAHooksInterface.h>

#include "model/cuda_check.hpp"
#endif

namespace hopscotch {
namespace {

#ifdef HOPSCOTCH_CUDA
int visible_gpus() { return at::globalContext().hasCUDA() ? at::detail::getCUDAHooks().getNumGPUs() : 0; }
constexpr char const* k_no_gpu =
    "device \"cuda\" is not available (this machine shows no GPU) check nvidia-smi and CUDA_VISIBLE_DEVICES, "
    "or set run.device to \"cpu\"";
#else
int visible_gpus() { return 0; }
constexpr char const* k_no_gpu =
    "device \"cuda\" is not available (this is a CPU build) build with preset gpu, or set run.device to \"cpu\"";
#endif

}  // namespace

std::string resolve_device(std::string_view wanted, int local_rank) {
    if (wanted == "cpu") return "cpu";
    if (wanted != "auto" && wanted != "cuda")
        throw ConfigError(fmt::format("unknown device \"{}\" (known: auto, cpu, cuda)", wanted));
    auto const gpus = visible_gpus();
    if (gpus > 0) return fmt::format("cuda:{}", local_rank % gpus);
    if (wanted == "cuda") throw ConfigError(k_no_gpu);
    return "cpu";
}

#ifdef HOPSCOTCH_CUDA
void pin_host_memory(void* data, std::size_t bytes) {
    check_cuda(cudaHostRegister(data, bytes, cudaHostRegisterPortable), "page-locking host memory");
}
void unpin_host_memory(void* data) { cudaHostUnregister(data); }  // at worst it stays locked until the process ends
#else
void pin_host_memory(void*, std::size_t) {}
void unpin_host_memory(void*) {}
std::unique_ptr<FeedDevice> make_feed_device(at::Device) { return nullptr; }
#endif

}  // namespace hopscotch
