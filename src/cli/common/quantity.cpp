// SPDX-License-Identifier: Apache-2.0
#include "cli/common/quantity.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <string>

#include "core/error.hpp"

namespace hopscotch {
namespace {

struct Scale {
    std::string_view unit;
    double factor;
};
constexpr Scale k_bandwidths[] = {{"kbit", 125}, {"mbit", 125e3}, {"gbit", 125e6}, {"tbit", 125e9},
                                  {"kb/s", 1e3}, {"mb/s", 1e6},   {"gb/s", 1e9}};
constexpr double k_slowest = 125, k_fastest = 12.5e12;  // 1kbit, 100tbit
constexpr Scale k_durations[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};

std::string lower(std::string_view text) {
    std::string out(text);
    for (auto& letter : out)
        if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    return out;
}

std::optional<double> parse(std::string_view text, std::span<Scale const> scales) {
    double number = 0;
    auto const parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    if (parsed.ec != std::errc() || !std::isfinite(number) || number < 0) return std::nullopt;
    auto unit = std::string_view(parsed.ptr, static_cast<std::size_t>(text.data() + text.size() - parsed.ptr));
    while (unit.starts_with(' ')) unit.remove_prefix(1);
    for (auto const& scale : scales)
        if (lower(unit) == scale.unit) return number * scale.factor;
    return std::nullopt;
}

}  // namespace

double parse_bandwidth(std::string_view text, std::string_view option) {
    auto const bits = lower(text).ends_with("bit/s") ? text.substr(0, text.size() - 2) : text;
    auto const value = parse(bits, k_bandwidths);
    // "1Gb" may mean either, so that bytes need their /s and bits their name.
    if (!value || *value <= 0)
        throw ConfigError(
            fmt::format("{}: \"{}\" is not a bandwidth; write for example 1gbit, 100mbit or 12.5GB/s", option, text));
    if (*value < k_slowest || *value > k_fastest)
        throw ConfigError(fmt::format("{}: \"{}\" is out of range (1kbit to 100tbit a second)", option, text));
    return *value;
}

double parse_duration(std::string_view text, std::string_view option) {
    if (text == "0") return 0;
    auto const value = parse(text, k_durations);
    if (!value)
        throw ConfigError(fmt::format("{}: \"{}\" is not a duration; write for example 0.1ms, 20us or 1s", option, text));
    return *value;
}

}  // namespace hopscotch
