// SPDX-License-Identifier: Apache-2.0
// A trial's way round the shards. Rank 0 gives each trial its route once (routes.hpp). The route travels with every lap and
// stands in the journal, so trainers and replays never work it out again.
#pragma once
#include "core/ids.hpp"

namespace hopscotch {

enum class Direction { forward, backward };

struct Route {
    ShardId first = {};  // its owner is the trial's home. None (-1): shard t mod S for trial t
    Direction direction = Direction::forward;
    bool operator==(Route const&) const = default;
};

}  // namespace hopscotch
