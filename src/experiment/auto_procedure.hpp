// SPDX-License-Identifier: Apache-2.0
// search.procedure "auto": the procedure that did best on public tables and curves, for such a space, such a number of
// trials, their length and the objectives (docs/decisions/0083).
#pragma once
#include <string>

#include "core/json.hpp"

namespace hopscotch {

struct Experiment;

// Replaces "auto" by the name, and adds search.sampler and search.chosen_because, the reason. Tolerates mistakes: the reader
// reports them later. before: the document of the same run as it began, whose choice holds, also with another number of
// trials; null: none.
void choose_procedure(Json& document, Json const& before);

// "procedure: asha with gp (chosen by auto: ...)"; empty if the user has named it.
std::string text_of_choice(Experiment const& experiment);

}  // namespace hopscotch
