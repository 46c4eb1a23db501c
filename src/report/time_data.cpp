// SPDX-License-Identifier: Apache-2.0
// The work of each trainer over time, and the causes of its idle time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/results/run_times.hpp"
#include "core/json_lookup.hpp"
#include "report/html_table.hpp"
#include "report/page_text.hpp"
#include "report/report_data.hpp"
#include "report/sections.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_most_idle_rows = 32, k_rows_of_fine_cells = 16;
constexpr std::ptrdiff_t k_most_checkpoints = 2000;

// Parts of a trainer's time; they add up to the makespan.
struct TimeParts {
    double train = 0, validate = 0, switching = 0, first = 0, last = 0, rest = 0;
    double total() const { return train + validate + switching + first + last + rest; }
};

TimeParts parts_of(TrainerTimes const& times, double begin_s, double end_s) {
    TimeParts out;
    double const all = std::max(0.0, end_s - begin_s);
    if (times.first_s < 0) return {.rest = all};
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
    char const* name;
} k_parts[] = {{&TimeParts::train, "training"},
               {&TimeParts::validate, "validation"},
               {&TimeParts::switching, "between two units, while one was ready"},
               {&TimeParts::first, "before its first unit"},
               {&TimeParts::rest, "nothing was ready"},
               {&TimeParts::last, "after its last unit"}};

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

std::vector<TimeParts> parts_of(RunResults const& data) {
    std::vector<TimeParts> out;
    for (auto const& times : data.times.trainers) out.push_back(parts_of(times, data.times.begin_s, data.times.end_s));
    return out;
}

Json seconds_json(double value) { return rounded_json(value, 6); }

Json pieces_json(RunResults const& data, std::size_t rows) {
    Json::Array out;
    for (auto const& each : data.times.activities)
        if (static_cast<std::size_t>(each.trainer) < rows)
            out.emplace_back(Json::Array{static_cast<int>(each.kind), each.trainer, each.trial, each.epoch, each.shard,
                                         seconds_json(each.start_s), seconds_json(each.end_s - each.start_s)});
    return out;
}

// The level of a row in tenths, 0 to a, of `together` cells each.
template <class Level>
std::string digits_of(std::vector<TimeCell> const& cells, std::size_t together, Level const& level) {
    std::string out;
    for (std::size_t c = 0; c < cells.size(); c += together) {
        double sum = 0;
        for (std::size_t i = c; i < std::min(cells.size(), c + together); ++i) sum += level(cells[i]);
        out += "0123456789a"[std::lround(10 * std::clamp(sum / static_cast<double>(together), 0.0, 1.0))];
    }
    return out;
}

// For each trainer: all parts together, training and validation, training alone. They are drawn over each other.
Json cells_json(RunResults const& data, std::size_t rows) {
    std::size_t const together = rows > k_rows_of_fine_cells ? 2 : 1;
    Json::Array out;
    for (std::size_t t = 0; t < std::min(rows, data.times.cells.size()); ++t) {
        auto const& cells = data.times.cells[t];
        out.emplace_back(
            Json::Array{digits_of(cells, together, [](auto const& cell) { return cell.train + cell.validate + cell.wait; }),
                        digits_of(cells, together, [](auto const& cell) { return cell.train + cell.validate; }),
                        digits_of(cells, together, [](auto const& cell) { return cell.train; })});
    }
    return out;
}

// The way of the best trial from trainer to trainer.
Json path_json(RunResults const& data, std::size_t rows) {
    Json::Array out;
    for (auto const& each : data.times.best_path)
        if (static_cast<std::size_t>(each.trainer) < rows)
            out.emplace_back(Json::Array{each.trainer, seconds_json(each.start_s), seconds_json(each.end_s - each.start_s)});
    return out;
}

// Losses of trainers, times at which another job took over, and checkpoints.
void add_events(Json& out, RunResults const& data, std::size_t rows) {
    auto const& journal = data.run.journal;
    RunClock const clock(data.run.facts.start_unix_s, journal.jobs.pauses);
    Json::Array losses, pauses, checkpoints;
    for (auto const& lost : journal.jobs.lost)
        if (lost.trainer.value >= 0 && lost.trainer.index() < rows)
            losses.emplace_back(Json::Array{lost.trainer.value, seconds_json(clock.at(lost.unix_s))});
    for (auto const& [from, until] : journal.jobs.pauses) pauses.push_back(seconds_json(clock.at(from)));
    auto const count = std::ranges::count(journal.marks, TraceMark::Row::checkpoints, &TraceMark::row);
    bool const drawn = count <= k_most_checkpoints;
    for (auto const& mark : journal.marks)
        if (drawn && mark.row == TraceMark::Row::checkpoints && static_cast<std::size_t>(std::max(0, mark.trainer)) < rows)
            checkpoints.emplace_back(Json::Array{std::max(0, mark.trainer),
                                                 seconds_json(clock.at(mark.unix_s - mark.seconds)),
                                                 seconds_json(mark.seconds), mark.name});
    out["losses"] = std::move(losses);
    out["pauses"] = std::move(pauses);
    out["checkpoints"] = std::move(checkpoints);
    out["unseen"] = drawn ? std::int64_t{0} : static_cast<std::int64_t>(count);
}

Json part_names() {
    Json::Array out;
    for (auto const& each : k_parts) out.emplace_back(each.name);
    return out;
}

Json parts_json(RunResults const& data) {
    Json::Array out;
    for (auto const& parts : parts_of(data)) {
        Json::Array row;
        for (auto const& each : k_parts) row.push_back(seconds_json(parts.*each.part));
        out.emplace_back(std::move(row));
    }
    return out;
}

std::string parts_table(std::vector<TimeParts> const& parts) {
    std::vector<HtmlTable::Column> columns{{"trainer", HtmlTable::Kind::numbers}};
    for (auto const& each : k_parts) columns.push_back({each.name, HtmlTable::Kind::numbers});
    HtmlTable table(columns);
    for (std::size_t t = 0; t < std::min(parts.size(), k_most_idle_rows); ++t) {
        table.begin_row();
        table.count(static_cast<std::int64_t>(t));
        for (auto const& each : k_parts) table.number(parts[t].*each.part, seconds_text(parts[t].*each.part));
    }
    auto const rest = parts.size() <= k_most_idle_rows
                          ? ""
                          : note(fmt::format("{} of {} trainers are here.", k_most_idle_rows, parts.size()));
    return "<details><summary>As a table</summary>" + std::move(table).take() + rest + "</details>";
}

bool has_times(RunResults const& data) { return data.totals.units > 0 && data.times.end_s > 0; }

}  // namespace

void add_time_data(Json& out, RunResults const& data) {
    if (!has_times(data)) {
        out["time"] = Json();
        return;
    }
    auto const trainers = data.times.trainers.size();
    auto const rows = std::clamp<std::size_t>(trainers, 1, k_most_gantt_trainers);
    auto time = Json::object({{"trainers", static_cast<std::int64_t>(trainers)},
                              {"rows", static_cast<std::int64_t>(rows)},
                              {"pieces", pieces_json(data, rows)},
                              {"cells", cells_json(data, rows)},
                              {"path", path_json(data, rows)},
                              {"partNames", part_names()},
                              {"parts", parts_json(data)}});
    add_events(time, data, rows);
    out["time"] = std::move(time);
}

std::string timeline_section(RunResults const& data) {
    return data.times.problem.empty() ? "" : note("Incomplete: " + data.times.problem);
}

std::string idle_section(RunResults const& data) {
    if (data.totals.units == 0) return "";
    TimeParts all;
    auto const parts = parts_of(data);
    for (auto const& of_trainer : parts)
        for (auto const& each : k_parts) all.*each.part += of_trainer.*each.part;
    return fmt::format("<div class=\"pictures\"></div><p>{}</p>", escaped(idle_words(data, all))) + parts_table(parts);
}

}  // namespace hopscotch
