// SPDX-License-Identifier: Apache-2.0
#include "model/trial/workspace.hpp"

#include <utility>

#include "experiment/run_config.hpp"
#include "model/lean/lean_memory.hpp"
#include "model/trial/torch_library.hpp"

namespace hopscotch {

GpuMode gpu_mode(RunConfig const& run) {
    return {run.gpu.deterministic, run.gpu.tf32.value_or(!run.gpu.deterministic),
            run.gpu.cudnn_benchmark.value_or(!run.gpu.deterministic), run.gpu.cuda_graphs, run.gpu.fused_norm};
}

Workspace::Workspace(std::string device, int threads, GpuMode mode) : settings_{std::move(device), threads, mode} {
    if (settings_.device != "cpu") torch();
}

Workspace::~Workspace() = default;

TorchWorkspace& Workspace::torch() {
    if (!torch_) torch_ = torch_library().make_workspace(settings_);
    return *torch_;
}

void Workspace::limit_features(std::uint64_t bytes) {
    settings_.feature_bytes = bytes;
    if (torch_) torch_->limit_features(bytes);
}

Workspace::Graphs Workspace::graphs() const { return torch_ ? torch_->graphs() : Graphs{}; }

bool Workspace::in_place() const { return torch_ ? torch_->in_place() : true; }

std::shared_ptr<LeanMemory> Workspace::lean_memory() {
    if (!lean_) lean_ = std::make_shared<LeanMemory>();
    return lean_;
}

}  // namespace hopscotch
