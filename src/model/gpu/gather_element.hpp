// SPDX-License-Identifier: Apache-2.0
// One element of a batch that is gathered from a shard: the body of the kernels in gather_kernels.cu, and of their test on a
// CPU, where it equals Normaliser::gather and Augmenter::gather to the bit. Plain pointers, all to memory of one device.
#pragma once
#include <cstddef>
#include <cstdint>

#include "data/batches/compact_plan.hpp"

#ifdef __CUDACC__
#define HOPSCOTCH_BOTH __host__ __device__  // a macro, as the language has no other way to say it only where it is needed
#else
#define HOPSCOTCH_BOTH
#endif

namespace hopscotch {

struct FeatureGather {
    std::uint8_t const* bytes = nullptr;  // the shard's features [rows, row_size]: one of the two, as they are stored
    float const* floats = nullptr;
    std::uint32_t const* rows = nullptr;   // [count] of the shard
    std::uint16_t const* plans = nullptr;  // [count, height + width] (data/batches/compact_plan.hpp); null: rows as they are
    float const* scale = nullptr;          // one number for every run of elements
    float const* shift = nullptr;
    float const* fill = nullptr;  // by channel, the value that fills holes; if there are plans
    std::uint32_t count = 0, row_size = 0, run = 1, height = 0, width = 0;
    float* out = nullptr;  // [count, row_size]
    bool operator==(FeatureGather const&) const = default;
};

// Labels, or with tokens > 1 the next token of every position; or targets.
struct AnswerGather {
    FeatureGather features;                // where tokens come from
    std::int64_t const* labels = nullptr;  // of the shard: one of the two
    float const* targets = nullptr;
    std::uint32_t width = 1;            // answers of a row
    std::int64_t* label_out = nullptr;  // [count, width]: the one that belongs
    float* target_out = nullptr;
    bool operator==(AnswerGather const&) const = default;
};

// Rounded twice, as the host does it: a compiler would fuse this into one rounding on a GPU.
HOPSCOTCH_BOTH inline float scaled(float x, float scale, float shift) {
#ifdef __CUDA_ARCH__
    return __fadd_rn(__fmul_rn(x, scale), shift);
#else
    return x * scale + shift;
#endif
}

HOPSCOTCH_BOTH inline float stored_at(FeatureGather const& g, std::uint32_t row, std::uint32_t element) {
    auto const at = static_cast<std::size_t>(row) * g.row_size + element;
    return g.bytes != nullptr ? static_cast<float>(g.bytes[at]) : g.floats[at];
}

HOPSCOTCH_BOTH inline float feature_at(FeatureGather const& g, std::uint32_t position, std::uint32_t element) {
    auto const part = element / g.run;
    if (g.plans == nullptr) return scaled(stored_at(g, g.rows[position], element), g.scale[part], g.shift[part]);
    auto const* const plan = g.plans + static_cast<std::size_t>(position) * (g.height + g.width);
    auto const pixel = element - part * g.run;  // a run is a channel here
    unsigned const y = plan[pixel / g.width], x = plan[g.height + pixel % g.width];
    if (((y & x) >> k_plan_place_bits) != 0) return g.fill[part];
    auto const from = part * g.run + (y & k_plan_place) * g.width + (x & k_plan_place);
    return scaled(stored_at(g, g.rows[position], from), g.scale[part], g.shift[part]);
}

HOPSCOTCH_BOTH inline void write_answer(AnswerGather const& g, std::uint32_t position, std::uint32_t answer) {
    auto const row = g.features.rows[position];
    auto const out = static_cast<std::size_t>(position) * g.width + answer;
    if (g.targets != nullptr)
        g.target_out[out] = g.targets[static_cast<std::size_t>(row) * g.width + answer];
    else if (answer + 1 < g.width)
        g.label_out[out] = static_cast<std::int64_t>(feature_at(g.features, position, answer + 1));
    else
        g.label_out[out] = g.labels[row];
}

}  // namespace hopscotch

#undef HOPSCOTCH_BOTH
