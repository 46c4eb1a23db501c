// SPDX-License-Identifier: Apache-2.0
// Finds the features and the labels among the arrays of a file, by their names. Pure.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "data/import/array/array_import.hpp"

namespace hopscotch {

struct ArrayPair {
    std::string features, labels;
    Split split = Split::train;  // "x_test", "test/x": rows that the source keeps apart
};

// whole: only names such as "x" and "train_images" match. part: every name is one or the other; "digits_labels_2" is labels.
enum class NameMatch { whole, part };

// The pairs to import: the ones that options name, else the ones found by name; at most one a split, that of the training
// rows first. Throws ConfigError that lists the names: no array or several arrays fit, or a named array does not exist.
std::vector<ArrayPair> pair_arrays(std::vector<std::string> const& names, NameMatch match,
                                   ImportArraysOptions const& options, std::string const& where);

// The reason for this choice: "found by their names", for the account.
std::string_view why_chosen(ImportArraysOptions const& options, std::vector<std::string> const& names, NameMatch match);

Json arrays_json(std::vector<ArrayPair> const& pairs);  // for provenance

}  // namespace hopscotch
