// SPDX-License-Identifier: Apache-2.0
#include "data/batches/row_block.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"
#include "data/batches/shard_source.hpp"
#include "data/dataset/manifest.hpp"
#include "data/dataset/shard.hpp"

namespace hopscotch {
namespace row_block_test {

Manifest some_manifest(Task task) {
    Manifest manifest;
    manifest.task = task;
    manifest.shape = {3};
    manifest.type = has_labels(task) ? FeatureType::uint8 : FeatureType::float32;
    manifest.outputs = 2;
    return manifest;
}

// Row r: features of bytes r, label or targets 10 r and 10 r + 1.
Shard some_shard(Manifest const& manifest) {
    Shard shard;
    resize_rows(shard, manifest, 5);
    auto const width = shard.features.size() / 5;
    for (std::size_t i = 0; i < shard.features.size(); ++i) shard.features.own()[i] = static_cast<std::byte>(i / width);
    for (std::size_t r = 0; r < shard.labels.size(); ++r) shard.labels[r] = static_cast<std::int64_t>(10 * r);
    for (std::size_t i = 0; i < shard.targets.size(); ++i) shard.targets[i] = static_cast<float>(10 * (i / 2) + i % 2);
    return shard;
}

class RowBlock : public ::testing::TestWithParam<Task> {
protected:
    Manifest manifest_ = some_manifest(GetParam());
    Shard shard_ = some_shard(manifest_);
};

TEST_P(RowBlock, BringsRowsInTheirOrder) {
    std::vector<std::uint32_t> const rows{4, 0, 2}, numbers{104, 100, 102};
    std::vector<std::byte> block(3 * stored_row_bytes(manifest_));
    pack_rows({shard_, rows, numbers}, manifest_, block);
    Shard out;
    resize_rows(out, manifest_, 4);
    unpack_rows(block, manifest_, out, 1);
    auto const width = shard_.features.size() / 5;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(out.features[(i + 1) * width], static_cast<std::byte>(rows[i]));
        EXPECT_EQ(out.features[(i + 2) * width - 1], static_cast<std::byte>(rows[i]));
        if (has_labels(GetParam())) {
            EXPECT_EQ(out.labels[i + 1], 10 * rows[i]);
        } else {
            EXPECT_EQ(out.targets[2 * (i + 1) + 1], static_cast<float>(10 * rows[i] + 1));
        }
    }
}

TEST_P(RowBlock, OfAnotherSizeIsRefused) {
    std::vector<std::byte> block(3 * stored_row_bytes(manifest_) - 1);
    Shard out;
    resize_rows(out, manifest_, 3);
    EXPECT_THROW(unpack_rows(block, manifest_, out, 0), DataError);
    block.resize(3 * stored_row_bytes(manifest_));
    EXPECT_THROW(unpack_rows(block, manifest_, out, 1), DataError);
}

INSTANTIATE_TEST_SUITE_P(Tasks, RowBlock, ::testing::Values(Task::classification, Task::regression));

TEST(RowBlock, StoredBytesAreFeaturesAndLabel) {
    EXPECT_EQ(stored_row_bytes(some_manifest(Task::classification)), 3u + 8u);
    EXPECT_EQ(stored_row_bytes(some_manifest(Task::regression)), 12u + 8u);
}

}  // namespace row_block_test
}  // namespace hopscotch
