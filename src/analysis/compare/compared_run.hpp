// SPDX-License-Identifier: Apache-2.0
// A run for `hopscotch compare`: its files, and its name beside the others.
#pragma once
#include <string>
#include <vector>

#include "rundir/recorded_run.hpp"

namespace hopscotch {

struct ComparedRun {
    RecordedRun recorded;
    std::string label;          // "parameter_server async s=1"
    Json summary;               // null: the run has not ended
    std::vector<Json> metrics;  // the lines of metrics.jsonl

    std::string dir() const { return recorded.directory.string(); }  // the directory as the user gave it
    std::string status() const;                                      // as the summary says; "not ended" without one
};

// Throws as read_run().
ComparedRun read_compared_run(std::string const& dir);

}  // namespace hopscotch
