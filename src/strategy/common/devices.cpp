// SPDX-License-Identifier: Apache-2.0
#include "strategy/common/devices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace hopscotch {
namespace {

using Trainers = std::map<Rank, HostDevice>;

double gigabytes(std::uint64_t bytes) { return static_cast<double>(bytes) * 1e-9; }

// A GPU's uuid is unique; index and name are not: each rank may see different GPUs of its host.
std::map<std::string, std::vector<int>> ranks_by_gpu(Trainers const& trainers) {
    std::map<std::string, std::vector<int>> out;
    for (auto const& [rank, trainer] : trainers)
        if (trainer.device.is_gpu()) out[trainer.device.uuid].push_back(rank.value);
    return out;
}

}  // namespace

std::vector<std::string> device_table(Trainers const& trainers) {
    std::vector<std::string> out;
    if (ranks_by_gpu(trainers).empty()) return out;
    std::size_t host = 4, model = 5;
    for (auto const& [rank, trainer] : trainers) {
        host = std::max(host, trainer.host.size());
        model = std::max(model, trainer.device.model.size());
    }
    std::set<std::string> versions;
    for (auto const& [rank, trainer] : trainers) versions.insert(trainer.device.versions);
    out.push_back(fmt::format("{}", fmt::join(versions, "; ")));
    out.push_back(fmt::format("{:>5}  {:<{}}  {:<7}  {:<{}}  {:>9}  {}", "rank", "host", host, "device", "model", model,
                              "memory", "uuid"));
    for (auto const& [rank, trainer] : trainers) {
        auto const& device = trainer.device;
        out.push_back(fmt::format(
            "{:>5}  {:<{}}  {:<7}  {:<{}}  {:>9}  {}", rank.value, trainer.host, host, device.name, device.model, model,
            device.is_gpu() ? fmt::format("{:.1f} GB", gigabytes(device.memory_bytes)) : "", device.uuid));
        while (out.back().ends_with(' ')) out.back().pop_back();
    }
    return out;
}

std::vector<std::string> device_advice(Trainers const& trainers, std::string_view wanted) {
    std::vector<std::string> out;
    std::vector<int> without;
    std::set<std::string> models;
    std::set<int> processors;
    bool any_cuda_build = false;
    for (auto const& [rank, trainer] : trainers) {
        any_cuda_build = any_cuda_build || !trainer.device.versions.empty();
        if (!trainer.device.is_gpu()) {
            without.push_back(rank.value);
            continue;
        }
        models.insert(trainer.device.model);
        processors.insert(trainer.device.processors);
    }
    if (models.empty() && any_cuda_build && wanted == "auto")
        out.push_back(
            "no trainer has found a GPU, and all train on CPUs (run.device is auto); see nvidia-smi -L and "
            "CUDA_VISIBLE_DEVICES, or set "
            "run.device to \"cpu\"");
    if (!models.empty() && !without.empty())
        out.push_back(fmt::format(
            "rank(s) {} have no GPU and train on CPUs: the others will wait for them; set run.device to \"cuda\" to make "
            "this an error",
            fmt::join(without, ", ")));
    if (models.size() > 1)
        out.push_back(fmt::format("different GPUs in one job ({}): bits may differ between them", fmt::join(models, ", ")));
    if (models.size() == 1 && processors.size() > 1)
        out.push_back(fmt::format(
            "the trainers' GPUs or slices have unlike numbers of multiprocessors ({}): bits may differ between them",
            fmt::join(processors, ", ")));
    for (auto const& [uuid, ranks] : ranks_by_gpu(trainers))
        if (ranks.size() > 1)
            out.push_back(
                fmt::format("ranks {} share one GPU ({}): they take turns, unless nvidia-cuda-mps-control -d runs there",
                            fmt::join(ranks, ", "), uuid));
    return out;
}

std::vector<int> ranks_of_a_shared_gpu(Trainers const& trainers) {
    for (auto const& [uuid, ranks] : ranks_by_gpu(trainers))
        if (ranks.size() > 1) return ranks;
    return {};
}

std::string against_threads(Trainers const& trainers) {
    auto const gpus = ranks_by_gpu(trainers).size();
    if (gpus < 2) return "";
    return fmt::format(
        "the {} trainers are threads of one process, and would use {} GPUs (CUDA makes the GPUs of a process wait for each "
        "other); start a process for each trainer with mpirun -np {} before this command, or name one GPU in "
        "CUDA_VISIBLE_DEVICES",
        trainers.size(), gpus, trainers.size() + 1);
}

Pinning pinning_for(std::string const& device) {
    if (device == "cpu") return {};
    return {[device](void* data, std::size_t bytes) { return pin_host_memory(device, data, bytes); },
            [device](void* data) { unpin_host_memory(device, data); }};
}

}  // namespace hopscotch
