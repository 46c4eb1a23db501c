// SPDX-License-Identifier: Apache-2.0
// Looks up values in a document that another version may have written. A missing value is not an error.
#pragma once
#include <optional>
#include <string_view>

#include "core/json.hpp"

namespace hopscotch {

// A value at a dotted path of nested objects: null if there is none. The path of a searched value is one key that contains
// dots.
Json const* find_path(Json const& json, std::string_view dotted_path);

// The number under this key; none if the key is absent or null.
std::optional<double> number_in(Json const& json, std::string_view key);

}  // namespace hopscotch
