// SPDX-License-Identifier: Apache-2.0
// Characters of foreign text (UTF-8), before people see it on a terminal or a page.
#pragma once
#include <cstddef>
#include <string_view>

namespace hopscotch {

// The bytes of the character that begins this text, which is not empty. 0: the character must not be shown: it is broken
// UTF-8, a control character other than line end and tab, or it turns text round, as U+202E does. A name with such a
// character could look like another name ("Trojan Source", CVE-2021-42574).
std::size_t shown_bytes(std::string_view text);

bool is_utf8(std::string_view text);

}  // namespace hopscotch
