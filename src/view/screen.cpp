// SPDX-License-Identifier: Apache-2.0
#include "view/screen.hpp"

#include <fmt/format.h>

namespace hopscotch {
namespace {

// Wide characters may make a line longer than counted: without wrapping it still takes one row.
constexpr std::string_view k_no_wrap = "\x1b[?7l", k_wrap = "\x1b[?7h";
constexpr std::string_view k_rest_of_line = "\x1b[K", k_all_below = "\x1b[J";

}  // namespace

void Screen::draw(std::vector<std::string> const& lines) {
    std::string out(k_no_wrap);
    out += "\r";
    out += k_rest_of_line;
    for (auto const& line : lines) {
        out += "\r\n";
        out += line;
        out += k_rest_of_line;
    }
    out += k_all_below;
    if (!lines.empty()) out += fmt::format("\x1b[{}A", lines.size());
    out += "\r";
    out += k_wrap;
    write_(out);
    drawn_ = true;
}

void Screen::erase() {
    if (drawn_) write_(fmt::format("\r{}", k_all_below));
    drawn_ = false;
}

}  // namespace hopscotch
