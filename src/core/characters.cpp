// SPDX-License-Identifier: Apache-2.0
#include "core/characters.hpp"

#include <cstdint>

namespace hopscotch {
namespace {

struct Character {
    std::size_t bytes = 0;  // 0: broken
    std::uint32_t code = 0;
};

Character first_character(std::string_view text) {
    auto const byte = [&](std::size_t i) -> std::uint32_t { return static_cast<unsigned char>(text[i]); };
    auto const first = byte(0);
    if (first < 0x80) return {1, first};
    std::size_t const size = first >= 0xf0 && first < 0xf5 ? 4 : first >= 0xe0 && first < 0xf0 ? 3 : first >= 0xc2 ? 2 : 0;
    if (size == 0 || first >= 0xf5 || text.size() < size) return {};
    auto code = first & (0x7fU >> size);
    for (std::size_t i = 1; i < size; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return {};
        code = (code << 6) | (byte(i) & 0x3f);
    }
    bool const overlong = code < (size == 3 ? 0x800U : size == 4 ? 0x10000U : 0x80U);
    bool const surrogate = code >= 0xd800 && code < 0xe000;
    return overlong || surrogate || code > 0x10ffff ? Character{} : Character{size, code};
}

bool is_control(std::uint32_t code) {
    if (code == '\n' || code == '\t') return false;
    bool const separator = code == 0x2028 || code == 0x2029;  // of lines and paragraphs
    bool const no_character = (code & 0xfffe) == 0xfffe;
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || separator || no_character;
}

bool turns_text(std::uint32_t code) {
    return code == 0x61c || code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069);
}

}  // namespace

std::size_t shown_bytes(std::string_view text) {
    auto const [bytes, code] = first_character(text);
    return is_control(code) || turns_text(code) ? 0 : bytes;
}

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        auto const bytes = first_character(text).bytes;
        if (bytes == 0) return false;
        text.remove_prefix(bytes);
    }
    return true;
}

}  // namespace hopscotch
