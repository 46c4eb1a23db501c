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

}  // namespace hopscotch
