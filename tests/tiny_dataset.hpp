// SPDX-License-Identifier: Apache-2.0
// A small random dataset directory for tests: images of 1x8x8 in S shards, made without an importer.
#pragma once
#include <unistd.h>

#include <filesystem>
#include <string>

#include "core/error.hpp"
#include "core/rng.hpp"
#include "data/dataset/manifest.hpp"
#include "data/dataset/shard_writer.hpp"

namespace hopscotch::testing {

// A directory of this process, removed at the end.
class TemporaryDirectory {
public:
    TemporaryDirectory() {
        auto name = (std::filesystem::temp_directory_path() / "hopscotch-test-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) throw Error("no temporary directory");
        path_ = name;
    }
    ~TemporaryDirectory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryDirectory(TemporaryDirectory const&) = delete;
    TemporaryDirectory& operator=(TemporaryDirectory const&) = delete;
    std::filesystem::path const& path() const { return path_; }

private:
    std::filesystem::path path_;
};

inline ShardFile write_tiny_shard(std::filesystem::path const& path, Manifest const& manifest, std::int64_t rows, Rng& rng) {
    ShardWriter writer(path, manifest, rows);
    std::vector<std::byte> features(static_cast<std::size_t>(rows * manifest.row_size()));
    std::vector<std::int64_t> labels(static_cast<std::size_t>(rows));
    for (std::size_t row = 0; row < labels.size(); ++row) {
        labels[row] = rng.below(static_cast<std::uint32_t>(manifest.outputs));
        for (std::size_t i = 0; i < 64; ++i)
            features[row * 64 + i] =
                static_cast<std::byte>(rng.below(12) + (i / 6 == static_cast<std::size_t>(labels[row]) ? 4 : 0));
    }
    writer.append(features, labels);
    return writer.finish();
}

// shards x rows_per_shard training rows (the first shard has one more) and as many validation shards of 11 rows.
inline std::filesystem::path make_tiny_dataset(std::filesystem::path const& directory, int shards,
                                               std::int64_t rows_per_shard) {
    std::filesystem::create_directories(directory);
    Manifest manifest;
    manifest.shape = {1, 8, 8};
    manifest.type = FeatureType::uint8;
    manifest.outputs = 10;
    manifest.features.mean = {6.0};
    manifest.features.stddev = {3.9};
    manifest.origin.seed = 1;
    Rng rng(static_cast<std::uint64_t>(shards * 1000 + rows_per_shard));
    for (int s = 0; s < shards; ++s) {
        char name[32];
        std::snprintf(name, sizeof name, "train-%05d.h5", s);
        manifest.train.push_back(write_tiny_shard(directory / name, manifest, rows_per_shard + (s == 0 ? 1 : 0), rng));
        std::snprintf(name, sizeof name, "valid-%05d.h5", s);
        manifest.valid.push_back(write_tiny_shard(directory / name, manifest, 11, rng));
    }
    write_manifest(directory, manifest);
    return directory;
}

// Random rows of any description (task, shape, type, outputs, categories), S shards of `rows` rows, and as many validation
// shards of 11 rows.
inline std::filesystem::path make_random_dataset(std::filesystem::path const& directory, Manifest manifest, int shards,
                                                 std::int64_t rows) {
    std::filesystem::create_directories(directory);
    auto const scales = static_cast<std::size_t>(manifest.shape.size() == 3 ? manifest.shape[0] : manifest.row_size());
    manifest.type = FeatureType::float32;
    manifest.features.mean.assign(scales, 0.0);
    manifest.features.stddev.assign(scales, 1.0);
    Rng rng(static_cast<std::uint64_t>(rows));
    auto const category = [&](std::size_t i) {
        auto const& all = manifest.categories;
        return all.empty() ? 0 : all[all.size() == 1 ? 0 : i];
    };
    auto const write = [&](std::string const& name, std::int64_t count) {
        ShardWriter writer(directory / name, manifest, count);
        std::vector<float> features(static_cast<std::size_t>(count * manifest.row_size()));
        auto const width = static_cast<std::size_t>(manifest.row_size());
        for (std::size_t i = 0; i < features.size(); ++i)
            features[i] = category(i % width) == 0
                              ? static_cast<float>(rng.normal())
                              : static_cast<float>(rng.below(static_cast<std::uint32_t>(category(i % width))));
        std::vector<std::int64_t> labels(static_cast<std::size_t>(count));
        for (auto& label : labels) label = rng.below(static_cast<std::uint32_t>(manifest.outputs));
        std::vector<float> targets(static_cast<std::size_t>(count * manifest.outputs));
        for (auto& target : targets)
            target = manifest.task == Task::multilabel ? static_cast<float>(rng.below(2)) : static_cast<float>(rng.normal());
        auto const bytes = std::as_bytes(std::span(features));
        if (has_labels(manifest.task))
            writer.append(bytes, labels);
        else
            writer.append(bytes, targets);
        return writer.finish();
    };
    for (int s = 0; s < shards; ++s) {
        manifest.train.push_back(write("train-0000" + std::to_string(s) + ".h5", rows + (s == 0 ? 1 : 0)));
        manifest.valid.push_back(write("valid-0000" + std::to_string(s) + ".h5", 11));
    }
    write_manifest(directory, manifest);
    return directory;
}

}  // namespace hopscotch::testing
