// SPDX-License-Identifier: Apache-2.0
#include "view/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "core/json.hpp"
#include "core/unit_parts.hpp"
#include "rundir/journal.hpp"
#include "rundir/metrics.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_flush_bytes = 1 << 16;
constexpr double k_least_wait_s = 1e-3;  // a shorter one cannot be seen, and most units have one

// Of tenths. As whole numbers: most of a trace is times, and formatting doubles takes most of its time.
std::string microseconds(std::int64_t tenths) {
    auto const size = std::abs(tenths);
    return fmt::format("{}{}.{}", tenths < 0 ? "-" : "", size / 10, size % 10);
}

// null, as everywhere, if it is not a number. The shortest text of a float, which costs less than a fixed number of digits.
std::string mean_loss(double sum, std::int64_t rows) {
    auto const mean = static_cast<float>(sum / static_cast<double>(rows > 0 ? rows : 1));
    return std::isfinite(mean) ? fmt::format("{}", mean) : "null";
}

std::string json_text(std::string_view text) { return Json(text).dump(); }

// A slice; arguments: "\"trial\":3"
std::string slice(std::string_view name_and_category, int group, TrainerId row, TraceRow::Span span,
                  std::string_view arguments) {
    return fmt::format(R"({{{},"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}}}})", name_and_category, group,
                       row.value, microseconds(span.from), microseconds(span.until - span.from), arguments);
}

}  // namespace

TraceWriter::TraceWriter(std::filesystem::path const& path, std::vector<std::string> const& hosts, double run_start_unix_s,
                         int group_size)
    : file_(path), start_unix_s_(run_start_unix_s), group_size_(static_cast<std::size_t>(group_size)) {
    pending_ = "[\n";
    pending_ += R"({"name":"process_name","ph":"M","pid":0,"tid":0,"args":{"name":"hopscotch"}})";
    for (std::size_t row = 0; row < hosts.size(); ++row)
        name_row(Group::trainers, static_cast<int>(row), fmt::format("trainer {} {}", row, hosts[row]));
    flush();
}

TraceWriter::~TraceWriter() { close(); }

// The name of a group stands with the name of its first row.
void TraceWriter::name_row(Group group, int row, std::string_view name) {
    constexpr std::array<std::string_view, 5> k_groups{"hopscotch", "rank 0", "checkpoints", "waits of a queued unit",
                                                       "parts of units"};
    auto const pid = static_cast<int>(group);
    if (rows_.contains({group, row})) return;
    bool const first = std::ranges::none_of(rows_, [&](auto const& each) { return each.first.first == group; });
    rows_[{group, row}];
    if (first && group != Group::trainers)
        add_event(fmt::format(R"({{"name":"process_name","ph":"M","pid":{},"tid":0,"args":{{"name":"{}"}}}})", pid,
                              k_groups[static_cast<std::size_t>(pid)]));
    add_event(fmt::format(R"({{"name":"thread_name","ph":"M","pid":{},"tid":{},"args":{{"name":{}}}}})", pid, row,
                          json_text(name)));
    add_event(fmt::format(R"({{"name":"thread_sort_index","ph":"M","pid":{},"tid":{},"args":{{"sort_index":{}}}}})", pid,
                          row, row));
}

// The trial's last laps may never come.
void TraceWriter::ended(TrialId trial) {
    auto const open = open_laps_.find(trial);
    if (open == open_laps_.end()) return;
    open_ -= open->second;
    open_laps_.erase(open);
}

TraceRow::Span TraceWriter::span_of(double start_unix_s, double seconds) const {
    constexpr double k_tenths = 1e7;
    auto const from = std::llround((start_unix_s - start_unix_s_) * k_tenths);
    return {from, std::max(from, std::llround((start_unix_s - start_unix_s_ + seconds) * k_tenths))};
}

// The last event marks the end of the units.
bool TraceWriter::has_room(LapRecord const& record) {
    if (units_ > k_most_units) return false;
    units_ += std::ssize(record.units);
    if (units_ <= k_most_units) return true;
    auto const start = span_of(record.units.front().start_unix_s, 0);
    add_event(slice(R"("name":"units behind this one are left out","cat":"limit")", 0, record.home, start, ""));
    return false;
}

void TraceWriter::released(LapId lap) {
    ++open_laps_[lap.trial];
    ++open_;
}

void TraceWriter::add(LapRecord const& record) {
    if (!has_room(record)) return;
    std::vector<Place> stops;  // of the state
    for (std::size_t u = 0; u < record.units.size(); ++u) {
        auto const place = add_unit(record, record.units[u]);
        if (u % group_size_ == 0) stops.push_back(place);  // the units of a group stand together, its first member's first
    }
    std::vector<Place> validated;
    if (record.valid.rows > 0)
        for (auto const trainer : validators_of(record)) validated.push_back(add_validation(record, trainer));
    if (!validated.empty()) stops.push_back(validated.front());
    add_arrows(record, stops);
    add_counters(record);
}

TraceWriter::Place TraceWriter::add_unit(LapRecord const& record, UnitRecord const& unit) {
    add_wait(unit);
    auto const span = rows_[{Group::trainers, unit.trainer.value}].unit(span_of(unit.start_unix_s, unit.seconds));
    auto const trial = record.trial.value;
    add_event(slice(fmt::format(R"("name":"t{} e{} s{}","cat":"unit")", trial, record.epoch, unit.shard.value), 0,
                    unit.trainer, span,
                    fmt::format(R"("trial":{},"epoch":{},"shard":{},"loss":{})", trial, record.epoch, unit.shard.value,
                                mean_loss(unit.loss_sum, unit.rows))));
    add_parts(unit);
    return {unit.trainer, span};
}

TraceWriter::Place TraceWriter::add_validation(LapRecord const& record, TrainerId trainer) {
    auto const wanted = span_of(record.valid.start_unix_s, record.valid.seconds);
    auto const span = rows_[{Group::trainers, trainer.value}].validation(wanted);
    auto const trial = record.trial.value;
    add_event(slice(fmt::format(R"("name":"t{} e{} validation","cat":"validation")", trial, record.epoch), 0, trainer, span,
                    fmt::format(R"("trial":{},"epoch":{},"loss":{})", trial, record.epoch,
                                mean_loss(record.valid.loss, record.valid.rows))));
    return {trainer, span};
}

void TraceWriter::add_wait(UnitRecord const& unit) {
    if (unit.wait_s < k_least_wait_s) return;
    auto const row = unit.trainer.value;
    name_row(Group::waits, row, fmt::format("trainer {}", row));
    auto const span = rows_[{Group::waits, row}].unit(span_of(unit.start_unix_s - unit.wait_s, unit.wait_s));
    add_event(slice(R"("name":"wait","cat":"wait")", static_cast<int>(Group::waits), unit.trainer, span, ""));
}

// In rows of their own: a part may be done beside another unit.
void TraceWriter::add_parts(UnitRecord const& unit) {
    auto const row = unit.trainer.value;
    for (auto const& part : unpacked(unit.parts)) {
        if (++parts_ > k_most_parts) return;
        name_row(Group::parts, row, fmt::format("trainer {}", row));
        auto const span = rows_[{Group::parts, row}].unit(span_of(part.start_unix_s, part.seconds));
        add_event(slice(fmt::format(R"("name":"{}","cat":"part")", name_of(part.part)), static_cast<int>(Group::parts),
                        unit.trainer, span, ""));
    }
}

// Trainers that train a lap together have no hops between them.
void TraceWriter::add_arrows(LapRecord const& record, std::vector<Place> const& stops) {
    std::int64_t changes = 0;
    for (std::size_t i = 1; i < stops.size(); ++i) changes += stops[i].row != stops[i - 1].row ? 1 : 0;
    if (changes > record.hops.count) return;
    for (std::size_t i = 1; i < stops.size(); ++i)
        if (stops[i].row != stops[i - 1].row) add_arrow(stops[i - 1], stops[i]);
}

// An end of an arrow belongs to the slice around it, so it may not lie on the border. The clocks of two hosts may differ by
// more than a hop takes; an arrow into the past is not drawn.
void TraceWriter::add_arrow(Place const& from, Place const& to) {
    auto const start = from.span.until - 1, end = to.span.from + 1;
    if (start <= from.span.from || end >= to.span.until || start > end) return;
    auto const id = ++arrows_;
    add_event(fmt::format(R"({{"name":"hop","cat":"hop","ph":"s","id":{},"pid":0,"tid":{},"ts":{}}})", id, from.row.value,
                          microseconds(start)));
    add_event(fmt::format(R"({{"name":"hop","cat":"hop","ph":"f","bp":"e","id":{},"pid":0,"tid":{},"ts":{}}})", id,
                          to.row.value, microseconds(end)));
}

void TraceWriter::add_counters(LapRecord const& record) {
    auto const now = microseconds(span_of(end_unix_s(record), 0).from);
    auto const count = [&](std::string_view name, std::string_view unit, auto value) {
        add_event(fmt::format(R"({{"name":"{}","ph":"C","pid":1,"ts":{},"args":{{"{}":{}}}}})", name, now, unit, value));
    };
    if (record.hops.count > 0)
        count("states moved", "MB", static_cast<double>((hop_bytes_ += record.hops.bytes) / 1000) / 1000);
    auto const open = open_laps_.find(record.trial);
    if (open == open_laps_.end()) return;
    --open_;
    if (--open->second == 0) open_laps_.erase(open);
    count("queue", "laps", open_);
}

void TraceWriter::add(TraceMark const& mark) {
    if (mark.row == TraceMark::Row::checkpoints) {
        TrainerId const trainer(mark.trainer);
        name_row(Group::checkpoints, mark.trainer, fmt::format("trainer {}", mark.trainer));
        auto const wanted = span_of(mark.unix_s - mark.seconds, mark.seconds);
        auto const span = rows_[{Group::checkpoints, mark.trainer}].unit(wanted);
        return add_event(slice(fmt::format(R"("name":{},"cat":"checkpoint")", json_text(mark.name)),
                               static_cast<int>(Group::checkpoints), trainer, span, ""));
    }
    name_row(Group::rank0, 0, "decisions");
    add_event(fmt::format(R"({{"name":{},"cat":"rank0","ph":"i","s":"t","pid":1,"tid":0,"ts":{},"args":{{"why":{}}}}})",
                          json_text(mark.name), microseconds(span_of(mark.unix_s, 0).from), json_text(mark.why)));
}

void TraceWriter::close() {
    if (!std::exchange(closed_, true)) pending_ += "\n]\n";
    flush();
    for (auto& [place, row] : rows_) row = {};  // the report that follows needs the memory
}

void TraceWriter::add_event(std::string_view event) {
    pending_ += ",\n";
    pending_ += event;
    if (pending_.size() >= k_flush_bytes) flush();
}

void TraceWriter::flush() {
    file_.append(pending_);
    pending_.clear();
}

}  // namespace hopscotch
