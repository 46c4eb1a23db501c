// SPDX-License-Identifier: Apache-2.0
// What a run's trials say about each other: the Pareto front (search.pareto) and what an ablation found, for summary.json
// and as text for the terminal.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "run/summary.hpp"
#include "search/search.hpp"

namespace hopscotch {

// None if the search names none, or names sizes that nobody has measured (after a signal there is no time to). Metrics are
// of a trial's best epoch; trials without one of the two values are left out.
std::optional<ParetoFront> pareto_of(Summary const& summary, SearchConfig const& search,
                                     std::map<TrialId, Measures> const& measures);

// Of procedure ablation; else empty. The metric of a trial's best epoch, or the mean of a group.
std::vector<AblationRow> ablation_of(Summary const& summary, Experiment const& experiment);

// Without search.repeat and search.fold.
Assignment configuration_of(Assignment const& assignment);

// Tables; empty if there is none.
std::string pareto_text(Summary const& summary);
std::string ablation_text(Summary const& summary);

}  // namespace hopscotch
