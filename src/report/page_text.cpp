// SPDX-License-Identifier: Apache-2.0
#include "report/page_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/characters.hpp"
#include "core/quantity_text.hpp"

namespace hopscotch {

std::string escaped(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        auto const size = shown_bytes(text);
        if (size == 0)
            out += "\xEF\xBF\xBD";
        else if (text[0] == '&')
            out += "&amp;";
        else if (text[0] == '<')
            out += "&lt;";
        else if (text[0] == '>')
            out += "&gt;";
        else if (text[0] == '"')
            out += "&quot;";
        else if (text[0] == '\'')
            out += "&#39;";
        else
            out += text.substr(0, size);
        text.remove_prefix(std::max<std::size_t>(1, size));
    }
    return out;
}

std::string cut_text(std::string_view text, std::size_t most) {
    if (text.size() <= most) return std::string(text);
    auto end = most < 3 ? 0 : most - 3;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    return std::string(text.substr(0, end)) + "...";
}

std::string short_number(double value) {
    if (!std::isfinite(value)) return "-";
    if (std::abs(value) >= 1e4 && std::abs(value) < 1e7) return fmt::format("{:.0f}", value);
    return fmt::format("{:.4g}", value);
}

std::string seconds_text(double seconds) {
    if (!std::isfinite(seconds) || seconds < 0) return "-";
    if (seconds < 1) return fmt::format("{:.2g} s", seconds);
    if (seconds < 60) return fmt::format("{:.3g} s", seconds);
    auto const whole = std::round(seconds);
    if (whole < 3600) return fmt::format("{:.0f} min {:02.0f} s", std::floor(whole / 60), std::fmod(whole, 60));
    if (whole < 48 * 3600.0)
        return fmt::format("{:.0f} h {:02.0f} min", std::floor(whole / 3600), std::floor(std::fmod(whole, 3600) / 60));
    return fmt::format("{:.3g} d", seconds / 86400);
}

std::string amount_text(double bytes) {
    return bytes >= 0 && bytes < 9e18 ? bytes_text(static_cast<std::uint64_t>(bytes)) : std::string("-");
}

}  // namespace hopscotch
