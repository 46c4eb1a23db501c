// SPDX-License-Identifier: Apache-2.0
#include "run/trace.hpp"

#include <fmt/format.h>

#include "core/json.hpp"
#include "core/log.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_flush_bytes = 1 << 16;

Json metadata(std::string_view name, std::size_t row, Json arguments) {
    return Json::object(
        {{"name", name}, {"ph", "M"}, {"pid", 0}, {"tid", static_cast<std::int64_t>(row)}, {"args", std::move(arguments)}});
}

Json complete_event(std::string name, std::string_view category, TrainerId row, Json arguments) {
    return Json::object({{"name", std::move(name)},
                         {"cat", category},
                         {"ph", "X"},
                         {"pid", 0},
                         {"tid", row.value},
                         {"ts", 0.0},
                         {"dur", 0.0},
                         {"args", std::move(arguments)}});
}

double mean_loss(double sum, std::int64_t rows) { return sum / static_cast<double>(rows > 0 ? rows : 1); }

}  // namespace

TraceWriter::TraceWriter(std::filesystem::path const& path, std::vector<std::string> const& hosts, double run_start_unix_s)
    : file_(path), start_unix_s_(run_start_unix_s) {
    pending_ = "[\n";
    pending_ += metadata("process_name", 0, Json::object({{"name", "hopscotch"}})).dump();
    for (std::size_t row = 0; row < hosts.size(); ++row) {
        add_event(metadata("thread_name", row, Json::object({{"name", fmt::format("trainer {} {}", row, hosts[row])}})));
        add_event(metadata("thread_sort_index", row, Json::object({{"sort_index", static_cast<std::int64_t>(row)}})));
    }
    flush();
}

TraceWriter::~TraceWriter() {
    try {
        close();
    } catch (std::exception const& error) {  // destructors never throw; a trace is for the eyes
        log_warning(error.what());
    }
}

// The last event says where the units end.
bool TraceWriter::has_room(LapRecord const& record) {
    if (units_ > k_most_units) return false;
    units_ += std::ssize(record.units);
    if (units_ <= k_most_units) return true;
    auto const start = record.units.front().start_unix_s;
    auto event = complete_event("units behind this one are left out", "limit", record.home, Json::object({}));
    event["ts"] = (start - start_unix_s_) * 1e6;
    add_event(event);
    return false;
}

void TraceWriter::add(LapRecord const& record) {
    if (!has_room(record)) return;
    auto const at = [&](Json event, double start_unix_s, double seconds) {
        event["ts"] = (start_unix_s - start_unix_s_) * 1e6;
        event["dur"] = seconds * 1e6;
        add_event(event);
    };
    for (auto const& unit : record.units)
        at(complete_event(fmt::format("t{} e{} s{}", record.trial.value, record.epoch, unit.shard.value), "unit",
                          unit.trainer,
                          Json::object({{"trial", record.trial.value},
                                        {"epoch", record.epoch},
                                        {"shard", unit.shard.value},
                                        {"loss", mean_loss(unit.loss_sum, unit.rows)}})),
           unit.start_unix_s, unit.seconds);
    if (record.valid.rows > 0)
        at(complete_event(fmt::format("t{} e{} validation", record.trial.value, record.epoch), "validation", record.home,
                          Json::object({{"trial", record.trial.value},
                                        {"epoch", record.epoch},
                                        {"loss", mean_loss(record.valid.loss, record.valid.rows)}})),
           record.valid_start_unix_s, record.valid_seconds);
}

void TraceWriter::close() {
    if (closed_) return;
    closed_ = true;
    pending_ += "\n]\n";
    flush();
}

void TraceWriter::add_event(Json const& event) {
    pending_ += ",\n";
    pending_ += event.dump();
    if (pending_.size() >= k_flush_bytes) flush();
}

void TraceWriter::flush() {
    file_.append(pending_);
    pending_.clear();
}

}  // namespace hopscotch
