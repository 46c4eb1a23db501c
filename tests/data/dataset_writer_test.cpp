// SPDX-License-Identifier: Apache-2.0
#include "data/import/dataset_writer.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <string>

#include "core/rng.hpp"
#include "data/dataset/shard.hpp"
#include "data/dataset/verify.hpp"
#include "data/support.hpp"

namespace hopscotch {
namespace dataset_writer_test {

Manifest described(Task task, FeatureType type, std::vector<std::int64_t> shape, std::int64_t outputs) {
    Manifest out;
    out.task = task;
    out.type = type;
    out.shape = std::move(shape);
    out.outputs = outputs;
    return out;
}

Placement placed(std::size_t rows, std::int64_t shards, double test = 0.2) {
    return place_rows(std::vector<std::uint32_t>(rows, 0), 1, {.shards = shards, .valid = 0.2, .test = test, .seed = 4});
}

bool nothing_in(std::filesystem::path const& directory) { return std::filesystem::is_empty(directory); }

TEST(DatasetWriter, several_targets_come_back_in_the_place_of_their_row) {
    for (auto const& [task, raw] :
         {std::pair{Task::regression, false}, {Task::regression, true}, {Task::multilabel, true}}) {
        TemporaryDirectory const dir;
        auto const placement = placed(90, 3);
        DatasetWriter writer(dir / "out", described(task, FeatureType::float32, {2}, 3), placement);
        if (raw) writer.keep_targets();
        auto const target = [multilabel = task == Task::multilabel](std::size_t row, std::size_t k) {
            return multilabel ? static_cast<double>((row >> k) & 1) : static_cast<double>(row) + 0.25 * double(k);
        };
        for (std::size_t row = 0; row < 90; ++row) {
            std::array const features{static_cast<float>(row), -1.5F};
            std::array const targets{target(row, 0), target(row, 1), target(row, 2)};
            writer.add(features, targets);
        }
        auto const manifest = writer.finish();
        ASSERT_EQ(manifest.targets.mean.empty(), raw);
        ASSERT_EQ(manifest.files(Split::test).size(), 3U);
        EXPECT_EQ(manifest.test[1].file, "test-00001.h5");
        EXPECT_EQ(manifest.rows(Split::train), 54);
        EXPECT_EQ(verify_files(dir / "out").failures, std::vector<std::string>{});
        std::size_t seen = 0, file = 0;
        for (auto split : {Split::train, Split::valid, Split::test})
            for (auto const& each : manifest.files(split)) {
                auto const shard = read_shard(dir / "out", each, manifest);
                for (std::size_t r = 0; r < static_cast<std::size_t>(shard.rows); ++r, ++seen) {
                    float first;
                    std::memcpy(&first, shard.features.data() + r * 8, 4);
                    auto const row = static_cast<std::size_t>(first);
                    ASSERT_EQ(placement.places[row].file, file);
                    ASSERT_EQ(placement.places[row].position, r);
                    for (std::size_t k = 0; k < 3; ++k)
                        ASSERT_EQ(shard.targets[3 * r + k], static_cast<float>(stored_target(manifest, k, target(row, k))));
                }
                ++file;
            }
        EXPECT_EQ(seen, 90U);
    }
}

// In containers that share a disk, process ids repeat.
TEST(DatasetWriter, rows_of_a_killed_process_with_this_id_do_not_come_in) {
    TemporaryDirectory const dir;
    auto const left = dir / ("out." + std::to_string(::getpid()) + ".tmp");
    std::filesystem::create_directories(left);
    for (auto const* spill : {"spill-00000", "spill-00001", "spill-00002"}) write_text(left / spill, std::string(600, 'x'));
    {
        DatasetWriter writer(dir / "out", described(Task::regression, FeatureType::float32, {2}, 1), placed(90, 1));
        for (std::size_t row = 0; row < 90; ++row) writer.add(std::array{1.0F, 2.0F}, std::array{3.0});
        writer.finish();
    }
    EXPECT_EQ(verify_files(dir / "out").failures, std::vector<std::string>{});
    EXPECT_TRUE(std::filesystem::exists(left)) << "another process may still write there";
}

TEST(DatasetWriter, bytes_are_the_same_from_either_form) {
    TemporaryDirectory const dir;
    std::array<std::uint64_t, 2> hashes{};
    for (std::size_t form = 0; form < 2; ++form) {
        DatasetWriter writer(dir / std::to_string(form), described(Task::classification, FeatureType::uint8, {3, 2, 2}, 5),
                             placed(50, 2));
        Rng rng(7);
        for (int row = 0; row < 50; ++row) {
            std::array<std::uint8_t, 12> bytes{};
            std::array<float, 12> numbers{};
            for (std::size_t i = 0; i < 12; ++i) numbers[i] = bytes[i] = static_cast<std::uint8_t>(rng.below(256));
            std::array const label{static_cast<double>(row % 5)};
            form == 0 ? writer.add(std::span<float const>(numbers), label)
                      : writer.add(std::span<std::uint8_t const>(bytes), label);
        }
        hashes[form] = dataset_hash(writer.finish());
    }
    EXPECT_EQ(hashes[0], hashes[1]);
}

TEST(DatasetWriter, mean_and_stddev_are_those_of_the_training_rows_alone) {
    for (auto type : {FeatureType::uint8, FeatureType::float32}) {
        TemporaryDirectory const dir;
        auto const placement = placed(200, 2);
        DatasetWriter writer(dir / "out", described(Task::classification, type, {2, 1, 3}, 2), placement);
        Rng rng(11);
        std::array<std::vector<double>, 2> channel;
        for (std::size_t row = 0; row < 200; ++row) {
            auto const trains = placement.files[placement.places[row].file].split == Split::train;
            std::array<float, 6> numbers{};
            for (std::size_t i = 0; i < 6; ++i) {
                numbers[i] = static_cast<float>(i < 3 ? 200 + rng.below(30) : rng.below(2)) + (trains ? 0.0F : 20.0F);
                if (trains) channel[i / 3].push_back(numbers[i]);
            }
            std::array const label{1.0};
            writer.add(std::span<float const>(numbers), label);
        }
        auto const manifest = writer.finish();
        ASSERT_EQ(manifest.features.mean.size(), 2U);
        for (std::size_t c = 0; c < 2; ++c) {
            double sum = 0, squares = 0;
            for (auto value : channel[c]) sum += value;
            auto const mean = sum / static_cast<double>(channel[c].size());
            for (auto value : channel[c]) squares += (value - mean) * (value - mean);
            EXPECT_NEAR(manifest.features.mean[c], mean, 1e-10);
            EXPECT_NEAR(manifest.features.stddev[c], std::sqrt(squares / static_cast<double>(channel[c].size())), 1e-10);
        }
    }
}

TEST(FeatureStats, sums_of_bytes_do_not_overflow) {
    FeatureStats stats(2, FeatureType::uint8);
    constexpr std::int64_t rows = 200001;  // three carries
    for (std::int64_t row = 0; row < rows; ++row)
        stats.add(std::array<std::uint8_t, 2>{255, row % 2 == 0 ? std::uint8_t{255} : std::uint8_t{0}});
    auto const moments = stats.moments(1);
    EXPECT_EQ(moments.mean[0], 255);
    EXPECT_EQ(moments.stddev[0], 1);  // a constant
    double const p = 100001.0 / rows;
    EXPECT_NEAR(moments.mean[1], 255 * p, 1e-9);
    EXPECT_NEAR(moments.stddev[1], 255 * std::sqrt(p * (1 - p)), 1e-9);
}

TEST(DatasetWriter, categories_are_not_normalised) {
    TemporaryDirectory const dir;
    auto description = described(Task::classification, FeatureType::float32, {2}, 2);
    description.categories = {7, 0};
    DatasetWriter writer(dir / "out", description, placed(20, 1));
    for (int row = 0; row < 20; ++row)
        writer.add(std::array{static_cast<float>(row % 7), static_cast<float>(row)}, std::array{row % 2 * 1.0});
    auto const manifest = writer.finish();
    EXPECT_EQ(manifest.features.mean[0], 0);
    EXPECT_EQ(manifest.features.stddev[0], 1);
    EXPECT_GT(manifest.features.mean[1], 1);
    EXPECT_EQ(verify_files(dir / "out").failures, std::vector<std::string>{});
}

TEST(DatasetWriter, a_language_has_one_vocabulary_for_all_features) {
    TemporaryDirectory const dir;
    auto description = described(Task::language, FeatureType::uint8, {4}, 250);
    description.categories = {250};
    DatasetWriter writer(dir / "out", description, placed(20, 2));
    for (std::uint8_t row = 0; row < 20; ++row)
        writer.add(std::array<std::uint8_t, 4>{row, 1, 2, 249}, std::array{230.0 + row});
    EXPECT_FALSE(std::filesystem::exists(dir / "out"));
    EXPECT_EQ(writer.finish().features.mean, std::vector<double>(4, 0));
    EXPECT_EQ(verify_files(dir / "out").failures, std::vector<std::string>{});
}

TEST(DatasetWriter, rows_larger_than_a_buffer_are_spilled_too) {
    TemporaryDirectory const dir;
    constexpr std::int64_t size = 1200000;  // a buffer holds 2^20 bytes
    DatasetWriter writer(dir / "out", described(Task::classification, FeatureType::uint8, {size}, 10), placed(10, 1));
    std::vector<std::uint8_t> row(size);
    for (std::uint8_t r = 0; r < 10; ++r) {
        std::fill(row.begin(), row.end(), r);
        writer.add(std::span<std::uint8_t const>(row), std::array{r * 1.0});
    }
    auto const manifest = writer.finish();
    std::map<std::int64_t, int> labels;
    for (auto split : {Split::train, Split::valid, Split::test}) {
        auto const shard = read_shard(dir / "out", manifest.files(split)[0], manifest);
        for (std::size_t r = 0; r < shard.labels.size(); ++r) {
            ++labels[shard.labels[r]];
            EXPECT_EQ(std::to_integer<std::int64_t>(shard.features[(r + 1) * size - 1]), shard.labels[r]);
        }
    }
    EXPECT_EQ(labels.size(), 10U);
}

TEST(DatasetWriter, rows_that_do_not_fit_are_refused_and_nothing_remains) {
    TemporaryDirectory const dir;
    {
        DatasetWriter writer(dir / "out", described(Task::classification, FeatureType::uint8, {2}, 3), placed(10, 1));
        std::array<std::uint8_t, 2> const row{};
        for (auto label : {3.0, -1.0, 0.5}) EXPECT_THROW(writer.add(row, std::array{label}), Error) << label;
        EXPECT_THROW(writer.add(row, std::array{1.0, 1.0}), Error);
        EXPECT_THROW(writer.add(std::array<std::uint8_t, 3>{}, std::array{1.0}), Error);
        for (int i = 0; i < 9; ++i) writer.add(row, std::array{1.0});
        EXPECT_THROW(writer.finish(), Error);
        writer.add(row, std::array{1.0});
        EXPECT_THROW(writer.add(row, std::array{1.0}), Error);
        EXPECT_FALSE(nothing_in(dir.path()));
    }
    EXPECT_TRUE(nothing_in(dir.path()));
}

// Whenever it is that progress throws, as it does for a signal.
TEST(DatasetWriter, an_import_can_be_ended_at_every_call_of_progress) {
    int calls = 0, allowed = 0;
    bool finished = false;
    for (; !finished; ++allowed) {
        TemporaryDirectory const dir;
        calls = 0;
        try {
            DatasetWriter writer(dir / "out", described(Task::classification, FeatureType::uint8, {1}, 2), placed(600, 2),
                                 [&](std::int64_t done, std::int64_t all) {
                                     EXPECT_LE(done, all);
                                     if (calls++ == allowed) throw Error("interrupted");
                                 });
            for (int row = 0; row < 600; ++row) writer.add(std::array<std::uint8_t, 1>{9}, std::array{0.0});
            writer.finish();
            finished = true;
        } catch (Error const&) {
            EXPECT_TRUE(nothing_in(dir.path())) << allowed;
        }
    }
    EXPECT_EQ(calls, 3 + 6 + 1);  // rows 0, 256, 512; six files; before the directory gets its name
}

}  // namespace dataset_writer_test
}  // namespace hopscotch
