// SPDX-License-Identifier: Apache-2.0
// The device, the generator of dropout masks, and buffers that grow to the largest model: shared by a trainer's models.
// Buffers come from torch's allocator, which aligns to 64 bytes: bits do not depend on where a batch lies.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "model/trial/workspace.hpp"
#include "tensor/feed/batch_buffers.hpp"
#include "tensor/gpu/admission.hpp"
#include "tensor/network/noise.hpp"

namespace hopscotch {

class ComputeStream;
class CopyDevice;
class DeviceFeed;
class FeatureStore;
class NormDevice;
class StateSlots;
class StepNumbers;
struct AnswerGather;
struct StepGraphs;

// What a trainer with a GPU has; null on a CPU, unless a test sets it. Members are destroyed from the last to the first.
struct GpuTools {
    std::unique_ptr<DeviceFeed> device_feed;
    std::unique_ptr<StateSlots> slots;
    std::unique_ptr<Admission> admission;
    std::unique_ptr<NormDevice> norm;  // null too if run.fused_norm is false
    std::unique_ptr<CopyDevice> copies;
    std::unique_ptr<StepNumbers> numbers;
    std::unique_ptr<StepGraphs> graphs;  // null: steps are launched kernel by kernel. Points at members before it
};

struct Workspace::Impl final : TorchWorkspace {
    explicit Impl(WorkspaceSettings const& settings);
    ~Impl() override;

    // Torch keeps its thread count per thread as well: every thread that computes calls this first.
    void enter() const;
    void use_stream() const;  // before any work on the device, since a thread may serve several workspaces

    // A view of the first n elements of a shared buffer, whose old contents are lost when it grows. On a GPU the views of
    // the smaller buffer end then, and moves() counts that: a model of each width would else keep a block of its own.
    at::Tensor gradient(std::int64_t n);
    at::Tensor accumulated(std::int64_t n);  // gradients of several batches
    at::Tensor outputs(std::int64_t n);      // of a captured evaluation
    std::uint64_t moves() const { return moves_; }

    // Of a GPU. The state that is bound: one block for all models, so that it lies at the same address whenever a model is
    // bound again, as a captured graph needs. `bound`: whose state that is.
    at::Tensor state(std::int64_t n);
    // Before a state of this many floats and its gradient are allocated, and batches of this kind trained: shards make room.
    // Throws DoesNotFit with the numbers.
    void admit(std::int64_t state, std::int64_t gradient, BatchKind const& kind);
    void make_room(std::int64_t bytes);
    void const* bound = nullptr;
    std::uint64_t stores = 0;  // number of times that a state was copied from the host into the block

    // A tensor that several models read and none writes, such as a frozen parameter: made by the first one that asks for
    // this name, and kept as long as any of them keeps it.
    at::Tensor shared(std::string const& name, std::function<at::Tensor()> const& make);

    // cuDNN times its algorithms for a shape that comes often. For other shapes (the last batch of a shard, evaluation) that
    // takes longer than it gains. Does nothing without run.cudnn_benchmark.
    enum class Shape { common, rare };
    void expect(Shape shape) const;

    void steps_gather(AnswerGather const& first_batch, std::uint32_t stride) const;  // StepNumbers::gather_from

    // Models train in the host's memory: a CPU, unless a test gives it slots.
    bool in_place() const override { return device.is_cpu() && !gpu.slots; }
    void limit_features(std::uint64_t bytes) override { features.bytes = bytes; }
    StepGraphCounts graphs() const override;

    at::Device device;
    std::unique_ptr<ComputeStream> stream;  // null on a CPU
    OldViews old_views;
    bool benchmark = false;  // run.cudnn_benchmark
    Noise noise;             // seeded for every step: carries nothing from one trial to the next
    BatchBuffers batches;    // on a CPU

private:
    struct Blocks {
        at::Tensor gradient, accumulated, outputs, state;
    };

    at::Tensor block(at::Tensor& buffer, std::int64_t floats);

    std::uint64_t moves_ = 0;
    Blocks blocks_;
    std::map<std::string, c10::weak_intrusive_ptr<at::TensorImpl, at::UndefinedTensorImpl>> shared_;

public:
    struct {
        std::uint64_t bytes;                  // Workspace::limit_features
        std::shared_ptr<FeatureStore> store;  // null until a trial needs one
    } features;
    GpuTools gpu;  // last: destroyed before the members that it points at
};

inline Workspace::Impl& Workspace::impl() { return static_cast<Impl&>(torch()); }

}  // namespace hopscotch
