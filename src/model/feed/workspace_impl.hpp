// SPDX-License-Identifier: Apache-2.0
// The device, the generator of dropout masks, and buffers that grow to the largest model: shared by a trainer's models.
// Buffers come from torch's allocator, which aligns to 64 bytes: bits do not depend on where a batch lies.
#pragma once
#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <string>

#include "model/feed/batch_buffers.hpp"
#include "model/feed/workspace.hpp"
#include "model/gpu/admission.hpp"
#include "model/network/noise.hpp"

namespace hopscotch {

class DeviceFeed;
struct StepGraphs;

struct Workspace::Impl {
    Impl(std::string const& device_name, int threads, GpuMode mode);
    ~Impl();

    // Torch keeps its thread count per thread as well: every thread that computes calls this first.
    void enter() const;

    // A view of the first n elements of a shared buffer, whose old contents are lost when it grows.
    at::Tensor gradient(std::int64_t n);
    at::Tensor accumulated(std::int64_t n);  // gradients of several batches

    // Of a GPU. The state that is bound: one block for all models, so that it lies at the same address whenever a model is
    // bound again, as a captured graph needs. `bound`: whose state that is.
    at::Tensor state(std::int64_t n);
    // Before a state of so many floats and its gradient are allocated, and batches of this kind trained: shards make room.
    // Throws DoesNotFit with the numbers.
    void admit(std::int64_t state, std::int64_t gradient, BatchKind const& kind);
    void make_room(std::int64_t bytes);
    void const* bound = nullptr;

    // A tensor that several models read and none writes, such as a frozen parameter: made by the first one that asks for
    // this name, and kept as long as any of them keeps it.
    at::Tensor shared(std::string const& name, std::function<at::Tensor()> const& make);

    // Where captured graphs read their batch, shaped like this one.
    at::Tensor graph_features(at::Tensor const& like);
    at::Tensor graph_answers(at::Tensor const& like);

    at::Device device;
    Noise noise;                              // seeded for every step: carries nothing from one trial to the next
    BatchBuffers batches;                     // on a CPU
    std::unique_ptr<DeviceFeed> device_feed;  // null on a CPU
    std::unique_ptr<Admission> admission;     // "

private:
    at::Tensor gradient_, accumulated_, state_, graph_features_, graph_answers_;
    std::map<std::string, c10::weak_intrusive_ptr<at::TensorImpl, at::UndefinedTensorImpl>> shared_;

public:
    std::unique_ptr<StepGraphs> graphs;  // null: steps are launched kernel by kernel. Last: it must be destroyed before the
                                         // members that it points at
};

}  // namespace hopscotch
