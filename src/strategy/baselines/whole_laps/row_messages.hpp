// SPDX-License-Identifier: Apache-2.0
// The question of a trainer for rows of a shard that it does not own.
#pragma once
#include <cstdint>
#include <vector>

#include "comm/codec.hpp"
#include "core/ids.hpp"

namespace hopscotch {

// To the service of the shard's owner. The answer is a push of kind rows; its header is the ticket.
struct RowsWanted {
    std::uint64_t ticket = 0;
    ShardId shard;
    std::uint32_t first = 0, count = 0;  // `count` rows from `first` on, unless
    std::vector<std::uint32_t> rows;     // these are named
};
template <class A>
void fields(A& a, RowsWanted& m) {
    a(m.ticket, m.shard, m.first, m.count, m.rows);
}

}  // namespace hopscotch
