// SPDX-License-Identifier: Apache-2.0
// The character between two cells: its name for users, and a guess from a record.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace hopscotch {

// --delimiter of a command line: one character, or the word tab. Throws ConfigError.
char parse_delimiter(std::string const& text);

// "choose --delimiter tab" if the only cell of a record has a character that often separates cells; else "".
std::string other_delimiter(std::vector<std::string_view> const& record, char delimiter);

}  // namespace hopscotch
