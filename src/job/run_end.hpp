// SPDX-License-Identifier: Apache-2.0
// The facts about the end of a run that only the job knows.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/histogram.hpp"
#include "experiment/measures.hpp"
#include "rundir/metrics.hpp"
#include "rundir/summary.hpp"

namespace hopscotch {

struct RunEnd {
    RunStatus status = RunStatus::finished;
    std::string reason;                    // interrupted, failed: why
    std::optional<Metrics> test;           // Summary::test
    std::optional<double> standard_error;  // Summary::standard_error
    double wall_s = 0, setup_s = 0;
    ByteCounts bytes;
    std::vector<ByteCounts> bytes_by_rank;
    std::int64_t storage_bytes = 0, staged_bytes = 0, weight_bytes = 0, spilled_bytes = 0;  // as in Summary
    std::vector<std::int64_t> peak_rss_bytes;                                               // by rank
    Histogram hop_s;                       // of every hop that was measured; may be empty
    std::map<TrialId, Measures> measures;  // of trials, where search.pareto asks for them
    bool synthetic = false;                // ZooEntry::synthetic of the model
};

}  // namespace hopscotch
