// SPDX-License-Identifier: Apache-2.0
// Searches that are played on known results: what each would have found, and at what cost.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "analysis/what_if/known_trials.hpp"

namespace hopscotch {

// A procedure with other settings: "asha", {"search.eta=4"}.
struct WhatIfCase {
    std::string procedure;
    std::vector<std::string> overrides;
    std::int64_t epochs = 0;  // search.budget.epochs
};

struct PlayedSearch {
    std::vector<Decision> decisions;
    std::optional<double> best;  // value of the best epoch that the search trained; none: no value was finite
    std::size_t best_trial = 0;  // index in KnownTrials::trials
    // Of a run with several objectives: what the trials, each at its best epoch, cover of the box that all known trials
    // span.
    std::optional<double> hypervolume;
    bool hypervolume_is_known() const { return hypervolume.has_value(); }
    std::int64_t trials = 0, epochs = 0;
    struct Improvement {
        std::int64_t epochs;  // of all trials, in the order of the search
        double best;
    };
    std::vector<Improvement> improvements;
    std::int64_t not_known = 0;  // of the epochs: never trained, so the last known values took their places
    double seconds = 0;          // of trainers, as recorded, in the known epochs
};

// The run's own search. Its decisions are those of the journal. Throws ConfigError if the run has not finished, or asks for
// what only the program with the models knows (search.subject_to).
PlayedSearch play_own_search(KnownTrials const& known, RecordedRun const& run);

// The experiment of such a search, which tries the configurations in the order in which they are known. Throws ConfigError
// for a procedure that draws configurations by results, or whose trials take over states.
Experiment experiment_of(KnownTrials const& known, WhatIfCase const& wanted);

// Plays it. order: of the configurations; 0: that of the experiment; others: shuffled.
PlayedSearch play(KnownTrials const& known, Experiment experiment, int order);
inline PlayedSearch play(KnownTrials const& known, WhatIfCase const& wanted, int order) {
    return play(known, experiment_of(known, wanted), order);
}

// The first decision in which two lists differ, whatever its words are; none: they are equal.
std::optional<std::string> first_difference(std::vector<Decision> const& recorded, std::vector<Decision> const& played);

}  // namespace hopscotch
