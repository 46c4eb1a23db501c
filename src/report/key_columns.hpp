// SPDX-License-Identifier: Apache-2.0
// The searched keys of a run as columns of numbers: for tables, pictures and importance.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace hopscotch {

struct RunResults;

struct KeyColumn {
    std::string path, name;  // name: the last word of the path, or the path where two end alike
    bool numeric = false;    // a range; else one of the categories
    bool log = false, whole = false;
    double low = 0, high = 0;  // of the range
    std::optional<double> step;
    std::vector<std::string> categories;        // numbers in their order, others as they first appear
    std::vector<std::optional<double>> values;  // by RunResults::groups: the number, or that of the category; none: inactive
    std::vector<std::string> texts;             // likewise, for people
};

// all: every key of the space. varied: keys with at least two values.
enum class KeyColumns { all, varied };
std::vector<KeyColumn> key_columns(RunResults const& data, KeyColumns which);

}  // namespace hopscotch
