// SPDX-License-Identifier: Apache-2.0
#include "data/import/foreign_names.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/characters.hpp"
#include "core/error.hpp"

namespace hopscotch {

std::string readable_name(std::string_view text) {
    if (is_utf8(text)) return std::string(text);
    std::string out;
    while (!text.empty()) {
        std::size_t bytes = 4;  // of the character that the text begins with; 0: of none
        while (bytes > 0 && (bytes > text.size() || !is_utf8(text.substr(0, bytes)))) --bytes;
        if (bytes > 0)
            out += text.substr(0, bytes);
        else
            out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
        text.remove_prefix(std::max<std::size_t>(bytes, 1));
    }
    return out;
}

void require_utf8(std::string_view name, std::string_view place, std::string_view what, std::string_view cure) {
    if (is_utf8(name)) return;
    throw DataError(fmt::format("{}: {} '{}' is not UTF-8; {}", readable_name(place), what, readable_name(name), cure));
}

}  // namespace hopscotch
