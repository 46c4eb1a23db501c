// SPDX-License-Identifier: Apache-2.0
// Laps on their way to the trainers. A lap that begins with the state of another trial takes the state from a file: this lap
// and its successors wait here until the file exists.
#pragma once
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/ids.hpp"
#include "schedule/lap.hpp"

namespace hopscotch {

class CheckpointShelf;
class Dispatcher;
struct PreparedRun;
struct SavedState;

class HeldLaps {
public:
    // All must outlive it.
    HeldLaps(PreparedRun const& prepared, CheckpointShelf const& shelf, Dispatcher& dispatcher)
        : prepared_(prepared), shelf_(shelf), dispatcher_(dispatcher) {}

    void add(Lap lap);
    void execute();  // sends each lap that need not wait
    void drop(TrialId trial) { held_.erase(trial); }
    void keep_end(LapId const& lap);  // tells the trainers once that a clone begins with the end of this lap

    // The reason why a trial must go back to its last checkpoint; nothing: no trial must. A trainer may learn too late that
    // it must keep the end of a lap. Then the lap is trained again, as after a loss. Before that, rank 0 waits as long as
    // for a transfer, because the file may be on its way to the disk.
    std::optional<std::string> overdue(double now_s) const;

private:
    struct Held {
        std::deque<Lap> laps;
        std::optional<double> since_s = {};  // the state exists since then
    };
    SavedState const* file_to_begin_with(Lap const& lap, Held& held);

    PreparedRun const& prepared_;
    CheckpointShelf const& shelf_;
    Dispatcher& dispatcher_;
    std::map<TrialId, Held> held_;
    std::set<LapId> asked_for_;  // laps whose ends clones begin with, and no file holds
};

}  // namespace hopscotch
