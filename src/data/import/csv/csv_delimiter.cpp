// SPDX-License-Identifier: Apache-2.0
#include "data/import/csv/csv_delimiter.hpp"

#include <fmt/format.h>

#include "core/error.hpp"

namespace hopscotch {

char parse_delimiter(std::string const& text) {
    if (text == "tab" || text == "\\t") return '\t';
    constexpr std::string_view others = "\"\r\n";
    if (text.size() != 1 || others.find(text[0]) != others.npos)
        throw ConfigError(fmt::format("--delimiter '{}': must be one character, such as ';', or the word tab", text));
    return text[0];
}

std::string other_delimiter(std::vector<std::string_view> const& record, char delimiter) {
    constexpr std::string_view usual = ";\t|,";
    if (record.size() != 1) return "";
    for (auto const each : usual)
        if (each != delimiter && record[0].find(each) != record[0].npos)
            return each == '\t' ? "choose --delimiter tab" : fmt::format("choose --delimiter '{}'", each);
    return "";
}

}  // namespace hopscotch
