// SPDX-License-Identifier: Apache-2.0
// Batch norm of the lean step over the rows of all trainers of a step, as torch.nn.SyncBatchNorm: with one trainer, as
// torch.nn.BatchNorm1d. Sums and statistics are in double. Matrices are contiguous, by rows.
#pragma once
#include <cstdint>
#include <vector>

#include "model/lean/group_calls.hpp"

namespace hopscotch {

// Of one layer; [columns] each.
struct NormValues {
    float const *weight, *bias;
    float *mean, *variance;  // running
    std::int64_t* batches;   // trained
};

struct NormGradients {
    float const *weight, *normalised;
    float* gradient;                         // of train()'s out; becomes that of its x before the call
    float *weight_gradient, *bias_gradient;  // written
};

class LeanBatchNorm {
public:
    explicit LeanBatchNorm(std::int64_t columns);

    // x becomes the normalised x, which backward() reads, and out weight x + bias. sum: null: of the own rows.
    void train(NormValues const& values, std::int64_t rows, float* x, float* out, SumOverGroup const* sum);
    void evaluate(NormValues const& values, std::int64_t rows, float* x) const;

    void backward(NormGradients const& gradients, std::int64_t rows, SumOverGroup const* sum);

private:
    std::int64_t columns_;
    double all_rows_ = 0;       // of all trainers, in the last train()
    std::vector<double> sums_;  // [2, columns], and the rows
    std::vector<float> mean_, inverse_, shift_;
};

}  // namespace hopscotch
