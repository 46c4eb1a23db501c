// SPDX-License-Identifier: Apache-2.0
#include "model/gpu/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "core/error.hpp"
#include "model/gpu/gpu_calls.hpp"

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

std::string against_allocator(std::string_view configuration) {
    if (configuration.find("cudaMallocAsync") == configuration.npos) return "";
    return "the backend cudaMallocAsync does not tell how much memory a step takes, which decides whether a trial fits; "
           "leave the backend out";
}

std::string resolve_device(std::string_view wanted, int local_rank) {
    if (wanted == "cpu") return "cpu";
    if (wanted != "auto" && wanted != "cuda")
        throw ConfigError(fmt::format("unknown device \"{}\" (known: auto, cpu, cuda)", wanted));
    auto const gpus = visible_gpus();
    for (auto const* name : {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"})
        if (auto const* value = std::getenv(name); gpus > 0 && value != nullptr && !against_allocator(value).empty())
            throw ConfigError(fmt::format("{}: {}", name, against_allocator(value)));
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

}  // namespace hopscotch
