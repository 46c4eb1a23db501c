// SPDX-License-Identifier: Apache-2.0
// The director of procedures that decide nothing on the way (grid, random ...). The longest trials are admitted first, and
// at most in_flight trials run at a time. At its admission, all laps of a trial are released. With early stopping only the
// certain laps are, and more after every record.
#pragma once
#include <map>
#include <vector>

#include "direct/search_director.hpp"

namespace hopscotch {

class UndecidedDirector : public SearchDirector {
public:
    UndecidedDirector(Experiment const& experiment, Search& search, Timeline& timeline);

    void fill() override;
    void run_on(TrialId trial) override { timeline_.run_on(trial); }
    void hear(LapId lap) override;
    void end_paused() override {}
    void fail(TrialId trial) override;
    void finish() override;

private:
    void begun_first();

    SearchConfig search_config_;
    Search& search_;
    Timeline& timeline_;
    std::int64_t in_flight_ = INT64_MAX;
    std::map<TrialId, double> told_;  // the value in the last report to the search
    std::vector<TrialId> waiting_;    // longest first
};

}  // namespace hopscotch
