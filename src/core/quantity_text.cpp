// SPDX-License-Identifier: Apache-2.0
#include "core/quantity_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hopscotch {

std::string bytes_text(std::uint64_t bytes) {
    if (bytes < 1000) return fmt::format("{} B", bytes);
    double value = static_cast<double>(bytes);
    for (auto const* unit : {"kB", "MB", "GB"})
        if ((value /= 1000) < 1000) return fmt::format("{:.1f} {}", value, unit);
    return fmt::format("{:.1f} TB", value / 1000);
}

std::string duration(double seconds) {
    auto const s = static_cast<std::int64_t>(std::ceil(std::max(seconds, 0.0)));
    if (s < 60) return fmt::format("{}s", s);
    if (s < 3600) return fmt::format("{}m{:02}s", s / 60, s % 60);
    return fmt::format("{}h{:02}m", s / 3600, s % 3600 / 60);
}

}  // namespace hopscotch
