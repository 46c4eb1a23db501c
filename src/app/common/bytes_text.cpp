// SPDX-License-Identifier: Apache-2.0
#include "app/common/bytes_text.hpp"

#include <fmt/format.h>

namespace hopscotch {

std::string bytes_text(std::uint64_t bytes) {
    if (bytes < 1000) return fmt::format("{} B", bytes);
    double value = static_cast<double>(bytes);
    for (auto const* unit : {"kB", "MB", "GB"})
        if ((value /= 1000) < 1000) return fmt::format("{:.1f} {}", value, unit);
    return fmt::format("{:.1f} TB", value / 1000);
}

}  // namespace hopscotch
