// SPDX-License-Identifier: Apache-2.0
// A rule decides which trials go on, and for how many epochs. It is one half of a procedure; the other half is the sampler.
// A rule hears of trials that start, reach a decision point or fail. It may pause trials and resume them.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>

#include "search/history.hpp"
#include "search/search.hpp"

namespace hopscotch {

struct Space;

class Rule {
public:
    struct Resumption {
        TrialId trial;
        int until_epoch = 0;
    };

    virtual ~Rule() = default;

    // False: no new trial may start, now or later.
    virtual bool wants() const = 0;
    // The rung at which the next trial starts, from 0: its first decision point among those of all trials.
    virtual int next_rung() const { return 0; }
    // The next trial by number was proposed; wanted: epochs of its configuration. Returns its first decision point.
    virtual int start(TrialId trial, int wanted) = 0;
    // No further trial will start: no configuration is left, or there are enough trials.
    virtual void close() {}

    // More trials may start after close(): `most` in all. No trial runs, and the paused ones have ended.
    virtual void grow(std::int64_t /*most*/) {}

    virtual bool pauses() const { return false; }                        // resume() may return a trial later
    virtual bool can_resume() const { return false; }                    // ... and would now
    virtual std::optional<Resumption> resume() { return std::nullopt; }  // before any new trial

    // At a decision point; its loss is the last one in the history. A verdict of go_on leads to until_epoch.
    virtual Verdict decide(TrialId trial, History const& history) = 0;
    // The trial has ended: it failed on the way to the decision point history.of(trial).until_epoch.
    virtual void fail(TrialId trial, History const& history) = 0;

    virtual bool decides() const { return true; }
    virtual bool clones() const { return false; }
};

// max_epochs, or train.epochs.
int most_epochs(Experiment const& experiment);

// min_epochs. Its default is 1 where a procedure hedges against noise in first epochs (hyperband) or halves from the last
// rung down (successive_halving). Elsewhere it is the procedure's share of max_epochs (experiment/procedures.hpp), at least
// 2, and leaves room for one more rung.
int first_decision(Experiment const& experiment);

// most: number of trials in all; none: not known.
std::unique_ptr<Rule> make_no_rule(Experiment const& experiment);
std::unique_ptr<Rule> make_successive_halving(Experiment const& experiment, std::optional<std::int64_t> most);
std::unique_ptr<Rule> make_best_after(Experiment const& experiment, std::optional<std::int64_t> most);
std::unique_ptr<Rule> make_hyperband(Experiment const& experiment, std::optional<std::int64_t> most);
std::unique_ptr<Rule> make_asha(Experiment const& experiment, std::optional<std::int64_t> most);
std::unique_ptr<Rule> make_extrapolate(Experiment const& experiment);
std::unique_ptr<Rule> make_median(Experiment const& experiment);
std::unique_ptr<Rule> make_pbt(Experiment const& experiment, Space const& space);

}  // namespace hopscotch
