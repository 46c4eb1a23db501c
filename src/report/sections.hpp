// SPDX-License-Identifier: Apache-2.0
// The parts of a report, in the order of the page. Each is HTML; empty: the run has nothing to show there.
#pragma once
#include <string>
#include <string_view>

#include "analysis/results/run_results.hpp"
#include "report/svg.hpp"

namespace hopscotch {

std::string answer_section(RunResults const& data);  // the result in a sentence, and the figures of the run
std::string history_section(RunResults const& data);
std::string curves_section(RunResults const& data);
std::string metrics_section(RunResults const& data);  // the other metrics, by epoch
std::string errors_section(RunResults const& data);   // the errors of the best model
std::string ranking_section(RunResults const& data);
std::string parallel_section(RunResults const& data);
std::string importance_section(RunResults const& data);
std::string slices_section(RunResults const& data);
std::string pareto_section(RunResults const& data);
std::string rungs_section(RunResults const& data);
std::string family_section(RunResults const& data);
std::string timeline_section(RunResults const& data);
std::string idle_section(RunResults const& data);
std::string bytes_section(RunResults const& data);
std::string memory_section(RunResults const& data);
std::string failures_section(RunResults const& data);
std::string reproduce_section(RunResults const& data);
std::string trial_section(RunResults const& data);  // the trial that a click chooses: its data, drawn by the script

// The common parts of the sections.
std::string figure(std::string svg, std::string_view caption);              // caption: HTML
std::string note(std::string_view text);                                    // text: escaped here
std::string trial_name(TrialResults const& trial);                          // "trial 7: lr=0.1 hidden=[64]"
std::string group_name(RunResults const& data, GroupResults const& group);  // likewise; "trials 6-8: lr=0.1"

std::vector<std::size_t> by_value(RunResults const& data);  // trials with a value, best first

// The distance of the second trial from the best, and whether the noise explains it; "": there is no second.
std::string second_place(RunResults const& data);

// Indices of at most `most` of `count` things in order: the first ones, and the others evenly.
std::vector<std::size_t> thinned(std::size_t count, std::size_t most, std::size_t first);

// For values of search.metric: bad ones that would press the others together lie outside.
AxisScale metric_scale(std::vector<double> values, Mode mode);

}  // namespace hopscotch
