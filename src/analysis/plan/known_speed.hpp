// SPDX-License-Identifier: Apache-2.0
// The speed of the trainers in an earlier run. With this speed, the FLOPs of a plan become hours.
#pragma once
#include <optional>
#include <string>

namespace hopscotch {

struct PreparedRun;
struct TrialConfig;
enum class Engine;

struct KnownSpeed {
    std::string run;              // directory
    double seconds_per_flop = 0;  // of one trainer: unit_cost of a trial, with its validations
};

// From the run of search.start_from, or the one in run.dir, if it used the same dataset and a strategy that trains each unit
// on one trainer; of that run the trials that this run would train by the same step. None if there are none.
std::optional<KnownSpeed> known_speed(PreparedRun const& prepared);

// Whether a run with this engine trains a trial like that one by the same step: another step has another speed.
bool by_same_step(TrialConfig past, Engine engine);

}  // namespace hopscotch
