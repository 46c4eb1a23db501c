// SPDX-License-Identifier: Apache-2.0
// Comparisons of a run's trials: the Pareto front (search.objectives, search.pareto) and the result of an ablation, for
// summary.json and as text for the terminal.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "experiment/assignment.hpp"

namespace hopscotch {

struct AblationRow;
struct Experiment;
struct ParetoFront;
struct SearchConfig;
struct Summary;

// None if the search names no measures, or sizes that are not measured (after a signal there is no time). Metrics are of a
// trial's best epoch. Trials without one of the values are left out.
std::optional<ParetoFront> pareto_of(Summary const& summary, SearchConfig const& search);

// Empty for other procedures than ablation. The metric of a trial's best epoch, or the mean of a group.
std::vector<AblationRow> ablation_of(Summary const& summary, Experiment const& experiment);

// Tables; empty if there is none.
std::string pareto_text(Summary const& summary);
std::string pareto_text(ParetoFront const& front, std::string_view compared);  // "trials", "configurations"
std::string ablation_text(Summary const& summary);

}  // namespace hopscotch
