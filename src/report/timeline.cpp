// SPDX-License-Identifier: Apache-2.0
// The work of each trainer over time, and the causes of its idle time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/results/run_times.hpp"
#include "core/json_lookup.hpp"
#include "report/sections.hpp"

namespace hopscotch {
namespace {

constexpr double k_rows_left = 80, k_rows_right = 840, k_rows_top = 14;
constexpr std::size_t k_most_idle_rows = 32, k_most_path = 600;
constexpr std::ptrdiff_t k_most_checkpoints = 2000;

struct TimelineRows {
    std::size_t count = 1;
    double height = 26;
    double top(std::size_t row) const { return k_rows_top + height * static_cast<double>(row); }
    double bottom() const { return top(count); }
};

TimelineRows rows_of(std::size_t trainers) {
    auto const count = std::clamp<std::size_t>(trainers, 1, k_most_gantt_trainers);
    return {count, count <= 8 ? 26.0 : count <= 24 ? 18.0 : 11.0};
}

// By TimePiece::Kind.
constexpr struct {
    char const *css, *name;
} k_kinds[] = {{"f1", "training"}, {"f2", "validation"}, {"f4", "a unit was ready"}};

void draw_activities(Svg& svg, RunResults const& data, TimelineRows const& rows, AxisScale const& time) {
    for (auto const& each : data.times.activities) {
        if (static_cast<std::size_t>(each.trainer) >= rows.count) continue;
        double const top = rows.top(static_cast<std::size_t>(each.trainer));
        auto const& kind = k_kinds[static_cast<std::size_t>(each.kind)];
        svg.rect({time.at(each.start_s), top + 2, std::max(time.at(each.end_s), time.at(each.start_s) + 0.4),
                  top + rows.height - 2},
                 kind.css,
                 fmt::format("trial {}, epoch {}, {}: {}", each.trial, each.epoch,
                             each.kind == TimePiece::Kind::train ? fmt::format("shard {}", each.shard)
                                                                 : std::string(kind.name),
                             seconds_text(each.end_s - each.start_s)),
                 trial_mark(each.trial));
    }
}

// The upper edge of an area over the cells of a row, as steps. level: the share at a cell.
template <class Level>
std::string area_path(std::vector<TimeCell> const& cells, PlotBox row, std::size_t together, Level const& level) {
    double const width = row.width() / static_cast<double>(cells.size()) * static_cast<double>(together);
    std::string out = fmt::format("M{:.0f} {:.1f}", row.left, row.bottom);
    int known = -1;
    for (std::size_t c = 0; c < cells.size(); c += together) {
        double sum = 0;
        for (std::size_t i = c; i < std::min(cells.size(), c + together); ++i) sum += level(cells[i]);
        int const now = static_cast<int>(std::lround(10 * std::clamp(sum / static_cast<double>(together), 0.0, 1.0)));
        if (now == known) continue;
        out += fmt::format("H{:.0f}V{:.1f}", row.left + width * static_cast<double>(c / together),
                           row.bottom - row.height() * now / 10);
        known = now;
    }
    return out + fmt::format("H{:.0f}V{:.1f}Z", row.right, row.bottom);
}

void draw_cells(Svg& svg, RunResults const& data, TimelineRows const& rows) {
    std::size_t const together = rows.count > 16 ? 2 : 1;
    for (std::size_t t = 0; t < std::min(rows.count, data.times.cells.size()); ++t) {
        auto const& cells = data.times.cells[t];
        if (cells.empty()) continue;
        PlotBox const row{k_rows_left, rows.top(t) + 2, k_rows_right, rows.top(t) + rows.height - 2};
        svg.raw(fmt::format("<path class=\"f4\" d=\"{}\"/>", area_path(cells, row, together, [](auto const& cell) {
                                return cell.train + cell.validate + cell.wait;
                            })));
        svg.raw(fmt::format("<path class=\"f2\" d=\"{}\"/>",
                            area_path(cells, row, together, [](auto const& cell) { return cell.train + cell.validate; })));
        svg.raw(fmt::format("<path class=\"f1\" d=\"{}\"/>",
                            area_path(cells, row, together, [](auto const& cell) { return cell.train; })));
    }
}

// The way of the best trial from trainer to trainer.
void draw_best_path(Svg& svg, RunResults const& data, TimelineRows const& rows, AxisScale const& time) {
    if (data.times.best_path.size() > k_most_path || rows.count < 2) return;
    std::vector<Spot> line;
    for (auto const& each : data.times.best_path) {
        if (static_cast<std::size_t>(each.trainer) >= rows.count) continue;
        double const y = rows.top(static_cast<std::size_t>(each.trainer)) + rows.height / 2;
        line.push_back({time.at(each.start_s), y});
        line.push_back({time.at(each.end_s), y});
    }
    svg.path(line, "hops", "the way of the best trial");
}

// The ways of all trials, unseen until the marks of a trial light up.
void draw_ways(Svg& svg, RunResults const& data, TimelineRows const& rows, AxisScale const& time) {
    if (rows.count < 2) return;
    std::map<int, std::vector<Spot>> ways;
    for (auto const& each : data.times.activities) {
        if (each.kind == TimePiece::Kind::wait || static_cast<std::size_t>(each.trainer) >= rows.count) continue;
        double const y = rows.top(static_cast<std::size_t>(each.trainer)) + rows.height / 2;
        ways[each.trial].push_back({time.at(each.start_s), y});
        ways[each.trial].push_back({time.at(each.end_s), y});
    }
    for (auto const& [trial, places] : ways) svg.path(places, "way", "", trial_mark(trial));
}

void draw_losses(Svg& svg, RunResults const& data, TimelineRows const& rows, AxisScale const& time) {
    RunClock const clock(data.run.facts.start_unix_s, data.run.journal.jobs.pauses);
    for (auto const& [from, until] : data.run.journal.jobs.pauses) {
        double const x = time.at(clock.at(from));
        svg.line({x, k_rows_top - 6}, {x, rows.bottom()}, "pause");
    }
    for (auto const& lost : data.run.journal.jobs.lost) {
        if (lost.trainer.value < 0 || lost.trainer.index() >= rows.count) continue;
        svg.text({time.at(clock.at(lost.unix_s)), rows.top(lost.trainer.index()) + rows.height / 2 + 5}, "lost mid", "×");
    }
}

std::ptrdiff_t checkpoints_in(RunResults const& data) {
    return std::ranges::count(data.run.journal.marks, TraceMark::Row::checkpoints, &TraceMark::row);
}

// Another thread of the trainer writes them, so they lie beside units: a thin bar at the lower edge of the row.
void draw_checkpoints(Svg& svg, RunResults const& data, TimelineRows const& rows, AxisScale const& time) {
    if (checkpoints_in(data) > k_most_checkpoints) return;
    RunClock const clock(data.run.facts.start_unix_s, data.run.journal.jobs.pauses);
    for (auto const& mark : data.run.journal.marks) {
        auto const row = static_cast<std::size_t>(std::max(0, mark.trainer));
        if (mark.row != TraceMark::Row::checkpoints || row >= rows.count) continue;
        double const start = time.at(clock.at(mark.unix_s - mark.seconds)), bottom = rows.top(row) + rows.height - 2;
        svg.rect({start, bottom - 3, std::max(time.at(clock.at(mark.unix_s)), start + 0.8), bottom}, "f6",
                 fmt::format("checkpoint ({}): {}", mark.name, seconds_text(mark.seconds)));
    }
}

// Parts of a trainer's time; they add up to the makespan.
struct TimeParts {
    double train = 0, validate = 0, switching = 0, first = 0, last = 0, rest = 0;
    double total() const { return train + validate + switching + first + last + rest; }
};

TimeParts parts_of(TrainerTimes const& times, double begin_s, double end_s) {
    TimeParts out;
    double const all = std::max(0.0, end_s - begin_s);
    if (times.first_s < 0) return {0, 0, 0, 0, 0, all};
    out.train = times.train_s;
    out.validate = times.validate_s;
    out.first = std::max(0.0, times.first_s - begin_s);
    out.last = std::max(0.0, end_s - times.last_s);
    double const free = std::max(0.0, all - out.train - out.validate - out.first - out.last);
    out.switching = std::min(free, times.switch_s);
    out.rest = free - out.switching;
    return out;
}

constexpr struct {
    double TimeParts::* part;
    char const *css, *name;
} k_parts[] = {{&TimeParts::train, "f1", "training"},
               {&TimeParts::validate, "f2", "validation"},
               {&TimeParts::switching, "f4", "between two units, while one was ready"},
               {&TimeParts::first, "f6", "before its first unit"},
               {&TimeParts::rest, "f5", "nothing was ready"},
               {&TimeParts::last, "f7", "after its last unit"}};

void draw_parts(Svg& svg, TimeParts const& parts, std::string_view name, double top) {
    svg.text({k_rows_left - 8, top + 15}, "tick end", name);
    double x = k_rows_left;
    for (auto const& row : k_parts) {
        double const share = parts.total() > 0 ? parts.*row.part / parts.total() : 0;
        double const end = x + share * (k_rows_right - k_rows_left);
        if (share > 0)
            svg.rect({x, top + 2, end, top + 20}, row.css,
                     fmt::format("{}: {} ({:.1f} %)", row.name, seconds_text(parts.*row.part), 100 * share));
        x = end;
    }
}

std::string idle_words(RunResults const& data, TimeParts const& all) {
    if (all.total() <= 0) return "";
    auto const percent = [&](double part) { return fmt::format("{:.1f} %", 100 * part / all.total()); };
    auto out = fmt::format(
        "The trainers trained {} and validated {} of the time. In {} of the time no work was ready; {} passed "
        "between two units while one was ready (copies of states, checkpoints), {} before a trainer's "
        "first unit, {} after its last.",
        percent(all.train), percent(all.validate), percent(all.rest), percent(all.switching), percent(all.first),
        percent(all.last));
    if (auto const* hop = data.summary.find("hop_ms"); hop != nullptr && number_in(*hop, "p50"))
        out += fmt::format(" A hop took {:.3g} ms (median), {:.3g} ms (99th percentile).", *number_in(*hop, "p50"),
                           number_in(*hop, "p99").value_or(0));
    if (auto const* saved = data.summary.find("checkpoints"); saved != nullptr && number_in(*saved, "written"))
        out += fmt::format(" The last job wrote {:.0f} checkpoints.", *number_in(*saved, "written"));
    double exposed = 0;
    for (auto const& times : data.times.trainers) exposed += times.exposed_s;
    if (exposed > 0)
        out += fmt::format(" Within units, trainers waited {} for each other or for rows.", seconds_text(exposed));
    return out;
}

// Ticks, and marks that the page's script can stretch: it reads the edges and the time between them from the ticks.
void draw_rows(Svg& svg, RunResults const& data, TimelineRows const& rows) {
    auto const unit = time_unit(data.times.end_s);
    double const end = data.times.end_s / unit.seconds;
    auto const shown = AxisScale(ScaleKind::linear, 0, end).between(k_rows_left, k_rows_right);
    svg.raw(fmt::format(R"(<g class="ticks" data-left="{}" data-right="{}" data-top="{}" data-bottom="{}" )", k_rows_left,
                        k_rows_right, k_rows_top, rows.bottom()));
    svg.raw(fmt::format(R"(data-end="{:.9g}">)", end));
    for (auto const& tick : shown.ticks(8)) {
        svg.line({shown.at(tick.value), k_rows_top}, {shown.at(tick.value), rows.bottom()}, "rule");
        svg.text({shown.at(tick.value), rows.bottom() + 16}, "tick mid", tick.text);
    }
    svg.raw("</g>");
    for (std::size_t t = 0; t < rows.count; ++t)
        svg.rect({k_rows_left, rows.top(t) + 2, k_rows_right, rows.top(t) + rows.height - 2}, "idle");
    svg.begin_clip({k_rows_left, k_rows_top - 8, k_rows_right, rows.bottom()});
    svg.raw("<g class=\"marks\">");
    auto const seconds = AxisScale(ScaleKind::linear, 0, data.times.end_s).between(k_rows_left, k_rows_right);
    draw_activities(svg, data, rows, seconds);
    draw_cells(svg, data, rows);
    draw_checkpoints(svg, data, rows, seconds);
    draw_best_path(svg, data, rows, seconds);
    draw_ways(svg, data, rows, seconds);
    draw_losses(svg, data, rows, seconds);
    svg.raw("</g>");
    svg.end_clip();
    svg.text({(k_rows_left + k_rows_right) / 2, rows.bottom() + 36}, "name mid",
             fmt::format("time in the run ({})", unit.name));
}

std::string timeline_caption(RunResults const& data, TimelineRows const& rows) {
    std::vector<LegendEntry> entries;
    for (auto const& kind : k_kinds) entries.push_back({kind.css, kind.name});
    auto const checkpoints = checkpoints_in(data);
    if (checkpoints > 0 && checkpoints <= k_most_checkpoints) entries.push_back({"f6", "a checkpoint"});
    entries.push_back({"fback", "nothing was ready"});
    if (rows.count > 1 && data.times.best_path.size() <= k_most_path)
        entries.push_back({"fink", "the way of the best trial"});
    auto out = legend(entries);
    out += R"(<p class="noscreen zoom"><button data-zoom="0.5">Zoom in</button> <button data-zoom="2">Zoom out</button> )"
           R"(<button data-move="-0.5">Earlier</button> <button data-move="0.5">Later</button> )"
           R"(<button data-zoom="all">All</button> or drag over a part of the picture.</p>)";
    if (!data.times.activities.empty() && rows.count > 1) out += "The hops of a trial appear under the mouse. ";
    if (!data.times.cells.empty()) out += "The height of a bar is the share of the time. ";
    if (!data.run.journal.jobs.pauses.empty()) out += "Dashed: another job took over; the time between jobs is left out. ";
    if (checkpoints > k_most_checkpoints) out += fmt::format("{} checkpoints are not drawn. ", checkpoints);
    if (data.times.trainers.size() > rows.count)
        out += fmt::format("{} of {} trainers are drawn.", rows.count, data.times.trainers.size());
    return out;
}

}  // namespace

std::string timeline_section(RunResults const& data) {
    if (data.totals.units == 0 || data.times.end_s <= 0)
        return data.times.problem.empty() ? "" : note("Incomplete: " + data.times.problem);
    auto const rows = rows_of(data.times.trainers.size());
    Svg svg(860, rows.bottom() + 44, "what each trainer did over time", "wide timeline");
    std::size_t const every = rows.height < 14 ? 4 : 1;
    for (std::size_t t = 0; t < rows.count; t += every)
        svg.text({k_rows_left - 8, rows.top(t) + rows.height / 2 + 4}, "tick end", fmt::format("trainer {}", t));
    draw_rows(svg, data, rows);
    auto out = figure(std::move(svg).take(), timeline_caption(data, rows));
    return data.times.problem.empty() ? out : out + note("Incomplete: " + data.times.problem);
}

std::string idle_section(RunResults const& data) {
    if (data.totals.units == 0) return "";
    TimeParts all;
    std::vector<TimeParts> parts;
    for (auto const& times : data.times.trainers) {
        parts.push_back(parts_of(times, data.times.begin_s, data.times.end_s));
        for (auto const& row : k_parts) all.*row.part += parts.back().*row.part;
    }
    auto const rows = std::min(parts.size(), k_most_idle_rows);
    Svg svg(860, 24 * static_cast<double>(rows + 1) + 8, "parts of each trainer's time");
    draw_parts(svg, all, "all", 0);
    for (std::size_t t = 0; t < rows; ++t)
        draw_parts(svg, parts[t], fmt::format("trainer {}", t), 24 * static_cast<double>(t + 1) + 6);
    std::vector<LegendEntry> entries;
    for (auto const& row : k_parts) entries.push_back({row.css, row.name});
    auto caption = legend(entries) + escaped(idle_words(data, all));
    if (rows < parts.size()) caption += fmt::format(" {} of {} trainers are drawn.", rows, parts.size());
    return figure(std::move(svg).take(), caption);
}

}  // namespace hopscotch
