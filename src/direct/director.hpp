// SPDX-License-Identifier: Apache-2.0
// A director connects search and schedule: it takes lap records and releases laps. PURE. It does not know which strategy
// trains the laps. The released laps are a function of the records. A resumed run gives the director the records of the
// journal again, in their order, and gets the same laps.
#pragma once
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "direct/trial_view.hpp"
#include "schedule/lap.hpp"

namespace hopscotch {

class Search;
struct Experiment;
struct TrialConfig;

class Director {
public:
    virtual ~Director() = default;

    virtual std::vector<Lap> release() = 0;  // laps that may start now; call it first, and after each record
    // A finished lap, or a trial's end; a known lap is dropped. The orders of a lap are obeyed when the search hears of the
    // lap; the orders of a dropped lap are obeyed at once. An order that cannot be obeyed (any more) has no effect.
    virtual void record(LapRecord const& record) = 0;
    virtual void interrupt() = 0;                   // no more laps; trials that have not ended are interrupted
    virtual bool finished() const = 0;              // every trial has ended, and no more will come
    virtual std::string finish_reason() const = 0;  // of the order to finish; empty: there was none
    virtual std::vector<TrialView> const& trials() const = 0;

    // The ordered sources of clones that have not begun.
    virtual std::set<LapId> ordered_sources() const = 0;

    // Since the last call. None if the search decides nothing on the way.
    virtual std::vector<Decision> take_decisions() = 0;

    // If the search clones, the state at the end of every lap must be kept until it is named here, also after the trial's
    // end. A named state is not needed: no decision can ask for it any more, and its clones have trained a lap.
    virtual std::vector<LapId> take_releases() = 0;
};

// The time at which a search hears of a lap (docs/decisions/0021). virtual_time: at its virtual end plus lookahead x the
// mean virtual duration of a lap, so that decisions are a function of the experiment. arrival: when its record comes;
// depends on timing.
enum class DecideBy { virtual_time, arrival };

// Of a search that decides nothing on the way, made when all its trials are known.
struct TrialsPlan {
    RoutePlan routes;
    std::int64_t in_flight = 0;
};

// A trial that an earlier job began.
struct BegunTrial {
    TrialId trial;
    Route route = {};  // that its laps have
};

struct DirectorOptions {
    std::function<double(TrialView const&)> unit_cost;  // FLOPs of one unit, by id, assignment and config; kept
    int shards = 1;
    std::int64_t in_flight = 0;  // trials with a lap to train at a time; 0: 2 x shards (searches that decide), all (others)
    double lookahead = 1;
    DecideBy decide_by = DecideBy::virtual_time;
    RoutePlan routes = {};
    // Replaces `routes` and `in_flight`, if the search decides nothing; asked once. Null: they hold.
    std::function<TrialsPlan(std::vector<TrialView> const&)> plan = {};
    // Likewise: they come before all others, in this order, and keep their routes. The longest of a run that has got more
    // trials may be a new one.
    std::vector<BegunTrial> begun = {};
};

// Throws ConfigError for early stopping if the search clones (a stopped trial could not be replaced).
std::unique_ptr<Director> make_director(Experiment const& experiment, std::unique_ptr<Search> search,
                                        DirectorOptions options);

}  // namespace hopscotch
