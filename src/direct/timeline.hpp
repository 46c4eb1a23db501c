// SPDX-License-Identifier: Apache-2.0
// All trials of a run on one clock (lap_clock.hpp): the laps that have begun there, that are reported, and that are released
// to real trainers. PURE. The timeline only counts; the director of the search and the orders decide, each for their own
// trials. On the clock a lap begins, is over, is due and is reported, in this order. Its record may come at any time before
// the report. A lap is released as soon as it is certain, usually long before its turn on the clock.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "direct/director.hpp"
#include "direct/early_stop.hpp"
#include "direct/lap_clock.hpp"
#include "direct/pins.hpp"
#include "experiment/objectives.hpp"
#include "schedule/routes.hpp"

namespace hopscotch {

// What a search compares after a lap; NaN: the lap has no value.
struct LapValues {
    double metric = k_no_score;           // search.metric
    std::vector<double> objectives = {};  // the metrics among search.objectives, in their order
};

// One trial on the clock.
struct TrialRun {
    struct Clone {
        LapId source;
        Assignment before;  // of the trial
        std::shared_ptr<TrialConfig const> config_before;
    };
    EarlyStop stop;
    int epochs = 0;                       // of its configuration
    int until = 0;                        // laps; the last of them is a decision point
    int first = 0;                        // its first lap; not 0: an order made the trial as a clone
    int begun = 0, reported = 0;          // laps, on the clock
    int released = 0;                     // laps
    bool runs = false;                    // a lap of it is under way on the clock
    bool failed = false;                  // the last known lap did not finish
    std::int64_t release = 0;             // of its laps
    std::vector<LapValues> values = {};   // of the laps whose records are there
    std::map<int, Clone> clones = {};     // by the lap that starts from another state, until the lap's record is there
    std::optional<TrialStatus> end = {};  // as soon as its last lap has been reported
    std::string why = {};                 // of the end

    int known() const { return static_cast<int>(values.size()); }
    bool all_reported() const { return reported >= begun; }
};

class Timeline {
public:
    // Keeps a reference to the experiment. The search is only asked for its kind.
    Timeline(Experiment const& experiment, DirectorOptions options, Search const& search);

    std::vector<TrialView> const& trials() const { return trials_; }
    TrialView& view(TrialId trial) { return trials_[trial.index()]; }
    TrialRun& run(TrialId trial) { return runs_[trial.index()]; }
    DirectorOptions const& options() const { return options_; }
    LapClock& clock() { return *clock_; }
    Pins& pins() { return pins_; }
    int running() const { return running_; }   // trials with a lap under way on the clock
    bool decides() const { return decides_; }  // the search decides on the way
    bool clones() const { return clones_; }    // the search clones trials

    // Adds a trial that waits, without laps. Returns its number.
    TrialId add(Assignment assignment, std::shared_ptr<TrialConfig const> config);
    TrialId add(Assignment const& assignment) { return add(assignment, config_of(assignment)); }
    std::shared_ptr<TrialConfig const> config_of(Assignment const& assignment) const;
    // All trials of the search have been added: asks DirectorOptions::plan, and compares each trial with all others.
    void all_added();

    // False: the lap does not count, because its trial has ended or its record is known.
    bool take(LapRecord const& record);
    bool knows(LapId lap) { return lap.epoch < run(lap.trial).known(); }

    // run_on: the trial's next lap begins on the clock, if no lap of it is under way and the next one is certain.
    bool may_run_on(TrialId trial);
    void run_on(TrialId trial);
    void lap_over(TrialId trial);
    void release_certain(TrialId trial);
    void become(TrialId trial, LapId source, Assignment assignment);  // a clone, from the trial's next lap on

    // The trial ends. A lap that is under way is trained to its end; only then does the view show the end.
    void end(TrialId trial, TrialStatus status, std::string const& why);
    void show_end(TrialId trial);
    void end_failed(TrialId trial);  // the report of the lap that failed is due
    void rewind(TrialId trial);      // to the last known lap; laps under way or released do not count

    void finish(std::string const& why) { finish_ = finish_.empty() ? why : finish_; }
    std::string const& finish_reason() const { return finish_; }  // not empty: no trial starts or goes on
    void interrupt();

    void decide(Decision decision);  // dropped if the search decides nothing on the way
    std::vector<Decision> take_decisions() { return std::exchange(decisions_, {}); }
    std::vector<Lap> take_laps() { return std::exchange(out_, {}); }

private:
    int laps_wanted(TrialRun const& run) const;
    int laps_ahead(TrialRun const& run) const;
    void forget(TrialId trial);
    void drop_clones(TrialId trial);
    LapValues values_of(LapRecord const& record, LossKind loss) const;
    std::string not_finite(LapValues const& values) const;  // the first name without a finite value; empty: all have one
    void take_back_values(TrialId trial);

    Experiment const& experiment_;
    DirectorOptions options_;
    bool decides_, clones_, trains_on_;         // trains_on: past decision points
    std::vector<ObjectiveMeasure> objectives_;  // those that are metrics
    std::vector<TrialView> trials_;
    std::deque<TrialRun> runs_;  // by trial; references to elements stay valid
    Routes routes_;
    double costs_ = 0;  // of a unit of each trial, when it was added
    std::unique_ptr<LapClock> clock_;
    int running_ = 0;
    std::int64_t grants_ = 0;
    double granted_at_ = -1;
    std::string finish_;
    Pins pins_;
    std::vector<Lap> out_;
    std::vector<Decision> decisions_;
};

}  // namespace hopscotch
