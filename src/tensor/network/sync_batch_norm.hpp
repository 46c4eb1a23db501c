// SPDX-License-Identifier: Apache-2.0
// Batch norm with the statistics of all trainers' rows of a step (torch.nn.SyncBatchNorm): K parts of a batch give the same
// result as the whole batch. A trainer's loss is the mean over its own part, and gradients are combined by rows afterwards,
// so the sums of the backward pass are weighted by rows too; torch's are only right for equal parts.
#pragma once
#include <ATen/core/Tensor.h>

#include "model/lean/group_calls.hpp"

namespace hopscotch {

struct NormTensors {
    at::Tensor const &weight, &bias;                    // [channels]
    at::Tensor const &running_mean, &running_variance;  // updated: momentum 0.1, unbiased variance over all rows
};

// Training only. x: [rows, channels, ...]. Three sums a call: two forward, one in the backward pass, until which `sum` must
// live.
at::Tensor sync_batch_norm(at::Tensor const& x, NormTensors const& tensors, SumOverGroup const& sum);

}  // namespace hopscotch
