// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace hopscotch {

// "1 category", "3 categories".
inline std::string counted(std::int64_t count, std::string_view one, std::string_view many) {
    return std::to_string(count) + " " + std::string(count == 1 ? one : many);
}

// "1 trial", "3 trials".
inline std::string counted(std::int64_t count, std::string_view noun) {
    return counted(count, noun, std::string(noun) + "s");
}

// Ascending numbers of trials: "7", "3-5", or "3+2": 3 and two others, which do not follow it.
inline std::string numbers_text(std::int64_t first, std::int64_t last, std::int64_t count) {
    if (count == 1) return std::to_string(first);
    bool const in_a_row = last - first + 1 == count;
    return std::to_string(first) + (in_a_row ? "-" + std::to_string(last) : "+" + std::to_string(count - 1));
}

}  // namespace hopscotch
