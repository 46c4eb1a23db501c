// SPDX-License-Identifier: Apache-2.0
// The host's side of a StepBlock: it writes the numbers of the trial, of a launch and of a pass to where captured steps read
// them. One per workspace of a GPU. On a CPU there is none; kernels then get numbers as arguments.
#pragma once
#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <span>

#include "model/gpu/step_block.hpp"

namespace hopscotch {

class StepDevice;

class StepNumbers {
public:
    StepNumbers(std::unique_ptr<StepDevice> device, at::Device place);
    ~StepNumbers();

    // Each costs a small kernel, unless the device has these numbers already.
    void load(UpdateNumbers const& numbers);
    void gather_from(AnswerGather const& first_batch, std::uint32_t stride);
    // Writes always: the steps of a launch have advanced the count. batch: number in the pass; at most StepLaunch::k_most
    // entries.
    void launch(std::uint32_t batch, std::span<StepEntry const> entries);

    StepBlock const* block() const { return reinterpret_cast<StepBlock const*>(memory_.const_data_ptr()); }
    StepDevice& device() { return *device_; }
    void gather(GatherSize const& size);
    void advance();

    // Of the trial that trains: zeroed with each unit.
    at::Tensor const& loss_sum() const { return loss_sum_; }
    at::Tensor const& clip_value() const { return clip_value_; }
    at::Tensor const& clip_norm() const { return clip_norm_; }

private:
    StepBlock* address() { return reinterpret_cast<StepBlock*>(memory_.mutable_data_ptr()); }

    std::unique_ptr<StepDevice> device_;
    at::Tensor memory_, loss_sum_, clip_value_, clip_norm_;
    std::optional<UpdateNumbers> loaded_;
    struct Gather {
        AnswerGather first_batch;
        std::uint32_t stride;
    };
    std::optional<Gather> gather_;
};

// Null on a CPU.
std::unique_ptr<StepNumbers> make_step_numbers(at::Device device);

}  // namespace hopscotch
