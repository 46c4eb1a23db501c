// SPDX-License-Identifier: Apache-2.0
// The first pass over arrays finds the labels, and whether they fit the task.
#pragma once
#include "data/import/array/array_dataset.hpp"

namespace hopscotch {

struct ArrayLabels {
    std::vector<std::uint32_t> classes;  // of each row of all parts in turn; targets: all 0
    std::size_t class_count = 1;
    std::vector<std::string> class_names;  // empty if the labels were 0..n-1
    std::int64_t outputs = 1;
};

// Throws ConfigError, DataError naming file and row: labels that do not fit the task, or are all the same.
ArrayLabels scan_array_labels(ImportArraysOptions const& options, std::vector<ArrayPart> const& parts);

// A row of numbers as targets. DataError names the row and the element that is not finite, or not 0 or 1 for a multilabel.
void read_targets(ArraySource const& labels, ByteView row, std::int64_t number, Task task, std::vector<double>& out);

}  // namespace hopscotch
