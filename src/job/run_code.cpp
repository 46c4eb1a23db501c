// SPDX-License-Identifier: Apache-2.0
#include "job/run_code.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.hpp"
#include "experiment/reader.hpp"
#include "model/zoo/trusted_code.hpp"
#include "rundir/journal.hpp"

namespace hopscotch {

// The configuration with which a trial was released counts, not the experiment: the journal may come from another user, too.
std::set<std::string> code_files(Experiment const& experiment, Journal const& journal) {
    std::set<std::string> out{experiment.model.file};
    std::map<TrialId, Assignment const*> before;
    for (auto const& lap : journal.released) {
        auto& known = before[lap.trial];
        if (known != nullptr && *known == lap.assignment) continue;
        known = &lap.assignment;
        out.insert(resolve(experiment, lap.assignment, "journal.jsonl").model.file);
    }
    out.erase("");
    return out;
}

void require_allowed(RunCode code, std::set<std::string> files, std::string const& run_dir) {
    if (code == RunCode::allowed) return trust_code(files);
    std::erase_if(files, is_trusted);
    if (files.empty()) return;
    throw ConfigError(
        fmt::format("{}: this command would execute the code in {} (the run directory names it as model.file, and "
                    "docs/security.md says why that matters); if you trust it, add --allow-code",
                    run_dir, fmt::join(files, " and ")));
}

}  // namespace hopscotch
