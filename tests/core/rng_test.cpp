// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include "core/rng.hpp"

namespace hopscotch {
namespace rng_test {

using Words = std::array<std::uint32_t, 4>;

// Random123's kat_vectors, philox4x32 10.
TEST(Philox, PublishedVectors) {
    EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    EXPECT_EQ(philox4x32({~0U, ~0U, ~0U, ~0U}, {~0U, ~0U}), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
    EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Rng, WordsAreTheBlocksInOrder) {
    Rng rng(0);
    for (std::uint32_t block = 0; block < 3; ++block)
        for (auto word : philox4x32({block, 0, 0, 0}, {0, 0})) EXPECT_EQ(rng.next_u32(), word);
}

TEST(Rng, SkippedWordsAreThoseNotDrawn) {
    for (std::uint64_t drawn = 0; drawn < 6; ++drawn)
        for (std::uint64_t skipped = 0; skipped < 14; ++skipped) {
            Rng here(7), there(7);
            for (std::uint64_t i = 0; i < drawn; ++i) EXPECT_EQ(here.next_u32(), there.next_u32());
            for (std::uint64_t i = 0; i < skipped; ++i) here.next_u32();
            there.skip(skipped);
            for (int i = 0; i < 5; ++i) EXPECT_EQ(here.next_u32(), there.next_u32()) << drawn << ", " << skipped;
        }
    Rng far(7);
    far.skip((std::uint64_t{1} << 35) + 2);
    EXPECT_EQ(far.next_u32(), philox4x32({0, 2, 0, 0}, {7, 0})[2]);
}

TEST(Rng, AddressesGiveDifferentStreams) {
    std::set<std::uint64_t> keys;
    for (std::uint64_t seed : {0U, 1U, 42U})
        for (auto purpose : {Purpose::shuffle, Purpose::dropout, Purpose::search})
            for (std::int64_t a = 0; a < 10; ++a)
                for (std::int64_t b = 0; b < 10; ++b) keys.insert(stream_key(seed, purpose, {a, b}));
    EXPECT_EQ(keys.size(), 900U);
    EXPECT_NE(stream_key(1, Purpose::shuffle, {1, 2}), stream_key(1, Purpose::shuffle, {2, 1}));
    EXPECT_EQ(stream_key(1, Purpose::shuffle, {1, 2}), stream_key(1, Purpose::shuffle, {1, 2}));
}

TEST(Rng, UniformAndNormalMoments) {
    Rng rng(stream_key(1, Purpose::initialisation, {}));
    double sum = 0;
    double squares = 0;
    double normal_sum = 0;
    double normal_squares = 0;
    constexpr int n = 100'000;
    for (int i = 0; i < n; ++i) {
        double const u = rng.uniform();
        ASSERT_TRUE(u >= 0 && u < 1);
        sum += u;
        squares += u * u;
        double const z = rng.normal();
        normal_sum += z;
        normal_squares += z * z;
    }
    EXPECT_NEAR(sum / n, 0.5, 0.005);
    EXPECT_NEAR(squares / n, 1.0 / 3, 0.005);
    EXPECT_NEAR(normal_sum / n, 0, 0.02);
    EXPECT_NEAR(normal_squares / n, 1, 0.03);
}

TEST(Rng, BelowIsInRangeAndEven) {
    Rng rng(3);
    std::array<int, 7> counts{};
    for (int i = 0; i < 70'000; ++i) ++counts.at(rng.below(7));
    for (int count : counts) EXPECT_NEAR(count, 10'000, 500);
    EXPECT_EQ(rng.below(1), 0U);
    // 3 * 2^30 does not divide 2^32: without rejection the low third would come up twice as often.
    int low = 0;
    for (int i = 0; i < 30'000; ++i) low += rng.below(3U << 30) < (1U << 30) ? 1 : 0;
    EXPECT_NEAR(low, 10'000, 500);
}

TEST(Rng, ShuffleIsAPermutationAndRepeatable) {
    std::vector<int> items(100);
    std::iota(items.begin(), items.end(), 0);
    auto first = items;
    auto second = items;
    Rng(5).shuffle(std::span(first));
    Rng(5).shuffle(std::span(second));
    EXPECT_EQ(first, second);
    EXPECT_NE(first, items);
    std::sort(first.begin(), first.end());
    EXPECT_EQ(first, items);
}

}  // namespace rng_test
}  // namespace hopscotch
