// SPDX-License-Identifier: Apache-2.0
// The numbers that a captured step reads anew at each replay. They lie in memory of the device, at one address for all
// trials of a trainer. So a graph that one trial has captured also trains the others of its structure. Kernels and their
// tests on a CPU share it.
#pragma once
#include <cstdint>

#include "model/gpu/gather_element.hpp"

namespace hopscotch {

// Of one update. corrections: Adam's, for the number of the update.
struct StepEntry {
    float lr = 0;
    float correction1 = 1, correction2_root = 1;  // 1 - beta1^n, sqrt(1 - beta2^n)
};

// Of a trial. The rests are 1 - x, rounded once.
struct UpdateNumbers {
    float weight_decay = 0, momentum = 0, epsilon = 0;
    float beta1 = 0, beta1_rest = 1, beta2 = 0, beta2_rest = 1;
    float alpha = 0, alpha_rest = 1;
    float averaged_rest = 1;              // 1 - train.ema
    float clip_value = 0, clip_norm = 0;  // if they are on
    bool operator==(UpdateNumbers const&) const = default;
};

// Of a launch of one or several steps.
struct StepLaunch {
    static constexpr std::uint32_t k_most = 16;
    std::uint32_t batch = 0;  // of the first step: its number in the pass
    std::uint32_t step = 0;   // of this launch, the one that is due; the last kernel of a step adds 1
    StepEntry steps[k_most];
};

struct StepBlock {
    StepLaunch launch;
    UpdateNumbers numbers;
    AnswerGather gather;       // of the pass's first batch
    std::uint32_t stride = 0;  // rows from one batch to the next
};

// The size of a batch that is gathered: it decides how the kernels are launched.
struct GatherSize {
    std::uint32_t rows = 0, row_size = 0, answers = 1;  // answers of a row
};

#ifdef __CUDACC__
#define HOPSCOTCH_BOTH __host__ __device__
#else
#define HOPSCOTCH_BOTH
#endif

// The gather of the batch that is due, of this many rows.
HOPSCOTCH_BOTH inline AnswerGather due_batch(StepBlock const& block, std::uint32_t rows) {
    auto out = block.gather;
    auto const first = static_cast<std::size_t>(block.launch.batch + block.launch.step) * block.stride;
    out.features.rows += first;
    if (out.features.plans != nullptr) out.features.plans += first * (out.features.height + out.features.width);
    out.features.count = rows;
    return out;
}

#undef HOPSCOTCH_BOTH

}  // namespace hopscotch
