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
    std::optional<Metrics> test;           // as in RunResult
    std::optional<double> standard_error;  // "
    double wall_s = 0, setup_s = 0;
    RunBytes bytes;
    Histogram hop_s;                       // of every hop that was measured; may be empty
    std::map<TrialId, Measures> measures;  // of trials, where search.objectives or search.pareto asks for them
    bool synthetic = false;                // ZooEntry::synthetic of the model
};

}  // namespace hopscotch
