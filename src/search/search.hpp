// SPDX-License-Identifier: Apache-2.0
// The ask/tell interface of every search procedure. PURE: it sees no clock, file or network; the same calls in the same
// order give the same answers. Grid and random decide nothing on the way; ASHA, Hyperband, PBT and TPE fit unchanged.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "experiment/config.hpp"

namespace hopscotch {

// What next() asks the director to do.
struct Proposal {
    enum class Kind { start, resume } kind = Kind::start;
    TrialId trial;          // start: a new id, counted from 0 in the order of the proposals
    Assignment assignment;  // start: the values of the space
    int until_epoch = 0;    // train up to this many epochs in all, then report the last one as a decision point
};

// One finished lap, or the end of a trial that failed or diverged.
struct Report {
    TrialId trial;
    int epoch = 0;                  // 0-based lap
    std::optional<double> metric;   // none: failed or diverged (counts as worst)
};

struct Verdict {
    enum class Kind { go_on, stop, pause, clone } kind = Kind::go_on;
    TrialId source;                 // clone: take over this trial's state ...
    Assignment assignment;          // ... with these values
};

class Search {
public:
    virtual ~Search() = default;
    virtual std::optional<Proposal> next() = 0;         // none: nothing to start now (see finished())
    virtual Verdict report(Report const& report) = 0;
    virtual bool finished() const = 0;                  // next() will never propose again
    // Procedures that decide nothing on the way: the director may ask for every trial at once and release every lap.
    virtual bool decides_nothing() const { return false; }
};

// Throws ConfigError that lists the known names.
std::unique_ptr<Search> make_search(Experiment const& experiment);
std::vector<std::string> search_names();

}  // namespace hopscotch
