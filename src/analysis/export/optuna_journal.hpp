// SPDX-License-Identifier: Apache-2.0
// A run as a journal file of Optuna's JournalStorage, which optuna-dashboard and optuna.load_study read. One study has all
// trials of the run, with the searched keys as parameters and the metric of each epoch as intermediate values. PURE.
#pragma once
#include <string>

#include "analysis/results/run_results.hpp"

namespace hopscotch {

// A searched value outside the space (a user's clone, an earlier run's trial) becomes a user attribute, since Optuna checks
// ranges. A trial that the search or a user stopped is pruned; one that failed or diverged failed; others are running.
std::string optuna_journal(RunResults const& data);

}  // namespace hopscotch
