// SPDX-License-Identifier: Apache-2.0
// trace.json: the units of each trainer in time, in the Chrome trace event format (chrome://tracing, ui.perfetto.dev). One
// row a trainer; an event a unit and a validation, in microseconds since the run's start. Beside them: arrows for hops, rank
// 0's decisions, checkpoints, waits, parts of units, counters. Written as laps finish; the array form of the format may lack
// its closing bracket, so the trace of a killed run opens too.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/durable_file.hpp"
#include "schedule/lap.hpp"

namespace hopscotch {

struct TraceMark;

// The free time of one row. Viewers drop a slice that overlaps another one of its row in part. Units never do, but the
// record of a validation has its start and its seconds alone, and other work may have come between its pieces. PURE.
class TraceRow {
public:
    // In tenths of a microsecond, as trace.json rounds.
    struct Span {
        std::int64_t from = 0, until = 0;
    };

    // The part of the span that can be drawn: each two slices are apart, or one of them contains the other.
    Span unit(Span wanted);
    Span validation(Span wanted);  // begins after a validation under way, and ends where the next one begins

private:
    using Spans = std::map<std::int64_t, std::int64_t>;  // from, until; no two overlap
    static std::int64_t end_of_span_at(Spans const& spans, std::int64_t time);
    static std::int64_t start_of_span_at(Spans const& spans, std::int64_t time);

    Spans units_, validations_;
};

class TraceWriter {
public:
    // hosts: by trainer. group_size: trainers that train a unit together; a lap's state hops from first member to first
    // member.
    TraceWriter(std::filesystem::path const& path, std::vector<std::string> const& hosts, double run_start_unix_s,
                int group_size = 1);
    ~TraceWriter();  // closes the array

    void released(LapId lap);  // a lap that has no record yet
    void ended(TrialId trial);
    void add(LapRecord const& record);
    void add(TraceMark const& mark);
    void close();  // once more: tries again to write what found no room

    static constexpr std::int64_t k_most_units = 200'000;  // about the limit of the viewers: later units are left out
    static constexpr std::int64_t k_most_parts = 100'000;  // of units

private:
    // The processes of the format: groups of rows.
    enum class Group { trainers, rank0, checkpoints, waits, parts };
    struct Place {
        TrainerId row;
        TraceRow::Span span;
    };

    bool has_room(LapRecord const& record);
    TraceRow::Span span_of(double start_unix_s, double seconds) const;
    Place add_unit(LapRecord const& record, UnitRecord const& unit);
    Place add_validation(LapRecord const& record, TrainerId trainer);
    void add_wait(UnitRecord const& unit);
    void add_parts(UnitRecord const& unit);
    void add_arrows(LapRecord const& record, std::vector<Place> const& stops);
    void add_arrow(Place const& from, Place const& to);
    void add_counters(LapRecord const& record);
    void name_row(Group group, int row, std::string_view name);
    void add_event(std::string_view event);
    void flush();

    DispensableFile file_;
    std::string pending_;  // events that are not written yet
    double start_unix_s_;
    std::size_t group_size_;
    std::map<std::pair<Group, int>, TraceRow> rows_;
    std::map<TrialId, int> open_laps_;  // released and not ended
    std::int64_t open_ = 0;             // their sum
    std::int64_t units_ = 0, parts_ = 0, arrows_ = 0, hop_bytes_ = 0;
    bool closed_ = false;
};

}  // namespace hopscotch
