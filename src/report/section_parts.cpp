// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/sections.hpp"
#include "rundir/metrics.hpp"
#include "view/leaderboard.hpp"

namespace hopscotch {

std::string figure(std::string svg, std::string_view caption) {
    return fmt::format("<figure><div class=\"scroll\">{}</div>{}</figure>", svg,
                       caption.empty() ? "" : fmt::format("<figcaption>{}</figcaption>", caption));
}

std::string note(std::string_view text) { return fmt::format("<p class=\"note\">{}</p>", escaped(text)); }

std::string trial_name(TrialResults const& trial) {
    return fmt::format("trial {}: {}", trial.id.value, cut_text(short_config(trial.assignment), 160));
}

std::string group_name(RunResults const& data, GroupResults const& group) {
    auto const first = data.trials[group.trials.front()].id.value, last = data.trials[group.trials.back()].id.value;
    if (first == last) return trial_name(data.trials[group.trials.front()]);
    return fmt::format("trials {}-{}: {}", first, last, cut_text(short_config(group.assignment), 160));
}

std::vector<std::size_t> by_value(RunResults const& data) {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < data.trials.size(); ++i)
        if (data.trials[i].best) out.push_back(i);
    std::ranges::stable_sort(out, [&](std::size_t a, std::size_t b) {
        return better(data.trials[a].best->value, data.trials[b].best->value, data.mode);
    });
    return out;
}

std::vector<std::size_t> thinned(std::size_t count, std::size_t most, std::size_t first) {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < std::min(count, first); ++i) out.push_back(i);
    if (count <= first || most <= first) return out;
    std::size_t const rest = count - first, room = std::min(rest, most - first);
    for (std::size_t i = 0; i < room; ++i) out.push_back(first + i * rest / room);
    return out;
}

AxisScale metric_scale(std::vector<double> values, Mode mode) {
    std::erase_if(values, [](double value) { return !std::isfinite(value); });
    if (values.size() < 4) return scale_over(values);
    std::ranges::sort(values);
    auto const at = [&](double share) {
        return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
    };
    constexpr double far = 50;
    if (mode == Mode::min) {
        double const most = at(0.75) + far * std::max(at(0.75) - values.front(), std::abs(at(0.75)) * 1e-3);
        std::erase_if(values, [&](double value) { return value > most; });
    } else {
        double const least = at(0.25) - far * std::max(values.back() - at(0.25), std::abs(at(0.25)) * 1e-3);
        std::erase_if(values, [&](double value) { return value < least; });
    }
    return scale_over(values);
}

}  // namespace hopscotch
