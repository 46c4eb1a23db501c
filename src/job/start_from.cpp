// SPDX-License-Identifier: Apache-2.0
#include "job/start_from.hpp"

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/json_reader.hpp"
#include "experiment/config.hpp"
#include "experiment/space.hpp"
#include "rundir/past_run.hpp"
#include "rundir/recorded_run.hpp"
#include "rundir/run_directory.hpp"

namespace hopscotch {
namespace {

void complain(Experiment const& experiment, std::string const& problem, Problems& problems) {
    auto const* search = experiment.document.find("search");
    auto const* given = search != nullptr ? search->find("start_from") : nullptr;
    problems.add(given != nullptr ? given->at_position() : Position{}, "/search/start_from", problem);
}

std::string counts(std::string const& from, std::size_t known, std::size_t left_out) {
    auto out = fmt::format("search.start_from: {} trial{} of {} {} known to the search", known, known == 1 ? "" : "s", from,
                           known == 1 ? "is" : "are");
    return left_out == 0 ? out : out + fmt::format(", {} not (outside this space)", left_out);
}

}  // namespace

StartFrom read_start_from(Experiment const& experiment, std::string const& dataset_hash, Problems& problems) {
    StartFrom out;
    auto const& search = experiment.search;
    if (search.proposals.start_from.empty()) return out;
    if (!holds_run(search.proposals.start_from)) {
        complain(experiment,
                 fmt::format("{} is not a run directory (experiment.json or journal.jsonl is missing); "
                             "give the run.dir of an earlier run",
                             search.proposals.start_from),
                 problems);
        return out;
    }
    try {
        auto const run = read_run(search.proposals.start_from);
        auto const trials = past_trials(run, search);
        Problems told("");  // of the space: said when the experiment was read
        out.context.past = usable_past(read_space(experiment, told), trials);
        out.counted = counts(search.proposals.start_from, out.context.past.size(), trials.size() - out.context.past.size());
        if (run.facts.dataset_hash != dataset_hash)
            out.notes.push_back(
                fmt::format("search.start_from: {} was trained on another dataset", search.proposals.start_from));
    } catch (DataError const& error) {
        complain(experiment, error.what(), problems);
    }
    return out;
}

StartFrom resume_start_from(Experiment const& experiment) {
    StartFrom out;
    if (experiment.search.proposals.start_from.empty()) return out;
    try {
        out.context.past = read_past_trials(std::filesystem::path(experiment.run.dir) / "start_from.json");
    } catch (DataError const& error) {
        throw ConfigError(fmt::format("--resume: {}", error.what()));
    }
    return out;
}

}  // namespace hopscotch
