// SPDX-License-Identifier: Apache-2.0
// A unit of training, and the batches that it is cut into.
#pragma once
#include <cstdint>

#include "core/ids.hpp"

namespace hopscotch {

struct UnitAddress {  // one trial x one shard, one pass
    std::uint64_t seed = 0;
    TrialId trial;
    int epoch = 0;
    ShardId shard;
};

struct BatchRange {
    std::int64_t first = 0, size = 0;
};

}  // namespace hopscotch
