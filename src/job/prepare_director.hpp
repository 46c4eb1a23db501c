// SPDX-License-Identifier: Apache-2.0
// The director of a run: the search, the strategy's limits to it, and the costs by which it plans.
#pragma once

namespace hopscotch {

struct DataSchema;
struct PreparedRun;
struct TrialConfig;

// Sets prepared.director, and of prepared.plan what follows from the search. Throws ConfigError if the strategy cannot do
// what the search asks for, or if nothing is left to train.
void prepare_director(PreparedRun& prepared);

// FLOPs of one unit of a trial, on each trainer that trains it. shards: files.
double unit_cost_of(TrialConfig const& config, DataSchema const& schema, int shards);

}  // namespace hopscotch
