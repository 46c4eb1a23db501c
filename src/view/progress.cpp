// SPDX-License-Identifier: Apache-2.0
#include "view/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/quantity_text.hpp"
#include "view/terminal.hpp"

namespace hopscotch {
namespace {

constexpr double k_line_every_s = 30;
constexpr std::size_t k_bar_narrow = 10, k_bar_wide = 24;

double share(ProgressState const& state) { return state.total > 0 ? std::clamp(state.done / state.total, 0.0, 1.0) : 0; }

std::string eta(ProgressState const& state) {
    double const part = share(state);
    if (part >= 1) return fmt::format("in {}", duration(state.elapsed_s));
    double const done_here = std::min(state.done, state.total) - state.done_before;
    constexpr double k_rounding = 1e-9;
    if (done_here <= k_rounding * state.total) return "ETA ?";
    return fmt::format("ETA {}", duration(state.elapsed_s * (state.total - std::min(state.done, state.total)) / done_here));
}

std::string bar(double part, std::size_t width) {
    auto const full = static_cast<std::size_t>(part * static_cast<double>(width));
    std::string out(full, '=');
    if (full < width) out += '>';
    out.resize(width, ' ');
    return "[" + out + "] ";
}

// 99.9 % is not done: rounded down.
std::string percent(double part) { return fmt::format("{:>3}%", static_cast<int>(part * 100)); }

std::string best_text(ProgressState const& state) {
    if (!state.best) return {};
    return fmt::format("  best {} {:.4f} (trial {})", state.metric, state.best->value, state.best->trial.value);
}

}  // namespace

std::string percent_text(ProgressState const& state) { return fmt::format("{} %", static_cast<int>(share(state) * 100)); }

std::string progress_text(ProgressState const& state) {
    return fmt::format("{}, {}, {} of {} trials have ended", percent_text(state), eta(state), state.trials_done,
                       state.trials);
}

std::string render(ProgressState const& state, int columns) {
    auto const width = static_cast<std::size_t>(std::max(columns, 0));
    // No busy trainer means that no heartbeat has come yet: better no text than a wrong one.
    auto const busy = state.busy > 0 ? fmt::format("  busy {}/{}", state.busy, state.trainers) : std::string();
    std::array<std::string, 4> const parts{fmt::format("{}  {}", percent(share(state)), eta(state)), busy,
                                           fmt::format("  trials {}/{}", state.trials_done, state.trials), best_text(state)};
    std::size_t const brackets = 3;
    std::string text;
    for (auto const& part : parts) {
        if (!text.empty() && text.size() + part.size() + k_bar_narrow + brackets > width) break;
        text += part;
    }
    if (text.size() + k_bar_narrow + brackets > width) return text.substr(0, width);
    return bar(share(state), std::min(k_bar_wide, width - text.size() - brackets)) + text;
}

ProgressMode progress_mode(Terminal const& terminal) {
    return terminal.kind == Terminal::Kind::live ? ProgressMode::redraw : ProgressMode::lines;
}

ProgressLines::ProgressLines(int columns, std::function<void(std::string_view)> write)
    : columns_(columns), write_(std::move(write)) {}

bool ProgressLines::due(ProgressState const& state, double now_s) {
    int const quarters = static_cast<int>(share(state) * 4);
    bool const passed = quarters > quarters_;
    quarters_ = std::max(quarters_, quarters);
    if (!printed_at_s_ && !passed) {
        printed_at_s_ = now_s;  // the first line comes after a period, not at 0 %
        return false;
    }
    return passed || now_s - *printed_at_s_ >= k_line_every_s;
}

void ProgressLines::update(ProgressState const& state, double now_s) {
    if (!due(state, now_s)) return;
    printed_at_s_ = now_s;
    write_(render(state, columns_) + "\n");
}

void ProgressLines::finish(ProgressState const& state) {
    if (quarters_ < 4) write_(render(state, columns_) + "\n");
}

}  // namespace hopscotch
