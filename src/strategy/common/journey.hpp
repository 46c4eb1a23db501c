// SPDX-License-Identifier: Apache-2.0
// The place of a trial in its lap: this struct travels with the trial's state.
#pragma once
#include <cstdint>
#include <optional>

#include "core/byte_view.hpp"
#include "schedule/lap.hpp"

namespace hopscotch {

struct Journey {
    Lap lap;
    int step = 0;         // visits done in this lap; S: on the way home, or validating
    int valid_shard = 0;  // the next piece of validation
    std::int64_t valid_batch = 0;
    LapRecord record;
    double pushed_unix_s = 0;       // for hop latency
    std::uint64_t pushed_hash = 0;  // state_hash of the state as its last sender had it
    ShardId shard = {};             // of the unit at `step`, if a dispatched policy has chosen it; -1: see Policy::next
    // Of the unit at `step`, if the unit has begun: batches trained, and the sums over their rows.
    std::int64_t batches = 0, rows = 0;
    double loss_sum = 0;
    // When the trial's newest checkpoint was made, or its first unit began: on the monotonic clock of the process that has
    // the journey. Clocks of two hosts differ, so a journey on its way carries an age. None: no unit has begun.
    std::optional<double> saved_s;
    double saved_age_s = -1;  // set by depart(); negative: none
    bool saved = false;       // that checkpoint has this very place
    std::uint64_t bound = 0;  // TrialState::bind_again, of the trainer that has the journey; a hop drops it
    // Checkpoint::parts: sums of a validation on shards held out; or, from a file, of the trainers that train together.
    Bytes parts = {};
};

// On both ends of a hop; now_s: of the process there. Each holder adds the time for which it held the journey.
inline void depart(Journey& journey, double now_s) { journey.saved_age_s = journey.saved_s ? now_s - *journey.saved_s : -1; }
inline void arrive(Journey& journey, double now_s) {
    journey.saved_s.reset();
    if (journey.saved_age_s >= 0) journey.saved_s = now_s - journey.saved_age_s;
}

}  // namespace hopscotch
