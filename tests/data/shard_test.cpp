// SPDX-License-Identifier: Apache-2.0
#include "data/dataset/shard.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <thread>

#include "core/hash.hpp"
#include "data/dataset/shard_writer.hpp"
#include "data/support.hpp"

namespace hopscotch {
namespace shard_test {

Manifest described(FeatureType type, Task task, std::int64_t outputs) {
    Manifest m;
    m.task = task;
    m.shape = {1, 2, 3};
    m.type = type;
    m.outputs = outputs;
    return m;
}

// Twenty rows of 6 bytes, row r = {6r, 6r+1, ...}, labels r % 10, appended in pieces of 7.
ShardFile write_bytes(std::filesystem::path const& path, Manifest const& manifest, std::int64_t bad_row = -1) {
    ShardWriter writer(path, manifest, 20);
    for (std::int64_t first = 0; first < 20; first += 7) {
        std::vector<std::byte> features;
        std::vector<std::int64_t> labels;
        for (auto row = first; row < std::min<std::int64_t>(first + 7, 20); ++row) {
            for (int i = 0; i < 6; ++i) features.push_back(static_cast<std::byte>(6 * row + i));
            labels.push_back(row == bad_row ? 12 : row % 10);
        }
        writer.append(features, labels);
    }
    return writer.finish();
}

TEST(Shard, uint8_rows_come_back) {
    TemporaryDirectory const dir;
    auto const manifest = described(FeatureType::uint8, Task::classification, 10);
    auto const file = write_bytes(dir / "train-00000.h5", manifest);
    EXPECT_EQ(file.file, "train-00000.h5");
    EXPECT_EQ(file.rows, 20);
    auto const bytes = read_bytes(dir / "train-00000.h5");
    EXPECT_EQ(file.xxh64, xxh64(std::as_bytes(std::span(bytes))));
    auto const shard = read_shard(dir.path(), file, manifest);
    ASSERT_EQ(shard.rows, 20);
    ASSERT_EQ(shard.features.size(), 120U);
    for (std::size_t i = 0; i < 120; ++i) ASSERT_EQ(std::to_integer<std::size_t>(shard.features[i]), i);
    for (std::size_t i = 0; i < 20; ++i) ASSERT_EQ(shard.labels[i], static_cast<std::int64_t>(i % 10));
    EXPECT_TRUE(shard.targets.empty());
    EXPECT_NO_THROW(check_shard(dir.path(), file, manifest));
}

TEST(Shard, float_rows_and_targets_come_back) {
    TemporaryDirectory const dir;
    auto const manifest = described(FeatureType::float32, Task::regression, 2);
    std::vector<float> features(18), targets(6);
    for (std::size_t i = 0; i < 18; ++i) features[i] = static_cast<float>(i) / 3;
    for (std::size_t i = 0; i < 6; ++i) targets[i] = -static_cast<float>(i) / 7;
    ShardWriter writer(dir / "valid-00000.h5", manifest, 3);
    writer.append(std::as_bytes(std::span(features)), std::span<float const>(targets));
    auto const file = writer.finish();
    auto const shard = read_shard(dir.path(), file, manifest);
    ASSERT_EQ(shard.features.size(), 72U);
    EXPECT_EQ(std::memcmp(shard.features.data(), features.data(), 72), 0);
    EXPECT_EQ(shard.targets, targets);
    EXPECT_TRUE(shard.labels.empty());
}

TEST(Shard, the_task_says_whether_there_are_labels_or_targets) {
    TemporaryDirectory const dir;
    auto const tokens = described(FeatureType::uint8, Task::language, 10);
    auto const file = write_bytes(dir / "l.h5", tokens, 17);
    EXPECT_EQ(thrown<DataError>([&] { read_shard(dir.path(), file, tokens); }, dir.path()).substr(0, 80),
              "l.h5: row 17: label 12 is out of range (dataset.json says 10 tokens); run 'hopsc");
    auto const flags = described(FeatureType::uint8, Task::multilabel, 3);
    ShardWriter writer(dir / "m.h5", flags, 2);
    EXPECT_THROW(writer.append(std::vector<std::byte>(12), std::vector<std::int64_t>(2)), Error);
    std::vector<float> const targets{0, 1, 1, 0, 0, 1};
    writer.append(std::vector<std::byte>(12), targets);
    EXPECT_EQ(read_shard(dir.path(), writer.finish(), flags).targets, targets);
}

// The kB of this process's address space that lie in the file.
long mapped_kb(std::filesystem::path const& path) {
    std::ifstream maps("/proc/self/smaps");
    long kb = 0;
    bool inside = false;
    for (std::string line; std::getline(maps, line);) {
        if (line.find("-") < line.find(" ")) inside = line.ends_with(path.string());
        if (inside && line.starts_with("Size:")) kb += std::stol(line.substr(5));
    }
    return kb;
}

TEST(Shard, mapped_rows_are_the_same_and_stay_in_the_file) {
    TemporaryDirectory const dir;
    auto const manifest = described(FeatureType::float32, Task::regression, 1);
    std::vector<float> features(6 * 20000), targets(20000);
    for (std::size_t i = 0; i < features.size(); ++i) features[i] = static_cast<float>(i) / 3;
    ShardWriter writer(dir / "v.h5", manifest, 20000);
    writer.append(std::as_bytes(std::span(features)), std::span<float const>(targets));
    auto const file = writer.finish();
    {
        auto const read = read_shard(dir.path(), file, manifest);
        EXPECT_EQ(mapped_kb(dir / "v.h5"), 0);
        auto const mapped = map_shard(dir.path(), file, manifest);
        EXPECT_GE(mapped_kb(dir / "v.h5"), 480000 / 1024);
        EXPECT_TRUE(std::ranges::equal(mapped.features, read.features));
        EXPECT_EQ(mapped.targets, read.targets);
        auto const copy = mapped;
        EXPECT_EQ(copy.features.data(), mapped.features.data());
    }
    EXPECT_EQ(mapped_kb(dir / "v.h5"), 0);
}

TEST(Shard, may_be_read_by_several_threads) {
    TemporaryDirectory const dir;
    auto const manifest = described(FeatureType::uint8, Task::classification, 10);
    auto const file = write_bytes(dir / "t.h5", manifest);
    std::vector<std::jthread> threads;
    std::atomic<int> good{0};
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 20; ++i) good += read_shard(dir.path(), file, manifest).labels[13] == 3;
        });
    threads.clear();
    EXPECT_EQ(good, 80);
}

TEST(Shard, truncated_file_is_named) {
    TemporaryDirectory const dir;
    auto const manifest = described(FeatureType::uint8, Task::classification, 10);
    auto const file = write_bytes(dir / "t.h5", manifest);
    std::filesystem::resize_file(dir / "t.h5", std::filesystem::file_size(dir / "t.h5") - 100);
    for (auto call : {+[](std::filesystem::path const& d, ShardFile const& f, Manifest const& m) { check_shard(d, f, m); },
                      +[](std::filesystem::path const& d, ShardFile const& f, Manifest const& m) { read_shard(d, f, m); }}) {
        auto const text = thrown<DataError>([&] { call(dir.path(), file, manifest); }, dir.path());
        EXPECT_TRUE(text.starts_with("t.h5: cannot be read as HDF5 (truncated file")) << text;
        EXPECT_TRUE(text.ends_with("restore it or import the dataset again")) << text;
    }
}

TEST(Shard, label_out_of_range_names_file_and_row) {
    TemporaryDirectory const dir;
    auto const manifest = described(FeatureType::uint8, Task::classification, 10);
    auto const file = write_bytes(dir / "train-00003.h5", manifest, 17);
    auto const name = dir.path().string();
    EXPECT_EQ(
        thrown<DataError>([&] { read_shard(dir.path(), file, manifest); }),
        name +
            "/train-00003.h5: row 17: label 12 is out of range (dataset.json says 10 classes); run 'hopscotch data verify " +
            name + "'");
}

TEST(Shard, other_shapes_types_and_files_are_refused) {
    TemporaryDirectory const dir;
    auto manifest = described(FeatureType::uint8, Task::classification, 10);
    auto file = write_bytes(dir / "t.h5", manifest);
    auto const error = [&] { return thrown<DataError>([&] { check_shard(dir.path(), file, manifest); }, dir.path()); };
    file.rows = 21;
    EXPECT_EQ(error(),
              "t.h5: dataset '/features' is uint8 [20, 1, 2, 3] (dataset.json says uint8 [21, 1, 2, 3]); import the dataset "
              "again");
    file.rows = 20;
    manifest.type = FeatureType::float32;
    EXPECT_EQ(error(),
              "t.h5: dataset '/features' is uint8 [20, 1, 2, 3] (dataset.json says float32 [20, 1, 2, 3]); import the "
              "dataset again");
    manifest.type = FeatureType::uint8;
    manifest.task = Task::regression;
    EXPECT_EQ(error(),
              "t.h5: dataset '/labels' is int64 [20] (dataset.json says float32 [20, 10]); import the dataset again");
    file.file = "u.h5";
    EXPECT_EQ(error(), "u.h5: no such file (named in dataset.json); restore it or import the dataset again");
    write_text(dir / "u.h5", "this is not an HDF5 file");
    EXPECT_TRUE(error().starts_with("u.h5: cannot be read as HDF5 (")) << error();
}

TEST(Shard, writer_counts_rows) {
    TemporaryDirectory const dir;
    auto const manifest = described(FeatureType::uint8, Task::classification, 10);
    ShardWriter writer(dir / "t.h5", manifest, 2);
    std::vector<std::byte> const row(6);
    std::vector<std::int64_t> const label(1), labels(2);
    writer.append(row, label);
    EXPECT_THROW(writer.append(row, labels), Error);
    EXPECT_THROW(writer.append(row, std::vector<float>(10)), Error);
    EXPECT_THROW(writer.finish(), Error);
    writer.append(row, label);
    EXPECT_THROW(writer.append(row, label), Error);
    EXPECT_EQ(writer.finish().rows, 2);
    EXPECT_THROW(ShardWriter(dir / "t.h5", manifest, 2), DataError);  // exists
}

}  // namespace shard_test
}  // namespace hopscotch
