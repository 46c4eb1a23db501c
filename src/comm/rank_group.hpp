// SPDX-License-Identifier: Apache-2.0
// A group of ranks that add up values together, and the algorithms of the sums (comm/all_reduce.hpp).
#pragma once
#include <vector>

#include "core/ids.hpp"

namespace hopscotch {

// The ranks of a group, in the order of sums, and this rank's index among them.
struct RankGroup {
    std::vector<Rank> ranks;
    int self = 0;

    int size() const { return static_cast<int>(ranks.size()); }
};

// ring (Patarasuk and Yuan 2009; Horovod): reduce-scatter and all-gather between neighbours, 2(K-1) messages and
//   2(K-1)/K of the bytes a rank; a chunk is summed in ring order, so bits depend on the cuts of buckets.
// deterministic: every rank gets its chunk from all others and adds in rank order, then sends the sum to all: the same bytes
//   and messages in two phases instead of 2(K-1), and bits that do not depend on buckets (those of a server).
// Two ranks swap up to 16 KB whole: one message each instead of two, the same bytes and bits.
// star: the first rank adds in rank order and sends the sum to all (SparkNet's driver): 2(K-1)/K times more on its link.
enum class AllReduce { ring, deterministic, star };

}  // namespace hopscotch
