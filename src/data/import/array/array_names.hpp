// SPDX-License-Identifier: Apache-2.0
// Which of a file's arrays are features and which are labels, told by their names. Pure.
#pragma once
#include <string>
#include <vector>

#include "data/import/array/array_import.hpp"

namespace hopscotch {

struct ArrayPair {
    std::string features, labels;
    Split split = Split::train;  // "x_test", "test/x": rows that the source keeps apart
};

// whole: "x", "train_images"; others are left alone. part: every name is one or the other, and "digits_labels_2" is labels.
enum class NameMatch { whole, part };

// The pairs to import: the ones that options name, else the ones found by name; at most one a split, that of the training
// rows first. Throws ConfigError with the names there are: nothing or several things fit, or a named one is not there.
std::vector<ArrayPair> pair_arrays(std::vector<std::string> const& names, NameMatch match,
                                   ImportArraysOptions const& options, std::string const& where);

Json arrays_json(std::vector<ArrayPair> const& pairs);  // for provenance

}  // namespace hopscotch
