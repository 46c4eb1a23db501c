// SPDX-License-Identifier: Apache-2.0
// What the script of a report draws (report/page/): one JSON object for each run. PURE. Numbers that are not finite are
// null.
#pragma once
#include <string_view>

#include "analysis/results/run_results.hpp"

namespace hopscotch {

// id_prefix: of the elements of this run. The object has:
//   id, name                    the prefix, the run directory
//   end                         seconds
//   metrics                     [{name, mode}]: first the one that compares the trials
//   count, placed, groupCount   of all trials, those with a value, all groups with a value
//   best                        [trial, epoch] of the best model, or null
//   steps                       [[seconds, value]]: where the best value so far improved
//   trials                      best first: {id, status, epochs, end, trained, bestEpoch, best: value of each metric,
//                               config: [[path, text]], at: epochs of the first metric, othersAt: of the others (null: the
//                               same), values: for each metric, log: [line]}
//   keys, keyCount              searched keys that vary: {name, log, whole, low, high, categories}
//   groups                      best first: {trials, value, keys: a number for each key}
// and what search_data() and time_data() say.
Json report_data(RunResults const& data, std::string_view id_prefix);

// Adds: importance ([[key, share]]), importanceFrom (configurations), pareto, lengths (epochs of each trial, if there are
// rungs), clones ([[trial, epoch, source, its epoch]]).
void add_search_data(Json& out, RunResults const& data);

// Adds: time ({trainers, rows, pieces, cells, path, losses, pauses, checkpoints, unseen, partNames, parts}, or null).
void add_time_data(Json& out, RunResults const& data);

// Indices of at most `most` of `count` things in order: the first ones, and the others evenly.
std::vector<std::size_t> thinned(std::size_t count, std::size_t most, std::size_t first);

Json rounded_json(double value, int digits = 4);  // to this many digits; null: not finite

}  // namespace hopscotch
