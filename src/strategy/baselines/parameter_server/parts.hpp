// SPDX-License-Identifier: Apache-2.0
// The flat parameters of a trial in parts, and the server of each part: a pure function of the layout, the same everywhere.
// 40 MB in parts of at most 4 MB on three servers: 12 parts of 3.3 MB (a multiple of three), four each.
#pragma once
#include <cstddef>
#include <vector>

#include "comm/float_range.hpp"
#include "core/ids.hpp"

namespace hopscotch {

struct RankGroup;
struct StateLayout;
struct StrategyConfig;
struct TrainConfig;

struct ServedRange {
    FloatRange range;  // of the flat parameters
    int server = 0;
};

// Equal parts of at most part_bytes, cut at multiples of 16 floats, also inside tensors; at least as many as servers, so
// that no server is idle. The largest part goes first, to the server with the least load (of equals the first).
std::vector<ServedRange> cut_parts(StateLayout const& layout, std::size_t part_bytes, int servers);

// The same for a trial; with clip_norm, which needs the whole gradient in one place, there is one part.
std::vector<ServedRange> parts_of(StrategyConfig const& config, TrainConfig const& train, StateLayout const& layout,
                                  int servers);

// The number of servers, and their ranks: colocated, the first members of the group; dedicated, the last trainers.
int servers_of(StrategyConfig const& config, int workers);
std::vector<Rank> server_ranks(StrategyConfig const& config, RankGroup const& workers, int trainers);

}  // namespace hopscotch
