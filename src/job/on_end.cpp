// SPDX-License-Identifier: Apache-2.0
#include "job/on_end.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "core/child_process.hpp"
#include "core/log.hpp"
#include "core/signals.hpp"
#include "experiment/run_config.hpp"
#include "rundir/summary.hpp"

namespace hopscotch {
namespace {

// With the launcher's variables, a program with MPI would take itself for a rank of this job. The HOPSCOTCH_ variables may
// come from the job whose command started this one.
bool left_out(std::string_view variable) {
    for (std::string_view const prefix : {"OMPI_", "PMIX_", "PMI_", "PRTE_", "MPI_LOCAL", "HOPSCOTCH_RUN_DIR=",
                                          "HOPSCOTCH_STATUS=", "HOPSCOTCH_BEST_TRIAL=", "HOPSCOTCH_BEST_VALUE="})
        if (variable.starts_with(prefix)) return !variable.starts_with("OMPI_ALLOW_");
    return false;
}

std::vector<std::string> environment_for(RunConfig const& run, Summary const& summary) {
    std::vector<std::string> out;
    for (auto const* const* each = ::environ; *each != nullptr; ++each)
        if (!left_out(*each)) out.emplace_back(*each);
    std::string trial, value;
    if (summary.result.best_trial) {
        trial = std::to_string(summary.result.best_trial->value);
        auto const of_best = [&](TrialSummary const& each) { return each.id == *summary.result.best_trial; };
        auto const best = std::ranges::find_if(summary.trials, of_best);
        if (best != summary.trials.end() && best->tally.best)
            value = fmt::format("{}", metric_value(*best->tally.best, summary.result.metric));
    }
    out.push_back("HOPSCOTCH_RUN_DIR=" + std::filesystem::absolute(run.dir).string());
    out.push_back(fmt::format("HOPSCOTCH_STATUS={}", name_of(summary.status)));
    out.push_back("HOPSCOTCH_BEST_TRIAL=" + trial);
    out.push_back("HOPSCOTCH_BEST_VALUE=" + value);
    return out;
}

}  // namespace

void run_on_end(RunConfig const& run, Summary const& summary) {
    if (run.on_end.empty()) return;
    std::fflush(nullptr);  // the output of the job stands before the output of the command
    int const before = signal_caught();
    auto const problem = run_child({run.on_end, environment_for(run, summary), run.limits.on_end_s},
                                   [before] { return signal_caught() != before; });
    if (!problem.empty())
        log_warning(
            fmt::format("run.on_end: {}: {} (the run itself is {})", run.on_end.front(), problem, name_of(summary.status)));
}

}  // namespace hopscotch
