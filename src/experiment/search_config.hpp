// SPDX-License-Identifier: Apache-2.0
// The section `search` of an experiment: the comment beside a field is its manual; docs/search.md gives advice.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/json.hpp"

namespace hopscotch {

inline constexpr std::int64_t k_most_trials = 1'000'000;  // of any search
inline constexpr std::size_t k_most_objectives = 3;

enum class Mode { min, max };
enum class AshaVariant { promote, stop };
enum class Objective { last, best };

// Limits that end the search early. Trials in training then continue to their next decision.
struct SearchBudget {
    std::optional<std::int64_t> trials;     // no more configurations than this
    std::optional<std::int64_t> epochs;     // after this many epochs of all trials, no trial starts or goes on
    std::optional<double> target;           // likewise after a trial has reported this value of search.metric
    std::optional<std::int64_t> patience;   // likewise after this many trials in a row ended without a new best; at least 1
    std::optional<double> hours;            // of wall clock, all jobs of the run together: then no trial starts or goes on
    std::optional<double> hours_per_trial;  // trained and validated: then that trial is stopped, at the end of a lap
};

struct TpeConfig {              // tpe, bohb; startup: gp, too
    std::int64_t startup = 10;  // random up to this many results; with a rule: results after the same number of epochs
    int candidates = 24;        // drawn from the good trials' density; the best ratio of good to bad is tried
    bool multivariate = true;   // one density over all keys that are always active; false: one a key
};

struct PbtConfig {
    int population = 10;     // trials
    int interval = 1;        // epochs between decisions
    double quantile = 0.25;  // share of the worst trials, which take over states of as many of the best; at most 0.5
    double resample = 0.25;  // probability that a value is drawn anew instead of perturbed
    std::vector<double> factors{0.8, 1.2};  // numbers are multiplied by one of these; lists move to a neighbour
};

// One line of subject_to; both are exclusive.
struct Constraint {
    std::string name;  // of measure_names(), or a metric among the objectives
    std::optional<double> above, below;
};

// Several trials of one configuration. The mean decides. Not available with pbt.
struct Copies {
    int repeats = 1;  // each configuration is trained this many times, each time with other random numbers
    // Cross-validation: each configuration is trained this many times (for each repeat). Each time another part of the
    // training shards is held out for validation. 1: off; at most one part for each shard.
    int folds = 1;
    // Each configuration is trained once, then those that may be the best get their other copies, one at a time.
    bool race = false;
    int count() const { return repeats * folds; }     // trials of one configuration, at most
    int first() const { return race ? 1 : count(); }  // trials that start together
};

// Measures that are traded off: metrics, and names of measure_names(). The summary lists the front.
struct FrontConfig {
    std::vector<std::string> names;     // empty: no front
    std::map<std::string, Mode> modes;  // key modes, of some names: which values are better, if not as the name says; of the
                                        // metrics of the user's own, as the model says
    // true: key objectives, two or three: trials are compared by all of them, in place of `metric`. false: key pareto, two,
    // of which train_s may be one: for the summary alone.
    bool compares = false;

    bool includes(std::string const& name) const { return std::ranges::find(names, name) != names.end(); }
};

// Which configurations are proposed, besides what the space says.
struct ProposalConfig {
    Json start_with;      // array of assignments {dotted path: value} tried first
    Json forbid;          // array of conditions {dotted path: value | [values] | {"above": x} | {"below": x}}
    Json configurations;  // manual: array of assignments {dotted path: value}, instead of a space; a key that one does not
                          // name keeps the value of the document
    std::vector<Constraint> subject_to;  // {"parameters": {"below": 1e6}}: other configurations are not tried. A trial
                                         // whose metric is outside of its bounds comes after those that meet them
    TpeConfig tpe;                       // keys startup, candidates, multivariate
    int parents = 20;                    // nsga2: the best results, of which new configurations are made; random before
    std::int64_t start_with_best = 0;    // this many configurations of start_from, the best ones, are tried first
    std::string start_from;  // the directory of an earlier run: samplers learn from its results and do not propose what it
                             // has trained
};

// When trials are compared, stopped and continued.
struct RuleConfig {
    int eta = 3;                    // successive_halving, hyperband, asha: one in eta continues, to eta times as many epochs
    std::optional<int> min_epochs;  // epochs before the first decision; default: first_decision() of search/rule.hpp
    std::optional<int> max_epochs;  // no trial trains longer; at most train.epochs, which is the default
    std::optional<int> keep;        // best_after: trials that go on after min_epochs; default: one in ten, at least one
    double confidence = 0.95;       // extrapolate: a trial stops if it will stay worse than the best with this probability
    AshaVariant variant = AshaVariant::promote;  // asha: trials pause and the best are resumed | the worst end at once
    int min_trials = 5;                          // median: a trial is stopped only if this many others have trained as long
    PbtConfig pbt;                               // keys population, interval, quantile, resample, factors
};

// When a search that decides on the way hears of a result.
struct DecideConfig {
    double lookahead = 1;       // this many laps after the virtual end of the lap (docs/architecture.md)
    bool deterministic = true;  // false: decide by arrival; then only the journal can replay the run
};

struct SearchConfig {
    // A row of experiment/procedures.cpp: a sampler, which trains each trial to its end, or a procedure that decides during
    // training which trials continue.
    std::string procedure = "grid";
    // The source of configurations for a procedure that decides: one of the samplers of its row, the first by default. For
    // the other procedures the sampler has their own name.
    std::string sampler = "grid";
    // A row of experiment/metric.cpp; a regression: val_loss unless given
    std::string metric = "val_accuracy";
    Mode mode = Mode::max;
    Objective objective = Objective::last;  // trials are compared by the metric of the last epoch | of the best epoch so far
    Copies copies;
    FrontConfig front;
    std::optional<std::int64_t> trials;     // at most a million; hyperband: iterations until this many have started, one
                                            // iteration unless given; grid, manual, ablation: all they list
    std::optional<std::int64_t> in_flight;  // trials in training at once; default 2 x shards, or min(all, 4 x trainers) if
                                            // nothing is decided on the way
    ProposalConfig proposals;
    RuleConfig rule;
    DecideConfig decide;
    SearchBudget budget;
    int retries = 0;  // how often a trial goes back to its newest checkpoint after a failure that is not its own
};

}  // namespace hopscotch
