// SPDX-License-Identifier: Apache-2.0
// Texts of a report. PURE.
#pragma once
#include <string>
#include <string_view>

namespace hopscotch {

// For HTML, between tags and in attributes in double quotes. Control characters and bytes that are not UTF-8 become U+FFFD:
// names in run directories can hold anything.
std::string escaped(std::string_view text);

std::string cut_text(std::string_view text, std::size_t most);  // longer text ends in "..."; never within a character

std::string short_number(double value);    // 4 digits: "0.9722", "1.5e-05"; NaN: "-"
std::string seconds_text(double seconds);  // "0.42 s", "12.3 s", "4 min 05 s", "2 h 05 min", "3.2 d"
std::string amount_text(double bytes);     // "1.5 MB"; no such number: "-"

}  // namespace hopscotch
