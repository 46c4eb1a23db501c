// SPDX-License-Identifier: Apache-2.0
// trace.json: when each trainer trained which unit, in the Chrome trace event format (chrome://tracing, ui.perfetto.dev).
// One row a trainer; an event a unit and a validation, in microseconds since the run's start. Written as laps finish; the
// array form of the format may lack its closing bracket, so the trace of a killed run opens too.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/durable_file.hpp"
#include "core/json.hpp"
#include "schedule/lap.hpp"

namespace hopscotch {

class TraceWriter {
public:
    // hosts: by trainer.
    TraceWriter(std::filesystem::path const& path, std::vector<std::string> const& hosts, double run_start_unix_s);
    ~TraceWriter();  // closes the array

    void add(LapRecord const& record);
    void close();

    static constexpr std::int64_t k_most_units = 200'000;  // about what the viewers can show: later units are left out

private:
    bool has_room(LapRecord const& record);
    void add_event(Json const& event);
    void flush();

    AppendFile file_;
    std::string pending_;  // events that are not written yet
    double start_unix_s_;
    std::int64_t units_ = 0;
    bool closed_ = false;
};

}  // namespace hopscotch
