// SPDX-License-Identifier: Apache-2.0
// Characters of foreign text (UTF-8), before people see it on a terminal or a page.
#pragma once
#include <cstddef>
#include <string_view>

namespace hopscotch {

// The bytes of the character that begins this text, which is not empty; 0: none that may be shown as it is. Those are broken
// UTF-8, control characters other than line end and tab, and characters that turn text round, as U+202E does: a name could
// pretend to be another ("Trojan Source", CVE-2021-42574).
std::size_t shown_bytes(std::string_view text);

bool is_utf8(std::string_view text);

}  // namespace hopscotch
