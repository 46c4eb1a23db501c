// SPDX-License-Identifier: Apache-2.0
// The speeds of the trainers, from the units of the latest laps, and the gain of other owners. PURE.
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "schedule/lap.hpp"
#include "schedule/owners.hpp"

namespace hopscotch {

class Pace {
public:
    // A lap that has ended, and the FLOPs of one of its units. Units that began before since_unix_s do not count: trainers
    // of an earlier job had other hosts.
    void add(LapRecord const& lap, double unit_cost, double since_unix_s = 0);

    // Of the fastest trainer, 1; by trainer. A trainer that no lap has visited counts as median. Nothing: too few laps, or a
    // trainer that few of them have visited.
    std::optional<std::vector<double>> speed(int trainers) const;

    // Seconds for that many FLOPs on the fastest trainer.
    double seconds(double flops, std::vector<double> const& speed) const;

private:
    struct Cell {
        TrainerId trainer;
        double log_s = 0;    // of the median seconds a row
        double seconds = 0;  // of all its units
    };
    struct Row {
        std::vector<Cell> cells;
        double flops = 0;  // of all units
    };
    std::deque<Row> laps_;
    std::size_t skip_ = 0;  // number of coming laps to skip
};

// Owners to move to, if the move gains more than twice its cost. Compares the seconds for the rest of the job's work with
// the present table and with the new one.
struct BetterOwners {
    OwnerTable table;
    double seconds = 0, seconds_before = 0;
};
struct WorkLeft {
    double seconds = 0;  // on the fastest trainer
    double longest = 0;  // of one trial
};
struct Move {
    OwnerTable to;
    double cost_s = 0;
};
std::optional<BetterOwners> better_owners(OwnerTable const& now, Move const& move, std::vector<double> const& speed,
                                          WorkLeft const& left);

}  // namespace hopscotch
