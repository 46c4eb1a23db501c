// SPDX-License-Identifier: Apache-2.0
// Scores of outputs, taken where the outputs are: on a GPU only sums come to the host, once for all batches.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace hopscotch {

class Evaluation;

class OutputScores {
public:
    // outputs: [rows, classes] float32; labels: [rows]. Adds the same as Evaluation::add_labels for more than two classes. A
    // row with a NaN counts as a wrong prediction of some class. Launches only; an exception leaves the sums as they were.
    void add_labels(at::Tensor const& outputs, at::Tensor const& labels);

    // outputs: [rows, tokens, vocabulary] float32; tokens: [rows, tokens], the next ones. A row's scores are the means over
    // its tokens.
    void add_tokens(at::Tensor const& outputs, at::Tensor const& tokens);

    // Adds the batches one by one in order, and forgets them. Waits for the device.
    void move_into(Evaluation& sums);

private:
    struct Sums {
        std::int64_t rows = 0;
        double factor = 1;
        at::Tensor values;  // [3] double: loss, correct, top 5; times the factor
    };
    std::vector<Sums> batches_;
    at::Tensor classes_;  // [3, classes]: rows right, predicted, labelled
};

}  // namespace hopscotch
