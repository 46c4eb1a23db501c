// SPDX-License-Identifier: Apache-2.0
// The routes of a run's trials, and the number of trials in training at once: as an earlier job recorded them, as the
// experiment says, or as simulations in FLOPs prefer.
#pragma once
#include <cstdint>
#include <vector>

#include "schedule/visit.hpp"

namespace hopscotch {

struct DirectorOptions;
struct PreparedRun;
struct TrialView;

// Sets routes and in_flight of the options, and PreparedRun::routes, admits and routes_and_number: of a search that decides
// nothing on the way when the director asks, with all trials known. The options refer to `prepared` only until then.
void plan_trials(PreparedRun& prepared, DirectorOptions& options);

// Trials that have begun and not ended at one time: those in flight and, of a search that decides in virtual time, those
// whose results it awaits (about `lookahead` laps of each in flight).
std::int64_t trials_at_once(PreparedRun const& prepared);

// For simulations, in FLOPs: training and, at a third of its cost a row, validation.
std::vector<TrialCost> costs_of(PreparedRun const& prepared, std::vector<TrialView> const& trials);

}  // namespace hopscotch
