// SPDX-License-Identifier: Apache-2.0
// The device that the models of one trainer share. Nothing in a workspace belongs to a trial.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace hopscotch {

struct LeanMemory;
struct RunConfig;

// How a GPU computes. A CPU ignores it.
struct GpuMode {
    bool deterministic = true;  // run.deterministic
    bool tf32 = false;          // run.tf32
    bool benchmark = false;     // run.cudnn_benchmark
    bool graphs = true;         // run.cuda_graphs
    bool fused_norm = true;     // run.fused_norm
};
GpuMode gpu_mode(RunConfig const& run);  // settings that are null follow run.deterministic

struct WorkspaceSettings {
    std::string device;
    int threads = 1;  // torch's intra-op threads, for this process
    GpuMode mode = {};
    std::uint64_t feature_bytes = UINT64_MAX;  // Workspace::limit_features
};

struct StepGraphCounts {
    std::size_t kept = 0;              // parts of steps that are launched as one CUDA graph
    std::vector<std::string> refused;  // the reasons why others are not
};

// What LibTorch's step needs of a workspace.
class TorchWorkspace {
public:
    virtual ~TorchWorkspace() = default;
    virtual bool in_place() const = 0;  // models train in the host's memory
    virtual void limit_features(std::uint64_t bytes) = 0;
    virtual StepGraphCounts graphs() const = 0;
};

// One per trainer. One thread at a time uses it.
class Workspace {
public:
    Workspace(std::string device, int threads, GpuMode mode = {});
    ~Workspace();

    using Graphs = StepGraphCounts;
    Graphs graphs() const;

    // Of the outputs of frozen layers (model.cache_frozen), in the host's memory. At first: no limit.
    void limit_features(std::uint64_t bytes);

    bool in_place() const;                      // models train in the host's memory
    std::shared_ptr<LeanMemory> lean_memory();  // made at the first call

    struct Impl;          // LibTorch's part: tensor/feed/workspace_impl.hpp, the one place that can call impl()
    inline Impl& impl();  // on a CPU made at the first call; loads LibTorch

private:
    TorchWorkspace& torch();

    WorkspaceSettings settings_;
    std::shared_ptr<LeanMemory> lean_;
    std::unique_ptr<TorchWorkspace> torch_;
};

}  // namespace hopscotch
