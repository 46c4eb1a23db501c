// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <string_view>

namespace hopscotch {

// The keys of "model" that are not arguments of the named model.
inline constexpr std::array<std::string_view, 6> k_model_keys{"name",      "file",   "init_from",
                                                              "init_mode", "freeze", "cache_frozen"};

}  // namespace hopscotch
