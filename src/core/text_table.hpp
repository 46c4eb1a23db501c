// SPDX-License-Identifier: Apache-2.0
// A table of text. A narrow window gets the columns in several blocks, each with the first column. PURE.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace hopscotch {

// rows: the first is the head; all have as many cells as it. The first column is left-aligned, the others right-aligned.
std::string text_table(std::vector<std::vector<std::string>> const& rows, std::size_t columns);

}  // namespace hopscotch
