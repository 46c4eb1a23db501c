// SPDX-License-Identifier: Apache-2.0
// Search and schedule together: fed with lap records, a director releases laps. PURE. It never knows which strategy runs
// them. What it releases is a function of the records it was given: a resumed run feeds it the known ones again, in their
// order in the journal, and gets the same laps.
#pragma once
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/lap.hpp"
#include "search/search.hpp"

namespace hopscotch {

enum class TrialStatus { waiting, running, finished, stopped, paused, diverged, failed, interrupted };
std::string_view name_of(TrialStatus status);
bool has_ended(TrialStatus status);  // neither waiting nor running nor paused

struct TrialView {
    TrialId id;
    Assignment assignment;  // of the last lap that was released: a clone takes new values
    TrialStatus status = TrialStatus::waiting;
    std::string reason;
    int epochs_wanted = 0, epochs_done = 0;  // wanted: up to the next decision
    int first_epoch = 0;                     // of a clone: the epochs before were its source's, and count as done
    int epochs_released = 0;                 // up to there laps are under way or done
    double unit_cost = 0;                    // FLOPs of one unit
};

// What a search that decides has decided, in the order of the decisions: for the journal and for people.
struct Decision {
    enum class Kind { start, resume, go_on, finish, pause, clone, stop } kind = Kind::start;
    TrialId trial = {};
    int epoch = -1;       // after this lap, as the search saw it; start: -1
    int until_epoch = 0;  // start, resume, go_on, clone: the next decision point
    LapId source = {};    // clone
    std::string why = {};
    double virtual_time = 0;  // by arrival: how many records had come
};
std::string_view name_of(Decision::Kind kind);

class Director {
public:
    virtual ~Director() = default;

    virtual std::vector<Lap> release() = 0;  // laps that may start now; call at first and after each record
    // A finished lap, or a trial's end; known ones are dropped. Its orders are obeyed when the search hears of it; those of
    // a lap that is dropped, at once. An order that makes no sense (any more) comes to nothing.
    virtual void record(LapRecord const& record) = 0;
    virtual void interrupt() = 0;                             // no more laps; trials that are not ended become interrupted
    virtual bool finished() const = 0;                        // every trial has ended, and no more will come
    virtual std::string finish_reason() const { return {}; }  // why an order had it finish; empty: none did
    virtual std::vector<TrialView> const& trials() const = 0;

    // The sources, as ordered, of clones that wait for them or for the search to hear of their order.
    virtual std::set<LapId> ordered_sources() const = 0;

    // Since the last call. Nothing from a search that decides nothing.
    virtual std::vector<Decision> take_decisions() { return {}; }

    // Where the search clones: every lap's state must be kept, also of trials that have ended, until it is named here: no
    // decision can ask for it any more, and clones that did have trained a lap.
    virtual std::vector<LapId> take_releases() { return {}; }
};

// When a search hears of a lap (DESIGN 4.1). virtual_time: at its virtual end plus lookahead x the mean virtual duration of
// a lap, so that decisions are a function of the experiment. arrival: as soon as its record is there; depends on timing.
enum class DecideBy { virtual_time, arrival };

struct DirectorOptions {
    std::function<double(Assignment const&)> unit_cost;  // FLOPs of one unit of a trial; is kept
    int shards = 1;
    std::int64_t in_flight = 0;  // trials with a lap to train at once; 0: 2 x shards (searches that decide), all (others)
    double lookahead = 1;
    DecideBy decide_by = DecideBy::virtual_time;
};

// Throws ConfigError for early stopping where the search clones (a trial that has stopped could not be replaced).
std::unique_ptr<Director> make_director(Experiment const& experiment, std::unique_ptr<Search> search,
                                        DirectorOptions options);

}  // namespace hopscotch
