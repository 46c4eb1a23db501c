// SPDX-License-Identifier: Apache-2.0
// The training losses of the lean step, as torch.nn's with reduction "mean": each returns the mean over a batch and writes
// its gradient. Matrices are contiguous, by rows. All need AVX2 and FMA.
#pragma once
#include <cstdint>

namespace hopscotch {

struct LossShape {
    std::int64_t rows, columns;  // columns: classes, labels or targets
};

// weights: of the classes; null: all are 1.
struct ClassWeights {
    float const* weights = nullptr;
    double label_smoothing = 0;
};
double cross_entropy(LossShape const& shape, float const* outputs, std::int64_t const* labels, ClassWeights const& weights,
                     float* gradient);

// weights: of the positive answers of each column; null: all are 1.
double binary_cross_entropy(LossShape const& shape, float const* outputs, float const* answers, float const* weights,
                            float* gradient);

struct TargetError {
    enum class Kind { squared, huber, absolute, quantile } kind = Kind::squared;
    float parameter = 0;  // huber's delta, the quantile
};
double target_error(TargetError const& error, LossShape const& shape, float const* outputs, float const* targets,
                    float* gradient);

}  // namespace hopscotch
