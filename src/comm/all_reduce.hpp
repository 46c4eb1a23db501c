// SPDX-License-Identifier: Apache-2.0
// All-reduces (sums, in place) and other collectives of floats as plans for an Exchange. The algorithm, the group's size and
// the length fix the order of additions: the same bits in every run, on every rank.
#pragma once
#include <span>
#include <vector>

#include "comm/exchange.hpp"

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

// values must stay where they are until the exchange has finished. The scratch comes from the pool.
Exchange::Plan all_reduce(AllReduce algorithm, RankGroup const& group, std::span<float> values, BufferPool& pool);

// The first rank's bytes to all others.
Exchange::Plan broadcast(RankGroup const& group, MutableBytes bytes);

// Chunk c of n floats cut for K ranks, at multiples of 16 floats (a cache line).
struct FloatRange {
    std::size_t first = 0, size = 0;
};
FloatRange chunk_of(std::size_t n, int chunk, int chunks);

}  // namespace hopscotch
