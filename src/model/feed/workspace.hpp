// SPDX-License-Identifier: Apache-2.0
// The device that the models of one trainer share. Nothing in a workspace belongs to a trial.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace hopscotch {

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

// One per trainer.
class Workspace {
public:
    // Sets torch's intra-op threads and arithmetic for this process.
    Workspace(std::string device, int threads, GpuMode mode = {});
    ~Workspace();
    struct Impl;  // workspace_impl.hpp
    Impl& impl() { return *impl_; }

    // Of the outputs of frozen layers (model.cache_frozen), in the host's memory. At first: no limit.
    void limit_features(std::uint64_t bytes);

    struct Graphs {
        std::size_t kept = 0;              // parts of steps that are launched as one CUDA graph
        std::vector<std::string> refused;  // the reasons why others are not
    };
    Graphs graphs() const;

private:
    std::unique_ptr<Impl> impl_;
};

}  // namespace hopscotch
