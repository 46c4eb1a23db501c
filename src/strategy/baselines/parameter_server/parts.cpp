// SPDX-License-Identifier: Apache-2.0
#include "strategy/baselines/parameter_server/parts.hpp"

#include <algorithm>
#include <numeric>

#include "comm/rank_group.hpp"
#include "experiment/config.hpp"
#include "model/state/state.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_most_parts = 4096, k_parts_a_server = 8, k_small_part_bytes = 1 << 18;

}  // namespace

std::vector<ServedRange> cut_parts(StateLayout const& layout, std::size_t part_bytes, int servers) {
    auto const n = layout.end_of(Block::parameter) / sizeof(float);
    auto const each = static_cast<std::size_t>(servers);
    // Pushes of all parts may be under way at once, each with a tag of its own. Several parts a server: workers have their
    // last layers' gradients first, all of them, and should not all go to the same server for long.
    auto const floats = [](std::size_t bytes) { return bytes / sizeof(float) / 16 * 16; };
    auto const smallest = (n / k_most_parts + 16) / 16 * 16;
    auto const share = std::max(floats(k_small_part_bytes), n / (k_parts_a_server * each) / 16 * 16);
    auto const most = std::max(smallest, std::min(share, floats(part_bytes)));
    auto const count = ((n + most - 1) / most + each - 1) / each * each;
    std::vector<ServedRange> out;
    for (std::size_t c = 0; c < count; ++c)
        if (auto const range = chunk_of(n, static_cast<int>(c), static_cast<int>(count)); range.size > 0)
            out.push_back({range, 0});
    std::vector<std::size_t> order(out.size()), load(each);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return out[i].range.size; });
    for (auto const i : order) {
        auto const least = std::ranges::min_element(load);
        out[i].server = static_cast<int>(least - load.begin());
        *least += out[i].range.size;
    }
    return out;
}

std::vector<ServedRange> parts_of(StrategyConfig const& config, TrainConfig const& train, StateLayout const& layout,
                                  int servers) {
    if (train.clip.norm) return {{{0, layout.end_of(Block::parameter) / sizeof(float)}, 0}};
    return cut_parts(layout, static_cast<std::size_t>(std::min(config.server.part_mb, 1e6) * (1 << 20)), servers);
}

int servers_of(StrategyConfig const& config, int workers) {
    if (config.server.count > 0) return config.server.count;
    return config.server.placement == ServerPlacement::colocated ? workers : 1;
}

std::vector<Rank> server_ranks(StrategyConfig const& config, RankGroup const& workers, int trainers) {
    auto const count = servers_of(config, workers.size());
    std::vector<Rank> out;
    for (int i = 0; i < count; ++i)
        out.push_back(config.server.placement == ServerPlacement::colocated ? workers.ranks[static_cast<std::size_t>(i)]
                                                                            : Rank(trainers - count + 1 + i));
    return out;
}

}  // namespace hopscotch
