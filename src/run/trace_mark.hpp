// SPDX-License-Identifier: Apache-2.0
// The lines of journal.jsonl that trace.json shows beside the units: what rank 0 decided or learned, and checkpoints.
#pragma once
#include <optional>
#include <string>

#include "core/json.hpp"

namespace hopscotch {

struct TraceMark {
    enum class Row { rank0, checkpoints } row = Row::rank0;
    std::string name, why;
    double unix_s = 0;
    int trainer = 0;     // that wrote the checkpoint
    double seconds = 0;  // before unix_s: so long the checkpoint took
};

// None for the lines of laps, which are shown as units, and for checkpoints of older versions, which do not say how long
// they took.
std::optional<TraceMark> mark_of(Json const& journal_line);

}  // namespace hopscotch
