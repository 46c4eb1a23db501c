// SPDX-License-Identifier: Apache-2.0
#include "data/batches/batches.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "core/error.hpp"
#include "core/rng.hpp"
#include "data/dataset/manifest.hpp"
#include "data/dataset/shard.hpp"

namespace hopscotch {
namespace batches_test {

std::vector<std::int64_t> sizes(std::int64_t rows, std::int64_t batch, LastBatch last) {
    std::vector<std::int64_t> out;
    std::int64_t next = 0;
    for (auto const& range : batches(rows, batch, last)) {
        EXPECT_EQ(range.first, next);
        next += range.size;
        out.push_back(range.size);
    }
    return out;
}

using Sizes = std::vector<std::int64_t>;

TEST(Batches, keep_trains_every_row_and_no_row_alone) {
    EXPECT_EQ(sizes(24, 8, LastBatch::keep), (Sizes{8, 8, 8}));
    EXPECT_EQ(sizes(25, 8, LastBatch::keep), (Sizes{8, 8, 9}));
    EXPECT_EQ(sizes(26, 8, LastBatch::keep), (Sizes{8, 8, 8, 2}));
    EXPECT_EQ(sizes(9, 8, LastBatch::keep), (Sizes{9}));
    EXPECT_EQ(sizes(5, 8, LastBatch::keep), (Sizes{5}));
    EXPECT_EQ(sizes(3, 1, LastBatch::keep), (Sizes{1, 1, 1}));
    EXPECT_EQ(sizes(1, 8, LastBatch::keep), (Sizes{1}));
    EXPECT_EQ(sizes(0, 8, LastBatch::keep), (Sizes{}));
    EXPECT_THROW(batches(10, 0, LastBatch::keep), Error);
}

TEST(Batches, drop_skips_the_remainder) {
    EXPECT_EQ(sizes(24, 8, LastBatch::drop), (Sizes{8, 8, 8}));
    EXPECT_EQ(sizes(25, 8, LastBatch::drop), (Sizes{8, 8, 8}));
    EXPECT_EQ(sizes(31, 8, LastBatch::drop), (Sizes{8, 8, 8}));
    EXPECT_EQ(sizes(5, 8, LastBatch::drop), (Sizes{5}));
}

TEST(ShuffledRows, are_a_permutation_that_depends_on_every_part_of_the_address) {
    UnitAddress const address{42, TrialId(7), 3, ShardId(5)};
    auto const order = shuffled_rows(1000, address);
    auto sorted = order;
    std::sort(sorted.begin(), sorted.end());
    for (std::uint32_t i = 0; i < 1000; ++i) ASSERT_EQ(sorted[i], i);
    EXPECT_NE(order, sorted);
    EXPECT_EQ(shuffled_rows(1000, address), order);
    EXPECT_NE(shuffled_rows(1000, {43, TrialId(7), 3, ShardId(5)}), order);
    EXPECT_NE(shuffled_rows(1000, {42, TrialId(8), 3, ShardId(5)}), order);
    EXPECT_NE(shuffled_rows(1000, {42, TrialId(7), 4, ShardId(5)}), order);
    EXPECT_NE(shuffled_rows(1000, {42, TrialId(7), 3, ShardId(6)}), order);
    EXPECT_EQ(shuffled_rows(1, address), (std::vector<std::uint32_t>{0}));
    EXPECT_TRUE(shuffled_rows(0, address).empty());
}

// The window that each position's row is in, a number for each run of equal ones.
std::vector<std::int64_t> window_runs(std::vector<std::uint32_t> const& order, std::int64_t window) {
    std::vector<std::int64_t> out;
    for (auto const row : order)
        if (out.empty() || out.back() != row / window) out.push_back(row / window);
    return out;
}

TEST(ShuffledRows, windows_come_in_random_order_each_shuffled_in_itself) {
    Rng rng(11);
    for (int instance = 0; instance < 200; ++instance) {
        auto const rows = static_cast<std::int64_t>(1 + rng.below(500));
        auto const window = static_cast<std::int64_t>(1 + rng.below(static_cast<std::uint32_t>(rows)));
        auto const order = shuffled_rows(rows, {rng.next_u64(), TrialId(1), 2, ShardId(3)}, window);
        auto sorted = order;
        std::sort(sorted.begin(), sorted.end());
        ASSERT_EQ(static_cast<std::int64_t>(sorted.size()), rows);
        for (std::size_t i = 0; i < sorted.size(); ++i) ASSERT_EQ(sorted[i], i);
        // As many runs as windows: no window is left and entered again.
        ASSERT_EQ(static_cast<std::int64_t>(window_runs(order, window).size()), (rows + window - 1) / window);
    }
    UnitAddress const address{42, TrialId(7), 3, ShardId(5)};
    auto const order = shuffled_rows(1000, address, 100);
    auto const runs = window_runs(order, 100);
    EXPECT_FALSE(std::is_sorted(runs.begin(), runs.end()));
    for (std::size_t first = 0; first < 1000; first += 100) {
        std::vector<std::uint32_t> within, before;  // the places in this window and in the one before
        for (std::size_t i = 0; i < 100; ++i) within.push_back(order[first + i] % 100);
        for (std::size_t i = 0; i < 100; ++i) before.push_back(order[(first + 900 + i) % 1000] % 100);
        EXPECT_FALSE(std::is_sorted(within.begin(), within.end()));
        EXPECT_NE(within, before);
    }
    EXPECT_EQ(shuffled_rows(1000, address, 100), order);
    EXPECT_NE(shuffled_rows(1000, {43, TrialId(7), 3, ShardId(5)}, 100), order);
    EXPECT_NE(shuffled_rows(1000, {42, TrialId(8), 3, ShardId(5)}, 100), order);
    EXPECT_NE(shuffled_rows(1000, {42, TrialId(7), 4, ShardId(5)}, 100), order);
    EXPECT_NE(shuffled_rows(1000, {42, TrialId(7), 3, ShardId(6)}, 100), order);
}

TEST(ShuffledRows, a_window_of_all_rows_is_the_order_of_the_whole_shard) {
    UnitAddress const address{42, TrialId(7), 3, ShardId(5)};
    std::vector<std::uint32_t> plain(1000);
    std::iota(plain.begin(), plain.end(), 0U);
    Rng(stream_key(42, Purpose::shuffle, {7, 3, 5})).shuffle(std::span(plain));
    for (auto const shuffle_rows : {0, 1000, 1001, 70000}) EXPECT_EQ(shuffled_rows(1000, address, shuffle_rows), plain);
    EXPECT_THROW(shuffled_rows(1000, address, -1), Error);
}

TEST(ShuffledRows, the_cache_decides_only_what_a_window_is_when_nobody_says) {
    DataConfig config;
    for (auto const cache : {Cache::all, Cache::window, Cache::none}) {
        config.cache = cache;
        config.shuffle_rows = 0;
        EXPECT_EQ(rows_shuffled_together(config), cache == Cache::window ? 65536 : 0);
        config.shuffle_rows = 100;
        EXPECT_EQ(rows_shuffled_together(config), 100);
    }
}

struct NormaliserCase {
    FeatureType type;
    std::vector<std::int64_t> shape;
};

class Normalisers : public ::testing::TestWithParam<NormaliserCase> {};

TEST_P(Normalisers, equal_a_plain_loop) {
    Manifest manifest;
    manifest.type = GetParam().type;
    manifest.shape = GetParam().shape;
    auto const size = static_cast<std::size_t>(manifest.row_size());
    auto const scales = manifest.shape.size() == 3 ? static_cast<std::size_t>(manifest.shape[0]) : size;
    Rng rng(1);
    for (std::size_t i = 0; i < scales; ++i) {
        manifest.features.mean.push_back(100 * rng.uniform());
        manifest.features.stddev.push_back(1 + 10 * rng.uniform());
    }
    Shard shard;
    shard.rows = 50;
    std::vector<double> plain;
    for (std::size_t i = 0; i < 50 * size; ++i) {
        auto const byte = static_cast<std::uint8_t>(rng.below(256));
        auto const real = static_cast<float>(rng.normal());
        plain.push_back(manifest.type == FeatureType::uint8 ? byte : real);
        auto const* const source = manifest.type == FeatureType::uint8 ? static_cast<void const*>(&byte) : &real;
        auto const bytes = manifest.type == FeatureType::uint8 ? sizeof byte : sizeof real;
        shard.features.own().resize(shard.features.size() + bytes);
        std::memcpy(shard.features.own().data() + shard.features.size() - bytes, source, bytes);
    }
    std::vector<std::uint32_t> const picked{49, 0, 7, 7, 23};
    std::vector<float> out(picked.size() * size + 1, 12345.0F);
    Normaliser(manifest).gather(shard, picked, out.data());
    for (std::size_t row = 0; row < picked.size(); ++row)
        for (std::size_t i = 0; i < size; ++i) {
            auto const scale = i / (size / scales);
            auto const wanted =
                (plain[picked[row] * size + i] - manifest.features.mean[scale]) / manifest.features.stddev[scale];
            ASSERT_NEAR(out[row * size + i], wanted, 1e-5 * (1 + std::abs(manifest.features.mean[scale])))
                << row << " " << i;
        }
    EXPECT_EQ(out.back(), 12345.0F);  // nothing behind the batch
}

INSTANTIATE_TEST_SUITE_P(
    Table, Normalisers,
    ::testing::Values(NormaliserCase{FeatureType::uint8, {64}}, NormaliserCase{FeatureType::uint8, {3, 5, 7}},
                      NormaliserCase{FeatureType::uint8, {1, 8, 8}}, NormaliserCase{FeatureType::uint8, {4, 1, 1}},
                      NormaliserCase{FeatureType::float32, {13}}, NormaliserCase{FeatureType::float32, {3, 5, 7}},
                      NormaliserCase{FeatureType::float32, {1}}, NormaliserCase{FeatureType::float32, {4, 6}}));

// Two rows of three features, normalised.
template <class T>
std::vector<float> normalised(Manifest const& manifest, std::vector<T> const& values, bool normalise) {
    Shard shard;
    shard.rows = 2;
    auto const bytes = std::as_bytes(std::span(values));
    shard.features.own().assign(bytes.begin(), bytes.end());
    DataConfig config;
    config.normalise = normalise;
    std::vector<float> out(6);
    Normaliser(manifest, config).gather(shard, std::vector<std::uint32_t>{0, 1}, out.data());
    return out;
}

using Floats = std::vector<float>;

TEST(Normaliser, off_scales_bytes_to_one_and_leaves_floats) {
    Manifest m;
    m.shape = {3};
    m.features.mean = {1, 2, 3};
    m.features.stddev = {4, 5, 6};
    EXPECT_EQ(normalised(m, Floats{-0.5F, 1e30F, 0.1F, 7, 8, 9}, false), (Floats{-0.5F, 1e30F, 0.1F, 7, 8, 9}));
    m.type = FeatureType::uint8;
    std::vector<std::uint8_t> const bytes{0, 255, 51, 1, 2, 254};
    auto const out = normalised(m, bytes, false);
    for (std::size_t i = 0; i < 6; ++i) EXPECT_FLOAT_EQ(out[i], static_cast<float>(bytes[i]) / 255.0F);
    EXPECT_EQ(out[0], 0.0F);
    EXPECT_EQ(out[1], 1.0F);
}

TEST(Normaliser, categories_and_tokens_stay_what_they_are) {
    Manifest m;
    m.shape = {3};
    m.type = FeatureType::uint8;
    m.features.mean = {0, 2, 0};
    m.features.stddev = {1, 4, 1};
    std::vector<std::uint8_t> const bytes{0, 10, 51, 1, 6, 255};
    m.categories = {2, 0, 256};
    EXPECT_EQ(normalised(m, bytes, true), (Floats{0, 2, 51, 1, 1, 255}));
    auto const off = normalised(m, bytes, false);
    EXPECT_FLOAT_EQ(off[1], 10 / 255.0F);
    EXPECT_EQ((Floats{off[0], off[2], off[3], off[5]}), (Floats{0, 51, 1, 255}));
    m.categories = {256};  // tokens
    for (bool const normalise : {true, false}) EXPECT_EQ(normalised(m, bytes, normalise), (Floats{0, 10, 51, 1, 6, 255}));
    m.categories = {2, 3};
    EXPECT_THROW(Normaliser{m}, Error);
}

}  // namespace batches_test
}  // namespace hopscotch
