// SPDX-License-Identifier: Apache-2.0
// All-reduces (sums, in place) and other collectives of floats as plans for an Exchange. The algorithm, the group's size and
// the length fix the order of additions: the same bits in every run, on every rank.
#pragma once
#include <span>

#include "comm/exchange.hpp"
#include "comm/rank_group.hpp"
#include "core/byte_view.hpp"

namespace hopscotch {

// values must stay where they are until the exchange has finished. The scratch comes from the pool.
Exchange::Plan all_reduce(AllReduce algorithm, RankGroup const& group, std::span<float> values, BufferPool& pool);

// The first rank's bytes to all others.
Exchange::Plan broadcast(RankGroup const& group, MutableBytes bytes);

}  // namespace hopscotch
