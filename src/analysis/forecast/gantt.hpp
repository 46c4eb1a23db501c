// SPDX-License-Identifier: Apache-2.0
// A Gantt chart in text: a line for each trainer, a column for each part of the time. PURE.
//   trainer 0  000111222+33
//   trainer 1  111222000..3
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "schedule/virtual_cluster.hpp"

namespace hopscotch {

struct GanttFrame {
    int trainers = 1, shards = 1;
    double makespan = 0;
    std::size_t columns = 80;  // of a line; at least 30 are used
};

// Each letter is the trial (its id modulo 62: 0-9, a-z, A-Z) that had most of that time; + a validation; . idle time. Lines
// beyond the first 40 trainers are left out, and counted.
std::string gantt_text(std::vector<SimulatedUnit> const& tasks, GanttFrame const& frame);

}  // namespace hopscotch
