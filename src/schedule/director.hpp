// SPDX-License-Identifier: Apache-2.0
// A director connects search and schedule: it takes lap records and releases laps. PURE. It does not know which strategy
// trains the laps. The released laps are a function of the records. A resumed run gives the director the records of the
// journal again, in their order, and gets the same laps.
#pragma once
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.hpp"
#include "experiment/assignment.hpp"
#include "schedule/lap.hpp"

namespace hopscotch {

class Search;
struct Experiment;
struct TrialConfig;
enum class LossKind;

enum class TrialStatus { waiting, running, finished, stopped, paused, diverged, failed, interrupted };
std::string_view name_of(TrialStatus status);
bool has_ended(TrialStatus status);  // neither waiting nor running nor paused

struct TrialView {
    TrialId id;
    Assignment assignment;  // of the last released lap: a trial that becomes a clone takes new values
    TrialStatus status = TrialStatus::waiting;
    std::string reason;
    int epochs_wanted = 0, epochs_done = 0;  // wanted: up to the next decision
    int first_epoch = 0;                     // of a clone: the epochs before were its source's, and count as done
    int epochs_released = 0;                 // laps before this one are done or with trainers
    double unit_cost = 0;                    // FLOPs of one unit
    LossKind loss = {};                      // of the assignment
    Route route = {};
};

// A decision of the search or of an order, in the order of the decisions: for the journal and for people.
struct Decision {
    enum class Kind { start, resume, go_on, finish, pause, clone, stop } kind = Kind::start;
    TrialId trial = {};
    int epoch = -1;       // the last lap that the search had heard of; start: -1
    int until_epoch = 0;  // start, resume, go_on, clone: the next decision point
    LapId source = {};    // clone
    std::string why = {};
    double virtual_time = 0;  // by arrival: the number of records so far
};
std::string_view name_of(Decision::Kind kind);

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

// When a search hears of a lap (docs/decisions/0021). virtual_time: at its virtual end plus lookahead x the mean virtual
// duration of a lap, so that decisions are a function of the experiment. arrival: when its record comes; depends on timing.
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
    std::function<double(TrialConfig const&)> unit_cost;  // FLOPs of one unit of a trial; the director keeps the function
    int shards = 1;
    std::int64_t in_flight = 0;  // trials with a lap to train at a time; 0: 2 x shards (searches that decide), all (others)
    double lookahead = 1;
    DecideBy decide_by = DecideBy::virtual_time;
    RoutePlan routes = {};
    // Instead of `routes` and `in_flight`, if the search decides nothing; asked once. Null: those.
    std::function<TrialsPlan(std::vector<TrialView> const&)> plan = {};
    // Likewise: they come before all others, in this order, and keep their routes. The longest of a run that has got more
    // trials may be a new one.
    std::vector<BegunTrial> begun = {};
};

// Throws ConfigError for early stopping if the search clones (a stopped trial could not be replaced).
std::unique_ptr<Director> make_director(Experiment const& experiment, std::unique_ptr<Search> search,
                                        DirectorOptions options);

}  // namespace hopscotch
