// SPDX-License-Identifier: Apache-2.0
// Sizes and times for people.
#pragma once
#include <cstdint>
#include <string>

namespace hopscotch {

std::string bytes_text(std::uint64_t bytes);  // "17 B", "1.5 kB", "34.2 GB": in thousands
std::string duration(double seconds);         // 12s, 3m04s, 2h30m

}  // namespace hopscotch
