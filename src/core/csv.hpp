// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

namespace hopscotch {

// RFC 4180: a field with a comma, a quote or a line break is quoted, and its quotes are doubled.
inline std::string csv_field(std::string_view field) {
    if (field.find_first_of(",\"\r\n") == field.npos) return std::string(field);
    std::string out = "\"";
    for (char const c : field) out += c == '"' ? std::string("\"\"") : std::string(1, c);
    return out + "\"";
}

}  // namespace hopscotch
