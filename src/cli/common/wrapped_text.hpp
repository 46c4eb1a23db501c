// SPDX-License-Identifier: Apache-2.0
// Text for a window: long lines continue in the next line.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace hopscotch {

// Breaks lines of more than `columns` characters at spaces. The rest of a line begins under its last column: after the last
// gap of two spaces or more, such as between an option and its description. A longer word stays whole.
std::string wrapped(std::string_view text, std::size_t columns);

}  // namespace hopscotch
