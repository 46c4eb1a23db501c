// SPDX-License-Identifier: Apache-2.0
// The ask/tell interface of every search procedure. PURE: it sees no clock, file or network; the same calls in the same
// order give the same answers. The director calls it in virtual-time order, so the same experiment gives the same calls. A
// trial that was proposed and not reported is pending; the procedures count it as pending.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.hpp"
#include "experiment/assignment.hpp"
#include "search/context.hpp"

namespace hopscotch {

struct Experiment;

// The answer of next(): start a new trial, or resume a paused one.
struct Proposal {
    enum class Kind { start, resume } kind = Kind::start;
    TrialId trial;          // start: a new id, counted from 0 in the order of the proposals; resume: a paused trial
    Assignment assignment;  // start: the values of the space
    int until_epoch = 0;    // train up to this many epochs in all; a decision follows the last one
};

// One finished lap (every lap is reported), or the end of a trial that failed or diverged.
struct Report {
    TrialId trial;
    int epoch = 0;               // 0-based lap
    std::optional<double> loss;  // lower is better (negate a metric to be maximised). None: failed, diverged or NaN, worse
                                 // than any loss; the trial has ended
    std::vector<double> metrics = {};  // likewise of the metrics among search.objectives, in their order
};

// Obeyed at decision points (epoch + 1 == until_epoch). Between them only go_on is allowed.
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

    // Called while fewer trials run than are allowed. None: no trial can start now (see finished()).
    virtual std::optional<Proposal> next() = 0;

    virtual Verdict report(Report const& report) = 0;

    // True: next() will never propose again. Trials that are still paused end as stopped.
    virtual bool finished() const = 0;

    // Paused trials that the search has ended since the last call, with the reasons; they are stopped.
    struct Ended {
        TrialId trial;
        std::string why;
    };
    virtual std::vector<Ended> take_ended() { return {}; }

    // Called once no trial runs or is paused, and next() proposes none: opens the next stage of a run that got more trials.
    // Trials that were paused have ended. False: there is none.
    virtual bool grow() { return false; }

    // Once finished: why the trials that are still paused were not resumed.
    virtual std::string why_not_resumed() const { return "never promoted"; }

    // True: no result changes what is trained. The director may ask for all trials at once and release every lap.
    virtual bool decides_nothing() const { return false; }

    // True: a verdict may be `clone`. The state of each reported lap is kept until the trial's next lap is reported.
    virtual bool clones() const { return false; }
};

// Throws ConfigError that lists the known names.
std::unique_ptr<Search> make_search(Experiment const& experiment, SearchContext const& context = {});

}  // namespace hopscotch
