// SPDX-License-Identifier: Apache-2.0
#include "cli/common/wrapped_text.hpp"

#include <algorithm>

namespace hopscotch {
namespace {

std::size_t indent_of(std::string_view line, std::size_t columns) {
    auto const gap = line.substr(0, columns).rfind("  ");
    auto const indent = gap == line.npos ? 0 : line.find_first_not_of(' ', gap);
    return indent <= columns / 2 ? indent : 0;
}

}  // namespace

std::string wrapped(std::string_view text, std::size_t columns) {
    std::string out;
    while (!text.empty()) {
        auto const end = std::min(text.find('\n'), text.size());
        std::string line(text.substr(0, end));
        auto const indent = indent_of(line, columns);
        while (line.size() > columns) {
            auto at = line.rfind(' ', columns);
            if (at == line.npos || at <= indent) at = line.find(' ', columns);
            if (at == line.npos) break;
            out += line.substr(0, at) + '\n';
            line.replace(0, at + 1, indent, ' ');
        }
        out += line;
        if (end < text.size()) out += '\n';
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

}  // namespace hopscotch
