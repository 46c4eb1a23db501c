// SPDX-License-Identifier: Apache-2.0
// What a trainer's models share: the device, the generator of dropout masks, and buffers that grow to the largest model.
// Buffers come from torch's allocator, which aligns to 64 bytes: bits do not depend on where a batch lies.
#pragma once
#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include "model/batch_buffers.hpp"
#include "model/device_feed.hpp"
#include "model/trial_model.hpp"

namespace hopscotch {

struct Workspace::Impl {
    Impl(std::string const& device_name, int threads);

    // Torch keeps its thread count per thread as well: every thread that computes calls this first.
    void enter() const;

    // A view of the first n elements of a shared buffer, whose old contents are lost when it grows.
    at::Tensor gradient(std::int64_t n);
    at::Tensor accumulated(std::int64_t n);  // gradients of several batches

    at::Device device;
    at::Generator noise;  // reseeded for every step, so it carries nothing from one trial to the next
    BatchBuffers batches;                     // on a CPU
    std::unique_ptr<DeviceFeed> device_feed;  // null on a CPU

private:
    at::Tensor gradient_, accumulated_;
};

}  // namespace hopscotch
