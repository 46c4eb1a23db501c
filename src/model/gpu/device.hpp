// SPDX-License-Identifier: Apache-2.0
// The device that a trainer computes on, and its memory. The rules are pure functions, so they are tested on machines
// without a GPU. The calls of a GPU are in tensor/gpu/cuda_device.cpp.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.hpp"

namespace hopscotch {

// Throws ConfigError unless the device can be used here: "cpu", "cuda", "auto". Returns "cpu" or "cuda:0": GPUs that
// CUDA_VISIBLE_DEVICES leaves visible are given in turn to the host's trainers, so several may share one.
std::string resolve_device(std::string_view wanted, int local_rank);

struct DeviceInfo {
    std::string name;                // as resolve_device
    std::string model, uuid;         // NVIDIA H200, GPU-8f1e...; empty for a CPU. Trainers with the same uuid share it
    std::uint64_t memory_bytes = 0;  // of the device
    std::string versions;            // "CUDA 13.0, driver for up to CUDA 13.1, cuDNN 9.19.0"; empty: a CPU build
    std::int32_t processors = 0;     // multiprocessors that this process may use
    bool is_gpu() const { return !uuid.empty(); }
};
// Why no GPU can be used with this PYTORCH_CUDA_ALLOC_CONF (a variable of LibTorch's allocator). Empty: it can be.
std::string against_allocator(std::string_view configuration);

DeviceInfo device_info(std::string const& device);

// The reason why a CUDA build finds no GPU, and the cure. visible: CUDA_VISIBLE_DEVICES, if it is set. driver_says: CUDA's
// error text.
std::string no_gpu_message(std::optional<std::string> const& visible, std::string_view driver_says);

// Sets the environment variables that CUDA's libraries read. A process calls this first, before it has threads. Does nothing
// in a CPU build.
void prepare_process();

// Call before any other use of a device. From then on a thread that waits for the device leaves the core to other threads,
// such as the courier's.
void begin_with_device(std::string const& device);

// States rest in host memory; a GPU copies to and from it faster when it is page-locked. Any thread: the call touches this
// GPU only. False if CUDA refuses, which the log says once.
bool pin_host_memory(std::string const& device, void* data, std::size_t bytes);
void unpin_host_memory(std::string const& device, void* data);

// CUDA's error, if this process cannot use the device any more. Does not wait for the device.
struct DeviceComplaint {
    std::string text;
    bool of_the_work = false;  // true: a kernel got bad input (a label out of range); false: the device is to blame
};
std::optional<DeviceComplaint> device_complaint(std::string const& device);  // none: the device works

// The stream in which the calling thread computes on that device: a cudaStream_t; null on a CPU.
void* compute_stream(std::string const& device);

struct DeviceMemory {
    std::int64_t free = 0, total = 0;
};
std::optional<DeviceMemory> device_memory(
    std::string const& device);  // memory that torch keeps for reuse counts as free; none: a CPU

// The memory of a device that training one trial takes, besides the shards that rest there.
struct TrainingNeed {
    std::int64_t state = 0, gradient = 0;
    std::int64_t activations = 0;  // the most that a step of this trial has taken so far; 0: not known
    std::int64_t batch_size = 0;
};
// Why this trial cannot be trained, with numbers; none: it may be tried.
std::optional<std::string> refusal(TrainingNeed const& need, DeviceMemory const& memory, std::string const& device);

// The same for a batch that found no memory. need: a lower bound; memory: the trial's own memory counts as free.
std::string out_of_memory(TrainingNeed const& need, DeviceMemory const& memory, std::string const& device,
                          std::string_view torch_says);

// The bytes that torch "Tried to allocate" according to its message; 0: the message does not say.
std::int64_t requested_bytes(std::string_view torch_says);

// A trial does not fit on its GPU.
class DoesNotFit : public Error {
public:
    enum class Why { too_large, others };  // others: other users hold a large part of the device, and may free it
    DoesNotFit(std::string const& problem, Why why) : Error(problem), why_(why) {}
    Why why() const { return why_; }

private:
    Why why_;
};
DoesNotFit::Why why_it_does_not_fit(DeviceMemory const& memory);  // the trial's own memory counts as free

}  // namespace hopscotch
