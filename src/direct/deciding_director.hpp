// SPDX-License-Identifier: Apache-2.0
// The director of procedures that decide on the way (ASHA, Hyperband, PBT, TPE ...). The search is asked and told in the
// order of the timeline's clock. Two shards, in flight 2, one epoch to the first decision, lookahead 1, unit cost 1:
//   virtual time  0: next() next(): trials 0, 1 start        2: their laps end; next() next(): 2, 3 start
//                 4: those end too; report(0, 0) report(1, 0) and their decisions; next() next() ...
//   real time     laps of 0 to 3 are released at once; the clock stands at 4 until the records of 0 and 1 are there
// At a decision point a trial holds no place of in_flight. When the trial goes on, it takes a place again, even if in_flight
// is then exceeded. Where the search clones, its population is fixed and no other trial would fill the place. So trials
// train on, and a verdict takes effect at the end of the lap then under way.
#pragma once
#include <map>
#include <set>

#include "direct/search_director.hpp"
#include "search/search.hpp"

namespace hopscotch {

class DecidingDirector : public SearchDirector {
public:
    DecidingDirector(Experiment const& experiment, Search& search, Timeline& timeline);

    void fill() override;
    void run_on(TrialId trial) override;
    void hear(LapId lap) override;
    void end_paused() override;
    bool grow() override;
    bool paused(TrialId trial) const override { return paused_.contains(trial); }
    void fail(TrialId trial) override;
    void finish() override {}  // at the next fill(), and at each trial's next decision

private:
    struct Plan {
        double told = k_no_score;           // the value in the last report to the search
        std::vector<double> losses = {};    // likewise Report::metrics
        std::optional<Verdict> clone = {};  // the clone that the trial becomes before its next lap
    };
    Verdict tell(Report const& report);
    std::vector<double> losses_of(LapValues const& values) const;

    void start(Proposal const& proposal);
    void resume(Proposal const& proposal);
    void become_clone(TrialId trial);

    void obey(LapId lap, Verdict const& verdict);
    void replace(LapId lap, Verdict const& verdict);
    void plateau(TrialId trial, Verdict verdict);
    void stop(TrialId trial, std::string const& why);
    void end(TrialId trial, TrialStatus status, std::string const& why);
    void stop_ended();
    void drop_clone(TrialId trial);

    SearchConfig search_config_;
    std::vector<ObjectiveMeasure> objectives_;
    Search& search_;
    Timeline& timeline_;
    std::int64_t in_flight_;
    std::map<TrialId, Plan> plans_;
    std::set<TrialId> paused_;
    bool nothing_now_ = false;  // the search has nothing to start before the next report
};

}  // namespace hopscotch
