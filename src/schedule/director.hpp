// SPDX-License-Identifier: Apache-2.0
// Search and schedule together: fed with lap records, it releases laps. PURE. It never knows which strategy runs them.
// Procedures that decide nothing have all laps of a trial released at its admission, longest trial first, at most
// in_flight trials alive; with early stopping only as many as it cannot undo, and more with every record that comes in.
// Adaptive procedures need the virtual cluster (DESIGN 4.1), which is an error until it exists.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/early_stop.hpp"
#include "schedule/lap.hpp"
#include "schedule/visit.hpp"
#include "search/search.hpp"

namespace hopscotch {

enum class TrialStatus { waiting, running, finished, stopped, paused, diverged, failed, interrupted };
std::string_view name_of(TrialStatus status);
bool has_ended(TrialStatus status);  // neither waiting nor running nor paused

struct TrialView {
    TrialId id;
    Assignment assignment;
    TrialStatus status = TrialStatus::waiting;
    std::string reason;
    int epochs_wanted = 0, epochs_done = 0;
    double unit_cost = 0;  // FLOPs of one unit
};

class Director {
public:
    // unit_cost: FLOPs of one unit of a trial; in_flight: trials alive at once.
    Director(Experiment const& experiment, std::function<double(Assignment const&)> unit_cost, int shards,
             std::int64_t in_flight);

    std::vector<Lap> release();            // laps that may start now; call after construction and after each record
    void record(LapRecord const& record);  // a finished lap, or a trial's end by divergence or failure
    void interrupt();                      // no more laps; trials that are not ended become interrupted
    bool finished() const;                 // every trial has ended
    std::vector<TrialView> const& trials() const { return trials_; }

private:
    // What the director knows of a trial beyond what it shows.
    struct Plan {
        LossKind loss = LossKind::cross_entropy;
        EarlyStop stop;
        int released = 0;  // laps
    };
    void add(Proposal proposal, Experiment const& experiment, double unit_cost);
    void release_laps(TrialId trial, std::vector<Lap>& out);
    void end_lap(TrialView& view, double value);

    std::unique_ptr<Search> search_;
    std::string metric_;
    int shards_;
    std::int64_t in_flight_;
    std::vector<TrialView> trials_;
    std::vector<Plan> plans_;       // by trial
    std::vector<TrialId> waiting_;  // longest first
    bool interrupted_ = false;
};

}  // namespace hopscotch
