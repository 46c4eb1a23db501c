// SPDX-License-Identifier: Apache-2.0
// The sentences and tables of a report, in the order of the page. Each is HTML; empty: the run has nothing to show there.
// The pictures are the script's (report/page/).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "analysis/results/run_results.hpp"

namespace hopscotch {

std::string answer_section(RunResults const& data);  // the result in a sentence, and the figures of the run
std::string ranking_section(RunResults const& data);
std::string errors_section(RunResults const& data);  // the errors of the best model
std::string rungs_section(RunResults const& data);
std::string timeline_section(RunResults const& data);
std::string idle_section(RunResults const& data);
std::string bytes_section(RunResults const& data);
std::string memory_section(RunResults const& data);
std::string failures_section(RunResults const& data);
std::string reproduce_section(RunResults const& data);

inline constexpr std::size_t k_most_listed = 1000;  // rows of the leaderboard, and trials that the script knows
std::vector<std::size_t> groups_by_place(RunResults const& data);  // best first, then those without a value
bool has_rungs(RunResults const& data);                            // the search procedure decided at rungs
std::string note(std::string_view text);                           // a paragraph; text: escaped here

// The distance of the second trial from the best, and whether the noise explains it; "": there is no second.
std::string second_place(RunResults const& data);

}  // namespace hopscotch
