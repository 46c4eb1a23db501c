// SPDX-License-Identifier: Apache-2.0
// How fast these trainers are, as an earlier run has found out: what makes hours of a plan's FLOPs.
#pragma once
#include <optional>
#include <string>

#include "app/prepared_run.hpp"

namespace hopscotch {

struct KnownSpeed {
    std::string run;              // directory
    double seconds_per_flop = 0;  // of one trainer; of a trial's unit_cost, with the validations that go with it
};

// Of search.start_from, or of the run that run.dir holds: on the same dataset, by a strategy whose units are one trainer's.
// None if there is none, or it cannot be read.
std::optional<KnownSpeed> known_speed(PreparedRun const& prepared);

}  // namespace hopscotch
