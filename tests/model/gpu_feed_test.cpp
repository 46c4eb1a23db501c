// SPDX-License-Identifier: Apache-2.0
// On a GPU: its batches are the host's, to the bit, from shards that lie there and from such as are staged.
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include "model/feed_cases.hpp"
#include "tensor/feed/device_feed.hpp"
#include "tensor/feed/workspace_impl.hpp"

namespace hopscotch {
namespace gpu_feed_test {

using testing::same_bits;

bool no_gpu() { return resolve_device("auto", 0) == "cpu"; }
constexpr char const* k_reason = "this machine shows no GPU, or this is a CPU build";

// Work that keeps the GPU behind the host, so that a buffer that is written too early is seen.
void keep_busy(at::Device device) {
    auto a = at::ones({1024, 1024}, at::TensorOptions(device));
    for (int i = 0; i < 20; ++i) a = at::matmul(a, a).mul(0);
}

void compare(Workspace& workspace, testing::FeedCase const& data, testing::PassOrder const& pass, ShardSource& source) {
    Feed feed(data.config, data.manifest, workspace.impl());
    auto under_way = feed.begin(source, pass.order, pass.cut, pass.address);
    std::vector<Batch> seen;
    for (std::size_t i = 0; i < pass.cut.size(); ++i) {
        auto const batch = feed.next(under_way);
        if (i % 3 == 0) keep_busy(workspace.impl().device);
        seen.push_back({batch.x.clone(), batch.y.clone()});
    }
    feed.end(under_way);
    auto const wanted = testing::host_batches(data, pass);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        ASSERT_TRUE(same_bits(seen[i].x.cpu(), wanted[i].x)) << "features of batch " << i;
        ASSERT_TRUE(same_bits(seen[i].y.cpu(), wanted[i].y)) << "answers of batch " << i;
    }
}

TEST(GpuFeed, equals_the_host_to_the_bit) {
    if (no_gpu()) GTEST_SKIP() << k_reason;
    Workspace workspace("cuda:0", 1);
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        Rng rng(seed);
        auto const data = testing::random_case(rng);
        auto const pass = testing::random_pass(data, rng);
        compare(workspace, data, pass, *shard_in_memory(data.shard));
        testing::Travelling travelling(data.shard);
        compare(workspace, data, pass, travelling);
    }
}

// Batches large enough that copies take longer than the host needs to fill the next.
TEST(GpuFeed, stages_large_batches_behind_a_busy_device) {
    if (no_gpu()) GTEST_SKIP() << k_reason;
    Workspace workspace("cuda:0", 1);
    Rng rng(1);
    testing::FeedCase data;
    data.manifest.shape = {3, 224, 224};
    data.manifest.type = FeatureType::uint8;
    data.manifest.outputs = 10;
    data.manifest.features.mean = {100, 110, 120};
    data.manifest.features.stddev = {50, 60, 70};
    data.manifest.train = {{"train-00000.h5", 256, 0}};
    data.config.augment = {{AugmentKind::crop, 1, 16}, {AugmentKind::flip, 0.5}, {AugmentKind::cutout, 0.5, 4, 40}};
    data.shard = std::make_shared<Shard const>(testing::made_up_shard(data.manifest, 256, rng));
    UnitAddress const unit{42, TrialId(1), 0, ShardId(0)};
    testing::PassOrder const pass{unit, shuffled_rows(256, unit), batches(256, 32, LastBatch::keep)};
    testing::Travelling travelling(data.shard);
    compare(workspace, data, pass, travelling);
    compare(workspace, data, pass, *shard_in_memory(data.shard));
}

TEST(GpuFeed, knows_its_memory) {
    if (no_gpu()) GTEST_SKIP() << k_reason;
    auto const device = make_feed_device(at::Device("cuda:0"));
    auto const before = device->memory();
    EXPECT_GT(before.free, 0);
    EXPECT_LE(before.free, before.total);
    auto const block = at::ones({64 << 20}, device->on_device().dtype(at::kFloat));
    EXPECT_LE(device->memory().free, before.free - (std::int64_t{200} << 20));
}

}  // namespace gpu_feed_test
}  // namespace hopscotch
