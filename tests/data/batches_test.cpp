// SPDX-License-Identifier: Apache-2.0
#include "data/batches.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/error.hpp"
#include "core/rng.hpp"

namespace hopscotch {
namespace {

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

struct NormaliserCase {
    FeatureType type;
    std::vector<std::int64_t> shape;
};

class Normalisers : public testing::TestWithParam<NormaliserCase> {};

TEST_P(Normalisers, equal_a_plain_loop) {
    Manifest manifest;
    manifest.type = GetParam().type;
    manifest.shape = GetParam().shape;
    auto const size = static_cast<std::size_t>(manifest.row_size());
    auto const scales = manifest.shape.size() == 3 ? static_cast<std::size_t>(manifest.shape[0]) : size;
    Rng rng(1);
    for (std::size_t i = 0; i < scales; ++i) {
        manifest.mean.push_back(100 * rng.uniform());
        manifest.stddev.push_back(1 + 10 * rng.uniform());
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
        shard.features.resize(shard.features.size() + bytes);
        std::memcpy(shard.features.data() + shard.features.size() - bytes, source, bytes);
    }
    std::vector<std::uint32_t> const picked{49, 0, 7, 7, 23};
    std::vector<float> out(picked.size() * size + 1, 12345.0F);
    Normaliser(manifest).gather(shard, picked, out.data());
    for (std::size_t row = 0; row < picked.size(); ++row)
        for (std::size_t i = 0; i < size; ++i) {
            auto const scale = i / (size / scales);
            auto const wanted = (plain[picked[row] * size + i] - manifest.mean[scale]) / manifest.stddev[scale];
            ASSERT_NEAR(out[row * size + i], wanted, 1e-5 * (1 + std::abs(manifest.mean[scale]))) << row << " " << i;
        }
    EXPECT_EQ(out.back(), 12345.0F);  // nothing behind the batch
}

INSTANTIATE_TEST_SUITE_P(
    Table, Normalisers,
    testing::Values(NormaliserCase{FeatureType::uint8, {64}}, NormaliserCase{FeatureType::uint8, {3, 5, 7}},
                    NormaliserCase{FeatureType::uint8, {1, 8, 8}}, NormaliserCase{FeatureType::uint8, {4, 1, 1}},
                    NormaliserCase{FeatureType::float32, {13}}, NormaliserCase{FeatureType::float32, {3, 5, 7}},
                    NormaliserCase{FeatureType::float32, {1}}, NormaliserCase{FeatureType::float32, {4, 6}}));

}  // namespace
}  // namespace hopscotch
