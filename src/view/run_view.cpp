// SPDX-License-Identifier: Apache-2.0
#include "view/run_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/log.hpp"
#include "core/quantity_text.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_narrow = 60;         // below, no curves
constexpr std::size_t k_curve_columns = 12;  // of a sparkline
constexpr std::size_t k_bar_columns = 10;    // of a trainer
constexpr std::size_t k_least_trainers = 2;  // lines; fewer show nothing

using Lines = std::vector<std::string>;

// Levels from none to all.
std::vector<std::string_view> levels(Glyphs glyphs) {
    if (glyphs == Glyphs::ascii) return {".", ":", "-", "=", "+", "*", "#"};
    return {"\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"};
}

std::string_view level(std::vector<std::string_view> const& all, double share) {
    auto const most = static_cast<double>(all.size() - 1);
    return all[static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * most))];
}

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return !continues(c); }));
}

// The first characters, never a part of one.
std::string first_columns(std::string_view text, std::size_t columns) {
    std::size_t end = 0, seen = 0;
    while (end < text.size() && (seen < columns || continues(text[end]))) seen += continues(text[end++]) ? 0 : 1;
    return std::string(text.substr(0, end));
}

std::string fit(std::string_view text, std::size_t columns) {
    if (width_of(text) <= columns) return std::string(text);
    return columns < 8 ? first_columns(text, columns) : first_columns(text, columns - 2) + "..";
}

// Names of others: no control characters, no line ends, nothing but ASCII where the terminal may not know more.
std::string plain(std::string_view text, Glyphs glyphs) {
    std::string out;
    for (char const c : printable(text)) {
        bool const ascii = static_cast<unsigned char>(c) < 0x80;
        if (c == '\n' || c == '\t')
            out += ' ';
        else if (ascii || glyphs == Glyphs::blocks)
            out += c;
        else if (!continues(c))
            out += '?';
    }
    return out;
}

std::string bytes_per_s(double bytes) {
    char const* const units[] = {"B/s", "kB/s", "MB/s", "GB/s"};
    std::size_t unit = 0;
    for (; bytes >= 999.5 && unit < 3; ++unit) bytes /= 1000;
    return bytes < 9.95 && unit > 0 ? fmt::format("{:.1f} {}", bytes, units[unit])
                                    : fmt::format("{:.0f} {}", bytes, units[unit]);
}

// The parts that fit, one after another.
std::string joined(Lines const& parts, std::size_t columns) {
    std::string out;
    for (auto const& part : parts) {
        auto const more = out.empty() ? part : ", " + part;
        if (!out.empty() && width_of(out) + width_of(more) > columns) break;
        out += more;
    }
    return fit(out, columns);
}

std::string counts_line(RunView const& view, std::size_t columns) {
    Lines parts{duration(view.progress.elapsed_s), fmt::format("{} in flight", view.in_flight),
                fmt::format("{} waiting", view.waiting)};
    if (view.failed > 0) parts.push_back(fmt::format("{} failed", view.failed));
    parts.push_back(fmt::format("{:.0f} % busy", 100 * view.busy()));
    parts.push_back(fmt::format("{} epochs", view.epochs));
    if (view.state_bytes_per_s > 0) parts.push_back(bytes_per_s(view.state_bytes_per_s) + " of states");
    return joined(parts, columns);
}

std::string sparkline(Leader const& leader, double low, double high, Glyphs glyphs) {
    auto const all = levels(glyphs);
    std::string out;
    auto const count = leader.curve.size();
    auto const columns = std::min(count, k_curve_columns);
    for (std::size_t c = 0; c < columns; ++c) {
        auto const value = leader.curve[columns > 1 ? c * (count - 1) / (columns - 1) : 0];
        out += std::isfinite(value) ? level(all, high > low ? (value - low) / (high - low) : 1) : " ";
    }
    return out + std::string(k_curve_columns - columns, ' ');
}

std::pair<double, double> range_of(std::vector<Leader> const& leaders) {
    double low = INFINITY, high = -INFINITY;
    for (auto const& leader : leaders)
        for (double const value : leader.curve)
            if (std::isfinite(value)) low = std::min(low, value), high = std::max(high, value);
    return {low, high};
}

Lines leader_lines(RunView const& view, std::size_t columns, Glyphs glyphs) {
    if (view.leaders.empty()) return {};
    bool const curves = columns >= k_narrow;
    auto const [low, high] = range_of(view.leaders);
    Lines out{fmt::format("{:>5}  {:>12} {:>5}{}  config", "trial", fit(plain(view.progress.metric, glyphs), 12), "epoch",
                          curves ? fmt::format("  {:<{}}", "curve", k_curve_columns) : "")};
    for (auto const& leader : view.leaders) {
        auto line = fmt::format("{:>5}  {:>12.4f} {:>5}", leader.trial.value, leader.value, leader.epoch);
        if (curves) line += "  " + sparkline(leader, low, high, glyphs);
        out.push_back(fit(line + "  " + plain(leader.config, glyphs), columns));
    }
    out.front() = fit(out.front(), columns);
    return out;
}

std::string bar_of(double share, Glyphs glyphs) {
    auto const full = static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * k_bar_columns));
    std::string out;
    for (std::size_t c = 0; c < k_bar_columns; ++c)
        out += c < full ? (glyphs == Glyphs::blocks ? "\u2588" : "#") : (glyphs == Glyphs::blocks ? "\u2591" : ".");
    return out;
}

std::string trainer_line(std::size_t number, TrainerNow const& trainer, std::size_t columns, Glyphs glyphs) {
    auto const head = fmt::format("trainer {:<3} ", number);
    if (trainer.lost) return fit(head + "lost", columns);
    auto out = head + fmt::format("{} {:>3.0f} %  ", bar_of(trainer.busy, glyphs), 100 * trainer.busy);
    if (trainer.trial < 0) return fit(out + "waits for work", columns);
    Lines parts{fmt::format("trial {}", trainer.trial), fmt::format("epoch {}", trainer.epoch)};
    if (trainer.doing != "computing") parts.push_back(plain(trainer.doing, glyphs));
    if (trainer.shard >= 0) parts.push_back(fmt::format("shard {}", trainer.shard));
    if (trainer.batches_per_s > 0) parts.push_back(fmt::format("{:.3g} batches/s", trainer.batches_per_s));
    return fit(out + joined(parts, columns > width_of(out) ? columns - width_of(out) : 0), columns);
}

// A cell for each trainer: its share of busy time; x: lost.
Lines band_of(std::vector<TrainerNow> const& trainers, std::size_t columns, Glyphs glyphs) {
    constexpr std::size_t k_head = 15;  // "trainers 12345 "
    auto const cells =
        columns > k_head + 10 ? (columns - k_head) / 10 * 10 : std::max<std::size_t>(columns, k_head + 1) - k_head;
    auto const all = levels(glyphs);
    Lines out;
    for (std::size_t first = 0; first < trainers.size(); first += cells) {
        auto line = fmt::format("{:<9}{:>5} ", first == 0 ? "trainers" : "", first);
        for (std::size_t t = first; t < std::min(trainers.size(), first + cells); ++t)
            line += trainers[t].lost ? "x" : level(all, trainers[t].busy);
        out.push_back(first_columns(line, columns));
    }
    return out;
}

Lines trainer_lines(RunView const& view, std::size_t rows, std::size_t columns, Glyphs glyphs) {
    if (rows < std::min(k_least_trainers, view.trainers.size())) return {};
    if (view.trainers.size() > rows) {
        auto band = band_of(view.trainers, columns, glyphs);
        auto const all = band.size();
        if (all > rows) band.resize(rows);
        if (all > rows) band.back() = fit(fmt::format("... {} trainers in all", view.trainers.size()), columns);
        return band;
    }
    Lines out;
    for (std::size_t t = 0; t < view.trainers.size(); ++t) out.push_back(trainer_line(t, view.trainers[t], columns, glyphs));
    return out;
}

Lines warning_lines(RunView const& view, std::size_t columns, Glyphs glyphs) {
    Lines out;
    for (auto const& warning : view.warnings) out.push_back(fit("! " + plain(warning, glyphs), columns));
    return out;
}

// Adds a part below an empty line if there is room for all of it.
void add_part(Lines& lines, Lines const& part, std::size_t rows) {
    if (part.empty() || lines.size() + 1 + part.size() > rows) return;
    lines.emplace_back();
    lines.insert(lines.end(), part.begin(), part.end());
}

}  // namespace

double RunView::busy() const {
    double sum = 0;
    std::int64_t living = 0;
    for (auto const& trainer : trainers) {
        if (trainer.lost) continue;
        sum += trainer.busy;
        ++living;
    }
    return living > 0 ? sum / static_cast<double>(living) : 0;
}

void RunView::end(std::string_view how) {
    status = how;
    if (how != "finished") return;
    progress.done = progress.total;  // orders may have changed the amount of work
    progress.trials_done = progress.trials;
    in_flight = waiting = 0;
}

std::vector<double> thinned_curve(std::vector<float> const& curve) {
    if (curve.size() <= k_curve_points) return {curve.begin(), curve.end()};
    std::vector<double> out;
    for (std::size_t p = 0; p < k_curve_points; ++p) out.push_back(curve[p * (curve.size() - 1) / (k_curve_points - 1)]);
    return out;
}

Glyphs glyphs_of_locale() {
    for (auto const* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
        auto const* value = std::getenv(name);
        if (value == nullptr || *value == 0) continue;
        std::string text(value);
        std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        return text.find("utf-8") != text.npos || text.find("utf8") != text.npos ? Glyphs::blocks : Glyphs::ascii;
    }
    return Glyphs::ascii;
}

Lines view_lines(RunView const& view, ViewSize size, Glyphs glyphs) {
    auto const columns = static_cast<std::size_t>(std::max(size.columns, 1));
    auto const rows = static_cast<std::size_t>(std::max(size.rows, 1));
    Lines out{fit(plain(view.name, glyphs) + ": " + plain(view.label, glyphs), columns), render(view.progress, size.columns),
              counts_line(view, columns)};
    if (view.status != "training") out.front() = fit(plain(view.status, glyphs) + ": " + out.front(), columns);
    auto const leaders = leader_lines(view, columns, glyphs);
    auto const warnings = warning_lines(view, columns, glyphs);
    // The trainers get the rows that are left.
    auto const others =
        out.size() + (leaders.empty() ? 0 : leaders.size() + 1) + (warnings.empty() ? 0 : warnings.size() + 1);
    add_part(out, trainer_lines(view, rows > others + 1 ? rows - others - 1 : 0, columns, glyphs), rows);
    add_part(out, leaders, rows);
    add_part(out, warnings, rows);
    if (out.size() > rows) out.erase(out.begin());  // the progress stays, and the name goes
    if (out.size() > rows) out.resize(rows);
    return out;
}

}  // namespace hopscotch
