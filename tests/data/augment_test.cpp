// SPDX-License-Identifier: Apache-2.0
#include "data/batches/augment.hpp"
#include "core/json_reader.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <numeric>

#include "core/error.hpp"
#include "core/rng.hpp"
#include "data/batches/shard_source.hpp"
#include "data/dataset/manifest.hpp"
#include "data/dataset/shard.hpp"

namespace hopscotch {
namespace augment_test {

AugmentConfig flip(double probability) { return {AugmentKind::flip, probability}; }
AugmentConfig crop(std::int64_t padding) { return {AugmentKind::crop, 1, padding}; }
AugmentConfig cutout(std::int64_t size, double probability) { return {AugmentKind::cutout, probability, 4, size}; }

struct Images {
    Manifest manifest;
    Shard shard;
    std::vector<std::uint32_t> all;  // 0, 1, 2 ...
    float pixel(std::size_t i) const {
        if (manifest.type == FeatureType::uint8) return static_cast<float>(std::to_integer<int>(shard.features[i]));
        float value = 0;
        std::memcpy(&value, &shard.features[i * sizeof value], sizeof value);
        return value;
    }
};

Images random_images(FeatureType type, std::vector<std::int64_t> shape, std::int64_t rows, Rng& rng) {
    Images out;
    out.manifest.type = type;
    out.manifest.shape = std::move(shape);
    for (std::int64_t c = 0; c < out.manifest.shape[0]; ++c) {
        out.manifest.features.mean.push_back(100 * rng.uniform());
        out.manifest.features.stddev.push_back(1 + 10 * rng.uniform());
    }
    out.shard.rows = rows;
    for (std::int64_t i = 0; i < rows * out.manifest.row_size(); ++i) {
        auto const byte = static_cast<std::byte>(rng.below(256));
        auto const real = static_cast<float>(rng.normal());
        auto const bytes =
            type == FeatureType::uint8 ? std::as_bytes(std::span(&byte, 1)) : std::as_bytes(std::span(&real, 1));
        out.shard.features.own().insert(out.shard.features.own().end(), bytes.begin(), bytes.end());
    }
    out.all.resize(static_cast<std::size_t>(rows));
    std::iota(out.all.begin(), out.all.end(), 0U);
    return out;
}

UnitAddress const k_address{42, TrialId(7), 3, ShardId(5)};

std::vector<float> gathered(Images const& images, DataConfig const& config, UnitAddress const& address = k_address) {
    std::vector<float> out(images.all.size() * static_cast<std::size_t>(images.manifest.row_size()));
    Augmenter(config, images.manifest).gather({images.shard, images.all, images.all}, address, out.data());
    return out;
}

// The slow and obvious way: one normalised image at a time, one change after the other, each into a new image.
struct Picture {
    std::int64_t channels, height, width;
    std::vector<float> pixels;
    float& at(std::int64_t c, std::int64_t y, std::int64_t x) {
        return pixels[static_cast<std::size_t>((c * height + y) * width + x)];
    }
};

template <class Value>
Picture painted(Picture const& like, Value value) {
    Picture out = like;
    for (std::int64_t c = 0; c < out.channels; ++c)
        for (std::int64_t y = 0; y < out.height; ++y)
            for (std::int64_t x = 0; x < out.width; ++x) out.at(c, y, x) = value(c, y, x);
    return out;
}

Picture padded(Picture from, std::int64_t by) {
    Picture out{from.channels, from.height + 2 * by, from.width + 2 * by, {}};
    out.pixels.resize(static_cast<std::size_t>(out.channels * out.height * out.width));
    auto const inside = [by](std::int64_t i, std::int64_t size) {  // to and fro between 0 and size - 1
        i = std::abs(i - by) % std::max<std::int64_t>(2 * (size - 1), 1);
        return i < size ? i : 2 * (size - 1) - i;
    };
    return painted(out, [&](auto c, auto y, auto x) { return from.at(c, inside(y, from.height), inside(x, from.width)); });
}

Picture changed(Picture from, AugmentConfig const& augment, std::vector<float> const& fill, Rng& rng) {
    auto const below = [&](std::int64_t n) { return static_cast<std::int64_t>(rng.below(static_cast<std::uint32_t>(n))); };
    if (augment.kind == AugmentKind::crop) {
        auto large = padded(from, augment.padding);
        auto const top = below(2 * augment.padding + 1);
        auto const left = below(2 * augment.padding + 1);
        return painted(from, [&](auto c, auto y, auto x) { return large.at(c, y + top, x + left); });
    }
    auto const applied = rng.uniform() < augment.probability;
    if (augment.kind == AugmentKind::flip)
        return painted(from, [&](auto c, auto y, auto x) { return from.at(c, y, applied ? from.width - 1 - x : x); });
    auto const top = below(from.height) - augment.size / 2;
    auto const left = below(from.width) - augment.size / 2;
    return painted(from, [&](auto c, auto y, auto x) {
        bool const hole = y >= top && y < top + augment.size && x >= left && x < left + augment.size;
        return applied && hole ? fill[static_cast<std::size_t>(c)] : from.at(c, y, x);
    });
}

Picture reference(Images const& images, DataConfig const& config, std::size_t row) {
    auto const& m = images.manifest;
    Normaliser const normaliser(m, config);
    Picture out{m.shape[0], m.shape[1], m.shape[2], std::vector<float>(static_cast<std::size_t>(m.row_size()))};
    std::vector<float> fill;
    for (std::size_t c = 0; c < m.features.mean.size(); ++c)
        fill.push_back(
            config.normalise ? 0 : static_cast<float>(m.features.mean[c]) / (m.type == FeatureType::uint8 ? 255.0F : 1.0F));
    auto const picked = std::vector{static_cast<std::uint32_t>(row)};
    normaliser.gather(images.shard, picked, out.pixels.data());
    Rng rng(stream_key(42, Purpose::augmentation, {7, 3, 5, static_cast<std::int64_t>(row)}));
    for (auto const& augment : config.augment) out = changed(out, augment, fill, rng);
    return out;
}

class RandomAugments : public ::testing::TestWithParam<int> {};

TEST_P(RandomAugments, equal_the_slow_way) {
    Rng rng(static_cast<std::uint64_t>(GetParam()));
    auto const side = [&] { return static_cast<std::int64_t>(1 + rng.below(12)); };
    auto const images = random_images(rng.below(2) == 0 ? FeatureType::uint8 : FeatureType::float32,
                                      {static_cast<std::int64_t>(1 + rng.below(4)), side(), side()}, 20, rng);
    auto const smaller = std::min(images.manifest.shape[1], images.manifest.shape[2]);
    DataConfig config;
    config.normalise = rng.below(3) > 0;
    for (auto n = rng.below(5); n > 0; --n) {
        auto const choices = {flip(0.5), crop(rng.below(static_cast<std::uint32_t>(smaller))),
                              cutout(side(), rng.uniform())};
        config.augment.push_back(choices.begin()[rng.below(3)]);
    }
    auto const out = gathered(images, config);
    auto const size = static_cast<std::size_t>(images.manifest.row_size());
    for (std::size_t row = 0; row < 20; ++row) {
        auto const wanted = reference(images, config, row);
        for (std::size_t i = 0; i < size; ++i)
            ASSERT_NEAR(out[row * size + i], wanted.pixels[i], 1e-6 * std::abs(wanted.pixels[i])) << row << " " << i;
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomAugments, ::testing::Range(0, 100));

TEST(Augmenter, depends_on_the_row_and_the_unit_and_on_nothing_else) {
    Rng rng(3);
    auto const images = random_images(FeatureType::uint8, {3, 8, 8}, 60, rng);
    DataConfig config;
    config.augment = {flip(0.5), crop(2), cutout(3, 1)};
    Augmenter const augmenter(config, images.manifest);
    auto const whole = gathered(images, config);
    // The rows are in another order, in a window that begins at row 20, in batches of 7.
    Shard window;
    window.rows = 40;
    window.features.own().assign(images.shard.features.begin() + 20 * 192, images.shard.features.end());
    std::vector<std::uint32_t> rows(40), numbers;
    std::iota(rows.begin(), rows.end(), 0U);
    rng.shuffle(std::span(rows));
    for (auto const row : rows) numbers.push_back(row + 20);
    std::vector<float> out(7 * 192);
    for (std::size_t first = 0; first < 35; first += 7) {
        PickedRows const batch{window, std::span(rows).subspan(first, 7), std::span(numbers).subspan(first, 7)};
        augmenter.gather(batch, k_address, out.data());
        for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], whole[numbers[first + i / 192] * 192 + i % 192]);
    }
    EXPECT_NE(gathered(images, config, {43, TrialId(7), 3, ShardId(5)}), whole);
    EXPECT_NE(gathered(images, config, {42, TrialId(8), 3, ShardId(5)}), whole);
    EXPECT_NE(gathered(images, config, {42, TrialId(7), 4, ShardId(5)}), whole);
    EXPECT_NE(gathered(images, config, {42, TrialId(7), 3, ShardId(6)}), whole);
}

// An image whose pixels say where they are: 16 y + x, so that a result tells what was done to it.
Images maps(std::int64_t rows) {
    Images out;
    out.manifest.type = FeatureType::uint8;
    out.manifest.shape = {1, 12, 12};
    out.manifest.features.mean = {0};
    out.manifest.features.stddev = {1};
    out.shard.rows = rows;
    for (std::int64_t i = 0; i < rows * 144; ++i)
        out.shard.features.own().push_back(static_cast<std::byte>(16 * (i % 144 / 12) + i % 12));
    out.all.resize(static_cast<std::size_t>(rows));
    std::iota(out.all.begin(), out.all.end(), 0U);
    return out;
}

TEST(Augmenter, flips_and_moves_as_often_as_it_should) {
    auto const images = maps(4000);
    DataConfig config;
    config.augment = {flip(0.3)};
    auto out = gathered(images, config);
    int flipped = 0;
    for (std::size_t row = 0; row < 4000; ++row) flipped += out[row * 144] == 11;
    EXPECT_NEAR(flipped, 1200, 6 * std::sqrt(4000 * 0.3 * 0.7));
    config.augment = {crop(2)};
    out = gathered(images, config);
    std::map<float, int> seen;  // the pixel in the middle says how far each image moved: 25 ways
    for (std::size_t row = 0; row < 4000; ++row) ++seen[out[row * 144 + 5 * 12 + 5]];
    EXPECT_EQ(seen.size(), 25U);
    for (auto const& [where, count] : seen) EXPECT_NEAR(count, 160, 6 * std::sqrt(160)) << where;
}

TEST(Augmenter, cuts_squares_centred_anywhere) {
    auto images = maps(4000);
    for (auto& byte : images.shard.features.own()) byte = std::byte{9};
    DataConfig config;
    config.augment = {cutout(4, 1)};
    auto const out = gathered(images, config);
    // A square of 4 reaches from 2 before its centre to 1 behind it: of 12 places on an axis 1 leaves 2, 2 leave 3, 9
    // leave 4.
    std::map<int, int> seen;
    for (std::size_t row = 0; row < 4000; ++row)
        ++seen[static_cast<int>(std::count(&out[row * 144], &out[row * 144] + 144, 0.0F))];
    auto const near = [](int count, double places) {
        return std::abs(count - 4000 * places / 144) < 6 * std::sqrt(4000 * places / 144);
    };
    EXPECT_TRUE(near(seen[16], 81)) << seen[16];
    EXPECT_TRUE(near(seen[4], 1)) << seen[4];
    EXPECT_TRUE(near(seen[9], 4)) << seen[9];
    EXPECT_TRUE(near(seen[12], 36)) << seen[12];
    EXPECT_TRUE(near(seen[8], 18)) << seen[8];
    EXPECT_TRUE(near(seen[6], 4)) << seen[6];
}

TEST(CheckAugment, complains_about_what_does_not_fit) {
    Manifest m;
    m.shape = {64};
    m.features.mean.assign(64, 0);
    m.features.stddev.assign(64, 1);
    DataConfig config;
    config.augment = {flip(0.5), crop(8), cutout(0, 1), crop(7), crop(-1)};
    auto const complaints = [&] {
        Problems problems("e.json");
        check_augment(config, m, problems);
        return problems.text();
    };
    EXPECT_TRUE(complaints().starts_with(
        "e.json: /data/augment/0: augments images only (the dataset's rows have 1 dimension); leave it out, or import the "
        "dataset with a shape CxHxW\ne.json: /data/augment/1: augments"))
        << complaints();
    m.shape = {1, 9, 8};
    EXPECT_EQ(complaints(),
              "e.json: /data/augment/1: padding must be at least 0 and below the side of an image, 8 (got 8)\n"
              "e.json: /data/augment/2: size must be at least 1 (got 0)\n"
              "e.json: /data/augment/4: padding must be at least 0 and below the side of an image, 8 (got -1)");
    EXPECT_THROW(Augmenter(config, m), Error);
    config.augment.clear();
    EXPECT_EQ(complaints(), "");
}

}  // namespace augment_test
}  // namespace hopscotch
