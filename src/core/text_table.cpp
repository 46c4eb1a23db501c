// SPDX-License-Identifier: Apache-2.0
#include "core/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hopscotch {

std::string text_table(std::vector<std::vector<std::string>> const& rows, std::size_t columns) {
    std::vector<std::size_t> widths(rows.front().size(), 0);
    for (auto const& row : rows)
        for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
    std::string out;
    for (std::size_t first = 1, last = 1; first < widths.size(); first = last) {
        auto used = widths[0];
        for (last = first; last < widths.size(); ++last) {
            if (last > first && used + 2 + widths[last] > columns) break;
            used += 2 + widths[last];
        }
        if (first > 1) out += "\n";
        for (auto const& row : rows) {
            auto line = fmt::format("{:<{}}", row[0], widths[0]);
            for (auto c = first; c < last; ++c) line += fmt::format("  {:>{}}", row[c], widths[c]);
            line.erase(line.find_last_not_of(' ') + 1);
            out += line + "\n";
        }
    }
    return out;
}

}  // namespace hopscotch
