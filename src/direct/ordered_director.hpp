// SPDX-License-Identifier: Apache-2.0
// Orders of users and limits (lap.hpp), around the director of a search. PURE. An order comes with the record of a lap. It
// is obeyed when that lap is delivered, that is, when the search hears of the lap (docs/decisions/0024). From then on this
// class owns the trial that the order stopped, resumed or made. The search's director hears that the trial failed, and
// nothing more.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "direct/numbered_search.hpp"
#include "direct/search_director.hpp"

namespace hopscotch {

class OrderedDirector : public Director {
public:
    OrderedDirector(Experiment const& experiment, std::unique_ptr<Search> search, DirectorOptions options);

    std::vector<Lap> release() override { return timeline_.take_laps(); }
    void record(LapRecord const& record) override;
    void interrupt() override;
    bool finished() const override { return over_ || interrupted_; }
    std::string finish_reason() const override { return timeline_.finish_reason(); }
    std::vector<TrialView> const& trials() const override { return timeline_.trials(); }
    std::set<LapId> ordered_sources() const override;
    std::vector<Decision> take_decisions() override { return timeline_.take_decisions(); }
    std::vector<LapId> take_releases() override { return timeline_.pins().take(); }

private:
    // An order, and its number in the order of arrival. A stop and a later resume of one trial are obeyed in this order,
    // even if the clock delivers the lap of the resume first.
    struct Given {
        std::int64_t number = 0;
        Order order;
    };

    void advance();
    void lap_over(LapId lap);
    void deliver(LapId lap);
    void hear(LapId lap);

    std::vector<Given> numbered(std::vector<Order> const& orders);
    void obey_orders();
    void obey(Given const& given);
    void finish(std::string const& why);
    void stop(Given const& given);
    void resume(Given const& given);
    void begin_clones();
    void begin_clone(Order order);
    void become_clone(TrialId trial);

    bool rests(TrialId trial);
    void take_over(TrialId trial);
    void hear_owned(LapId lap);
    void end_owned(TrialId trial, std::string const& why);

    Experiment experiment_;
    Timeline timeline_;
    NumberedSearch search_;
    std::unique_ptr<SearchDirector> director_;
    bool over_ = false, interrupted_ = false;

    std::set<TrialId> owned_;                          // trials that orders stopped, resumed or made
    std::map<TrialId, LapId> sources_;                 // of trials that orders made
    std::map<LapId, std::vector<Given>> orders_;       // by lap that is not delivered
    std::deque<Given> due_;                            // to be obeyed now
    std::int64_t given_ = 0;                           // orders so far
    std::map<TrialId, std::set<std::int64_t>> stops_;  // numbers of the orders that are not obeyed yet
    std::map<TrialId, Given> resumes_;                 // wait until the trial rests
    std::vector<Order> clones_;                        // wait for the source's lap
};

}  // namespace hopscotch
