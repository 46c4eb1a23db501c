// SPDX-License-Identifier: Apache-2.0
#include "report/scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hopscotch {
namespace {

constexpr int k_most_ticks = 12;

// 1, 2 or 5 times a power of ten.
double round_step(double least) {
    double const power = std::pow(10, std::floor(std::log10(least)));
    for (double const factor : {1.0, 2.0, 5.0})
        if (factor * power >= least * (1 - 1e-9)) return factor * power;
    return 10 * power;
}

std::string tick_text(double value, double step) {
    if (std::abs(value) < step * 1e-6) return "0";
    if (std::abs(value) >= 1e6 || std::abs(value) < 1e-4) return fmt::format("{:.4g}", value);
    auto const decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 8);
    return fmt::format("{:.{}f}", value, decimals);
}

}  // namespace

AxisScale::AxisScale(ScaleKind kind, double low, double high) : kind_(kind), low_(low), high_(high) {
    constexpr double most = 1e300;
    low_ = std::isfinite(low_) ? std::clamp(low_, -most, most) : 0;
    high_ = std::isfinite(high_) ? std::clamp(high_, low_, most) : low_;
    if (low_ <= 0) kind_ = ScaleKind::linear;
}

AxisScale AxisScale::between(double from, double to) const {
    auto out = *this;
    out.from_ = from;
    out.to_ = to;
    return out;
}

double AxisScale::position(double value) const {
    if (!(value > low_)) return high_ > low_ ? 0 : 0.5;
    if (value >= high_) return high_ > low_ ? 1 : 0.5;
    if (is_log()) return (std::log(value) - std::log(low_)) / (std::log(high_) - std::log(low_));
    return (value / 2 - low_ / 2) / (high_ / 2 - low_ / 2);  // halves: the difference of huge numbers is finite
}

double AxisScale::at(double value) const {
    double const share = position(value);
    return from_ + (to_ - from_) * (std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0);
}

std::vector<Tick> AxisScale::linear_ticks(int about) const {
    double const span = high_ - low_;
    if (!(span > 0) || !std::isfinite(span) || span < std::max(std::abs(low_), std::abs(high_)) * 1e-12)
        return {{low_, short_number(low_)}};
    double const step = round_step(span / std::max(1, about));
    std::vector<Tick> out;
    double const first = std::ceil(low_ / step - 1e-9);
    for (int i = 0; i < k_most_ticks; ++i) {
        double const value = (first + i) * step;
        if (value > high_ + step * 1e-9) break;
        out.push_back({value, tick_text(value, step)});
    }
    return out;
}

// Powers of ten; of many, every second, third ...
std::vector<Tick> AxisScale::decades(int about) const {
    int const first = static_cast<int>(std::ceil(std::log10(low_) - 1e-9));
    int const last = static_cast<int>(std::floor(std::log10(high_) + 1e-9));
    int const every = std::max(1, (last - first + about - 1) / about);
    std::vector<Tick> out;
    for (int power = first; power <= last; power += every)
        out.push_back({std::pow(10, power),
                       power >= -4 && power < 5 ? fmt::format("{:g}", std::pow(10, power)) : fmt::format("1e{}", power)});
    return out;
}

std::vector<Tick> AxisScale::ticks(int about) const {
    if (!is_log()) return linear_ticks(about);
    auto out = decades(about);
    if (out.size() >= 2) return out;
    return linear_ticks(about);
}

AxisScale scale_over(std::vector<double> const& values) {
    double low = INFINITY, high = -INFINITY;
    for (double const value : values) {
        if (!std::isfinite(value)) continue;
        low = std::min(low, value);
        high = std::max(high, value);
    }
    if (!(low <= high)) return AxisScale(ScaleKind::linear, 0, 1);
    if (low > 0 && high / low > 100) return AxisScale(ScaleKind::log, low / 1.1, high * 1.1);
    double const margin = high > low ? (high - low) * 0.05 : std::max(std::abs(low) * 0.05, 1e-9);
    return AxisScale(ScaleKind::linear, low - margin, high + margin);
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

TimeUnit time_unit(double longest_s) {
    if (longest_s >= 2 * 3600) return {3600, "h"};
    if (longest_s >= 180) return {60, "min"};
    return {};
}

}  // namespace hopscotch
