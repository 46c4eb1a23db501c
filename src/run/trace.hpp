// SPDX-License-Identifier: Apache-2.0
// trace.json: when each trainer trained which unit, in the Chrome trace event format (chrome://tracing, ui.perfetto.dev).
// One row a trainer; an event a unit and a validation, in microseconds since the run's start. Beside them: arrows for hops,
// rank 0's decisions, checkpoints, waits, counters. Written as laps finish; the array form of the format may lack its
// closing bracket, so the trace of a killed run opens too.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/durable_file.hpp"
#include "run/trace_row.hpp"
#include "schedule/lap.hpp"

namespace hopscotch {

struct TraceMark;

class TraceWriter {
public:
    // hosts: by trainer.
    TraceWriter(std::filesystem::path const& path, std::vector<std::string> const& hosts, double run_start_unix_s);
    ~TraceWriter();  // closes the array

    void released(LapId lap);  // a lap that has no record yet
    void ended(TrialId trial);
    void add(LapRecord const& record);
    void add(TraceMark const& mark);
    void close();

    static constexpr std::int64_t k_most_units = 200'000;  // about what the viewers can show: later units are left out

private:
    // The processes of the format: groups of rows.
    enum class Group { trainers, rank0, checkpoints, waits };
    struct Place {
        TrainerId row;
        TraceRow::Span span;
    };

    bool has_room(LapRecord const& record);
    TraceRow::Span span_of(double start_unix_s, double seconds) const;
    Place add_unit(LapRecord const& record, UnitRecord const& unit);
    Place add_validation(LapRecord const& record);
    void add_wait(UnitRecord const& unit);
    void add_arrow(Place const& from, Place const& to);
    void add_counters(LapRecord const& record);
    void name_row(Group group, int row, std::string_view name);
    void add_event(std::string_view event);
    void flush();

    AppendFile file_;
    std::string pending_;  // events that are not written yet
    double start_unix_s_;
    std::map<std::pair<Group, int>, TraceRow> rows_;
    std::map<TrialId, int> open_laps_;  // released and not ended
    std::int64_t open_ = 0;             // their sum
    std::int64_t units_ = 0, arrows_ = 0, hop_bytes_ = 0;
    bool closed_ = false;
};

}  // namespace hopscotch
