// SPDX-License-Identifier: Apache-2.0
// The director of procedures that decide nothing on the way: all laps of a trial are released at its admission, longest
// trial first, at most in_flight trials alive; with early stopping only as many as it cannot undo, and more with every
// record.
#pragma once
#include <optional>

#include "schedule/director.hpp"
#include "schedule/early_stop.hpp"

namespace hopscotch {

class UndecidedDirector : public Director {
public:
    UndecidedDirector(Experiment const& experiment, std::unique_ptr<Search> search, DirectorOptions const& options);

    std::vector<Lap> release() override;
    void record(LapRecord const& record) override;
    void interrupt() override;
    bool finished() const override;
    std::vector<TrialView> const& trials() const override { return trials_; }
    std::string finish_reason() const override { return finish_; }
    std::set<LapId> ordered_sources() const override;

private:
    // What the director knows of a trial beyond what it shows.
    struct Plan {
        LossKind loss = LossKind::cross_entropy;
        EarlyStop stop;
        int released = 0;                  // laps
        double told = k_no_score;          // what the search went by at the last report
        int epochs = 0;                    // of its configuration
        std::optional<LapId> source = {};  // a clone's
        bool known = true;                 // to the search
    };
    void add(Proposal proposal);
    void take(LapRecord const& record);
    void obey(Order const& order);
    void stop(TrialView& view, std::string const& why);
    void resume(TrialView& view);
    void clone(Order order);
    void begin_clones();
    void finish(std::string const& why);
    void release_laps(TrialId trial, std::vector<Lap>& out);
    void end_lap(TrialView& view, double value);

    Experiment experiment_;
    std::unique_ptr<Search> search_;
    std::function<double(Assignment const&)> unit_cost_;
    int shards_;
    std::int64_t in_flight_;
    std::vector<TrialView> trials_;
    std::vector<Plan> plans_;       // by trial
    std::vector<TrialId> waiting_;  // longest first
    std::string finish_;            // why no trial goes on; empty: they do
    std::vector<Order> clones_;     // that wait for their source's lap
    bool interrupted_ = false;
};

}  // namespace hopscotch
