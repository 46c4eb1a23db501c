// SPDX-License-Identifier: Apache-2.0
#include "comm/all_reduce.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "comm/buffer_pool.hpp"
#include "comm/float_range.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_line = 16;          // floats
constexpr std::size_t k_swapped = 4096;     // floats that two ranks swap whole
constexpr std::size_t k_at_once = 1 << 14;  // floats of a chunk that everyone sends to everyone at the same time
constexpr std::size_t k_block = 2048;       // floats that stay in the first cache while they are added

void add(std::span<float> into, float const* from) {
    for (std::size_t i = 0; i < into.size(); ++i) into[i] += from[i];
}

std::span<float> part(std::span<float> values, FloatRange const& range) { return values.subspan(range.first, range.size); }

ByteView bytes_of(std::span<float> values) { return std::as_bytes(values); }
MutableBytes room_of(std::span<float> values) { return std::as_writable_bytes(values); }

std::span<float> floats_in(Buffer const& buffer) {
    return {reinterpret_cast<float*>(buffer.bytes().data()), buffer.bytes().size() / sizeof(float)};
}

// Two ranks: each sends all it has and adds. The same bytes and bits as in two halves, and half the latency.
Exchange::Plan swap(RankGroup const& group, std::span<float> values, BufferPool& pool) {
    auto const peer = group.ranks[static_cast<std::size_t>(1 - group.self)];
    Exchange::Plan plan;
    plan.scratch = pool.acquire(values.size_bytes());
    auto const scratch = floats_in(plan.scratch);
    plan.rounds.push_back({{{peer, bytes_of(values)}}, {{peer, room_of(scratch.first(values.size()))}}, [values, scratch] {
                               add(values, scratch.data());
                           }});
    return plan;
}

// Chunk c starts at rank c and is added to on its way round; after K-1 rounds rank c-1 has the whole sum.
Exchange::Plan ring(RankGroup const& group, std::span<float> values, BufferPool& pool) {
    int const k = group.size();
    auto const chunk = [&](int c) { return part(values, chunk_of(values.size(), (c % k + k) % k, k)); };
    auto const next = group.ranks[static_cast<std::size_t>((group.self + 1) % k)];
    auto const before = group.ranks[static_cast<std::size_t>((group.self + k - 1) % k)];
    std::size_t longest = 0;
    for (int c = 0; c < k; ++c) longest = std::max(longest, chunk(c).size());
    Exchange::Plan plan;
    plan.scratch = pool.acquire(longest * sizeof(float));
    auto const scratch = floats_in(plan.scratch);
    for (int round = 0; round < k - 1; ++round) {
        auto const mine = chunk(group.self - round - 1);
        plan.rounds.push_back({{{next, bytes_of(chunk(group.self - round))}},
                               {{before, room_of(scratch.first(mine.size()))}},
                               [mine, scratch] { add(mine, scratch.data()); }});
    }
    for (int round = 0; round < k - 1; ++round)
        plan.rounds.push_back(
            {{{next, bytes_of(chunk(group.self + 1 - round))}}, {{before, room_of(chunk(group.self - round))}}, {}});
    return plan;
}

// x0 + x1 + ... in rank order, where `own` is the term of rank `self` and the others lie one after another in scratch.
void add_in_rank_order(std::span<float> own, std::span<float const> scratch, int self, int ranks) {
    std::array<float, k_block> sum{};
    for (std::size_t at = 0; at < own.size(); at += k_block) {
        auto const size = std::min(k_block, own.size() - at);
        auto const term = [&](int rank) {
            return rank == self ? own.data() + at
                                : scratch.data() + static_cast<std::size_t>(rank < self ? rank : rank - 1) * own.size() + at;
        };
        std::copy_n(term(0), size, sum.data());
        for (int rank = 1; rank < ranks; ++rank) add({sum.data(), size}, term(rank));
        std::copy_n(sum.data(), size, own.data() + at);
    }
}

// Everyone with everyone. Small values: all at once, for the latency. Large ones: with the ranks at distance 1, then 2, ...,
// so that each link carries one message at a time; many senders to one receiver would overrun its link while others idle.
Exchange::Plan deterministic(RankGroup const& group, std::span<float> values, BufferPool& pool) {
    int const k = group.size();
    bool const at_once = values.size() <= k_at_once * static_cast<std::size_t>(k);
    auto const chunk = [&](int c) { return part(values, chunk_of(values.size(), c, k)); };
    auto const own = chunk(group.self);
    Exchange::Plan plan;
    plan.scratch = pool.acquire(own.size() * static_cast<std::size_t>(k - 1) * sizeof(float));
    auto const scratch = floats_in(plan.scratch);
    std::vector<Exchange::Round> reduce(1), gather(1);
    for (int distance = 1; distance < k; ++distance) {
        int const to = (group.self + distance) % k, from = (group.self + k - distance) % k;
        auto const room =
            scratch.subspan(static_cast<std::size_t>(from < group.self ? from : from - 1) * own.size(), own.size());
        auto const rank_of = [&](int member) { return group.ranks[static_cast<std::size_t>(member)]; };
        if (!at_once && distance > 1) {
            reduce.emplace_back();
            gather.emplace_back();
        }
        reduce.back().sends.push_back({rank_of(to), bytes_of(chunk(to))});
        reduce.back().receives.push_back({rank_of(from), room_of(room)});
        gather.back().sends.push_back({rank_of(to), bytes_of(own)});
        gather.back().receives.push_back({rank_of(from), room_of(chunk(from))});
    }
    reduce.back().then = [own, scratch, self = group.self, k] { add_in_rank_order(own, scratch, self, k); };
    for (auto* rounds : {&reduce, &gather}) std::ranges::move(*rounds, std::back_inserter(plan.rounds));
    return plan;
}

Exchange::Plan star(RankGroup const& group, std::span<float> values, BufferPool& pool) {
    Exchange::Plan plan;
    if (group.self != 0) {
        auto const master = group.ranks.front();
        plan.rounds = {{{{master, bytes_of(values)}}, {}, {}}, {{}, {{master, room_of(values)}}, {}}};
        return plan;
    }
    int const k = group.size();
    plan.scratch = pool.acquire(values.size() * static_cast<std::size_t>(k - 1) * sizeof(float));
    auto const scratch = floats_in(plan.scratch);
    Exchange::Round reduce, spread;
    for (int rank = 1; rank < k; ++rank) {
        auto const peer = group.ranks[static_cast<std::size_t>(rank)];
        auto const at = static_cast<std::size_t>(rank - 1) * values.size();
        reduce.receives.push_back({peer, room_of(scratch.subspan(at, values.size()))});
        spread.sends.push_back({peer, bytes_of(values)});
    }
    reduce.then = [values, scratch, k] { add_in_rank_order(values, scratch, 0, k); };
    plan.rounds = {std::move(reduce), std::move(spread)};
    return plan;
}

}  // namespace

FloatRange chunk_of(std::size_t n, int chunk, int chunks) {
    auto const lines = (n + k_line - 1) / k_line;
    auto const edge = [&](int c) {
        return std::min(n, lines * static_cast<std::size_t>(c) / static_cast<std::size_t>(chunks) * k_line);
    };
    return {edge(chunk), edge(chunk + 1) - edge(chunk)};
}

Exchange::Plan all_reduce(AllReduce algorithm, RankGroup const& group, std::span<float> values, BufferPool& pool) {
    if (group.size() == 1) return {};
    if (group.size() == 2 && values.size() <= k_swapped && algorithm != AllReduce::star) return swap(group, values, pool);
    switch (algorithm) {
        case AllReduce::ring: return ring(group, values, pool);
        case AllReduce::star: return star(group, values, pool);
        case AllReduce::deterministic: break;
    }
    return deterministic(group, values, pool);
}

Exchange::Plan broadcast(RankGroup const& group, MutableBytes bytes) {
    Exchange::Plan plan;
    if (group.size() == 1) return plan;
    Exchange::Round round;
    if (group.self != 0) {
        round.receives.push_back({group.ranks.front(), bytes});
    } else {
        for (int rank = 1; rank < group.size(); ++rank)
            round.sends.push_back({group.ranks[static_cast<std::size_t>(rank)], bytes});
    }
    plan.rounds.push_back(std::move(round));
    return plan;
}

}  // namespace hopscotch
