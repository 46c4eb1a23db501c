// SPDX-License-Identifier: Apache-2.0
// How validation shards are cut: batches of a fixed size, whatever the trial trains with, so that pieces and trainers
// change no bit.
#pragma once
#include <algorithm>
#include <cstdint>

#include "data/batches.hpp"

namespace hopscotch {

inline constexpr std::int64_t k_evaluation_batch = 256;

inline std::int64_t count_evaluation_batches(std::int64_t rows) {
    return (rows + k_evaluation_batch - 1) / k_evaluation_batch;
}

inline BatchRange evaluation_rows(std::int64_t rows, std::int64_t batch) {
    auto const first = batch * k_evaluation_batch;
    return {first, std::min(k_evaluation_batch, rows - first)};
}

}  // namespace hopscotch
