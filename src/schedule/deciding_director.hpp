// SPDX-License-Identifier: Apache-2.0
// The director of procedures that decide on the way (ASHA, Hyperband, PBT, TPE ...). Trials run on the clock of
// lap_clock.hpp; the search is asked and told in its order, and real trainers get every lap that is certain, which is
// usually long before it is their turn. Two shards, in flight 2, one epoch to the first decision, lookahead 1, unit cost 1:
//   virtual time  0: next() next(): trials 0, 1 start        2: their laps end; next() next(): 2, 3 start
//                 4: those end too; report(0, 0) report(1, 0) and what they decide; next() next() ...
//   real time     laps of 0 to 3 are released at once; the clock stands at 4 until the records of 0 and 1 are there
// At a decision point a trial holds no place of in_flight; it takes one again when it goes on, if need be one more than
// there are. Where the search clones, its population is fixed and nobody would fill the place: so trials train on, and a
// verdict takes effect at the end of the lap that is under way when it falls.
// What orders have stopped, taken up or made is set apart: the search has no say in it. Trials that it does not know make
// its numbers for trials other than the director's.
#pragma once
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "schedule/director.hpp"
#include "schedule/early_stop.hpp"
#include "schedule/lap_clock.hpp"
#include "schedule/pins.hpp"

namespace hopscotch {

class DecidingDirector : public Director {
public:
    DecidingDirector(Experiment const& experiment, std::unique_ptr<Search> search, DirectorOptions options);

    std::vector<Lap> release() override { return std::exchange(out_, {}); }
    void record(LapRecord const& record) override;
    void interrupt() override;
    bool finished() const override { return over_ || interrupted_; }
    std::vector<TrialView> const& trials() const override { return trials_; }
    std::vector<Decision> take_decisions() override { return std::exchange(decisions_, {}); }
    std::vector<LapId> take_releases() override { return pins_.take(); }
    std::string finish_reason() const override { return finish_; }
    std::set<LapId> ordered_sources() const override;

private:
    // A trial is stopped before it is taken up, if that is how it was ordered: the clock may deliver the lap of the second
    // order first.
    struct Given {
        std::int64_t number = 0;
        Order order;
    };
    struct Clone {
        LapId source;
        Assignment before;  // of the trial
    };
    struct Plan {
        LossKind loss = LossKind::cross_entropy;
        EarlyStop stop;
        int epochs = 0;                        // of its configuration
        int until = 0;                         // laps; the last of them is a decision point
        int begun = 0, reported = 0;           // laps, on the clock
        int released = 0;                      // laps
        double told = k_no_score;              // what the search went by at the last report
        bool runs = false;                     // a lap of it is under way on the clock
        std::vector<double> values = {};       // of the laps whose records are there; not finite: it ended the trial
        std::int64_t release = 0;              // of its laps
        std::optional<Verdict> clone = {};     // what it becomes before its next lap
        std::map<int, Clone> clones = {};      // by lap that one starts with, until its record is there
        std::optional<TrialStatus> end = {};   // as soon as its last lap has been reported
        std::string why = {};                  // of the end
        std::optional<TrialId> known_as = {};  // the search's number for it; none: it knows nothing of it
        std::optional<LapId> source = {};      // an order made it from that state
        bool apart = false;
        std::optional<Given> resume = {};  // to be obeyed when it rests
        int first = 0, heard_of = 0;       // laps: its first one; apart: how many the search has heard of
    };
    Plan& plan_of(TrialId trial) { return plans_[trial.index()]; }
    static bool failed(Plan const& plan);
    static bool over(Plan const& plan) { return failed(plan) || (plan.apart && plan.end && plan.reported >= plan.begun); }
    Verdict tell(Report report);
    int laps_wanted(Plan const& plan) const;
    int laps_ahead(Plan const& plan) const;

    // The clock.
    void advance();
    void fill();
    void lap_over(LapId lap);
    void deliver(LapId lap);
    void hear(LapId lap);
    void hear_apart(LapId lap);

    // Laps.
    void start(Proposal const& proposal);
    void resume(Proposal const& proposal);
    void run_on(TrialId trial);
    void become_clone(TrialId trial);
    void release_certain(TrialId trial);

    // Verdicts and ends.
    void obey(LapId lap, Verdict const& verdict);
    void replace(LapId lap, Verdict const& verdict);
    void plateau(TrialId trial, Verdict verdict);
    void stop(TrialId trial, std::string const& why);
    void close(TrialId trial, TrialStatus status, std::string const& why);
    void conclude(TrialId trial);
    void bury(TrialId trial);
    void end_paused();
    void stop_ended();
    void drop_clone(Plan& plan);
    void decide(Decision decision);

    // Orders.
    void obey_orders();
    std::vector<Given> numbered(std::vector<Order> const& orders);
    void obey(Given const& given);
    void finish(std::string const& why);
    void stop_apart(Order const& order);
    void resume_apart(Given const& given);
    void begin_clones();
    void clone_apart(Order order);
    void begin_as_clone(TrialId trial);
    void set_apart(TrialId trial);
    bool rests(TrialId trial);
    void forget_clones(TrialId trial);

    Experiment experiment_;
    std::unique_ptr<Search> search_;
    DirectorOptions options_;
    bool trains_on_;  // past decision points
    std::unique_ptr<LapClock> clock_;
    std::vector<TrialView> trials_;
    std::vector<Plan> plans_;     // by trial
    std::vector<TrialId> known_;  // by the search's number
    std::set<TrialId> paused_;
    std::int64_t running_ = 0, grants_ = 0;
    double granted_at_ = -1;
    bool nothing_now_ = false;  // the search has nothing to start before the next report
    bool over_ = false, interrupted_ = false;
    std::map<LapId, std::vector<Given>> orders_;  // by lap that is not delivered
    std::deque<Given> due_;
    std::int64_t given_ = 0;
    std::map<TrialId, std::set<std::int64_t>> stops_;  // that are not obeyed yet
    std::vector<Order> clones_;                        // that wait for their source's lap
    std::string finish_;                               // why no trial goes on; empty: they do
    Pins pins_;
    std::vector<Lap> out_;
    std::vector<Decision> decisions_;
};

}  // namespace hopscotch
