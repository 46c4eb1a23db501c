// SPDX-License-Identifier: Apache-2.0
// Sizes for people.
#pragma once
#include <cstdint>
#include <string>

namespace hopscotch {

std::string bytes_text(std::uint64_t bytes);  // "17 B", "1.5 kB", "34.2 GB": in thousands

}  // namespace hopscotch
