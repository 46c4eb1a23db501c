// SPDX-License-Identifier: Apache-2.0
// The ask/tell interface of every search procedure. PURE: it sees no clock, file or network; the same calls in the same
// order give the same answers. Whoever calls it (the director) does so in virtual-time order, so the same experiment gives
// the same calls. A trial that has been proposed and not reported is pending, and the procedures count it as that.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.hpp"
#include "experiment/config.hpp"
#include "experiment/measures.hpp"
#include "search/past.hpp"

namespace hopscotch {

// What next() asks the director to do.
struct Proposal {
    enum class Kind { start, resume } kind = Kind::start;
    TrialId trial;          // start: a new id, counted from 0 in the order of the proposals; resume: a paused trial
    Assignment assignment;  // start: the values of the space
    int until_epoch = 0;    // train up to this many epochs in all; the last of them is a decision point
};

// One finished lap (every lap is reported), or the end of a trial that failed or diverged.
struct Report {
    TrialId trial;
    int epoch = 0;               // 0-based lap
    std::optional<double> loss;  // lower is better (negate what is to be maximised); none: failed, diverged or NaN, which is
                                 // the worst there is, and the trial has ended
};

// Obeyed at decision points (epoch + 1 == until_epoch). Elsewhere only go_on has a meaning.
struct Verdict {
    enum class Kind { go_on, stop, pause, clone } kind = Kind::go_on;
    int until_epoch = 0;  // go_on, clone: the next decision point; go_on up to epoch + 1 or less: the trial is finished
    TrialId source;       // clone: take over this trial's state after this (0-based) epoch, which has been reported ...
    int source_epoch = 0;
    Assignment assignment;  // ... with these values (hyperparameters only); the trial's own count of laps goes on
    std::string why;        // one line for the log of decisions: "rung 1 (3 epochs): rank 4 of 12, 2 go on"
};

inline Verdict stopped(std::string why) {
    Verdict out;
    out.kind = Verdict::Kind::stop;
    out.why = std::move(why);
    return out;
}

class Search {
public:
    virtual ~Search() = default;

    // Called while fewer trials are alive than may be. None: nothing to start now (see finished()).
    virtual std::optional<Proposal> next() = 0;

    virtual Verdict report(Report const& report) = 0;

    // next() will never propose again. Trials that are paused then end as stopped: they were never promoted.
    virtual bool finished() const = 0;

    // Paused trials that have ended since the last call: they are stopped, and why.
    struct Ended {
        TrialId trial;
        std::string why;
    };
    virtual std::vector<Ended> take_ended() { return {}; }

    // Why trials that are still paused then were not taken up again.
    virtual std::string why_left() const { return "never promoted"; }

    // Procedures that decide nothing on the way: the director may ask for every trial at once and release every lap.
    virtual bool decides_nothing() const { return false; }

    // May answer clone: the boundary state of each reported lap is then kept until the trial's next one has been reported.
    virtual bool clones() const { return false; }
};

// Of a configuration; the caller knows the models.
using Measure = std::function<Measures(Assignment const&)>;

// What a search is given besides its experiment.
struct SearchContext {
    std::vector<PastTrial> past = {};  // search.start_from; those that the space could not propose are left out
    Measure measure = {};              // where there is search.subject_to
};

// Throws ConfigError that lists the known names.
std::unique_ptr<Search> make_search(Experiment const& experiment, SearchContext const& context = {});

// Search::clones() of this procedure, for who needs no search.
bool procedure_clones(std::string_view procedure);

}  // namespace hopscotch
