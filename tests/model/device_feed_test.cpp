// SPDX-License-Identifier: Apache-2.0
// Feeding a GPU, on a CPU: the kernels' bodies, uploads, staging and evictions on a device that is as late as it may be.
#include "tensor/feed/device_feed.hpp"
#include "tensor/feed/workspace_impl.hpp"

#include <gtest/gtest.h>

#include "core/log.hpp"
#include "model/feed_cases.hpp"
#include "model/fixture.hpp"
#include "model/late_device.hpp"

namespace hopscotch {
namespace device_feed_test {

using testing::LateDevice;
using testing::Travelling;

LateDevice& give_device(Workspace& workspace, DeviceMemory memory, double eager, std::uint64_t seed,
                        std::int64_t plan_rows = 2048) {
    auto device = std::make_unique<LateDevice>(memory, eager, seed);
    auto& out = *device;
    workspace.impl().gpu.device_feed = std::make_unique<DeviceFeed>(std::move(device), plan_rows);
    return out;
}

// A trial's pass: what feeds it, and what came of it.
struct Running {
    testing::FeedCase data;
    testing::PassOrder pass;
    std::unique_ptr<Feed> feed;
    std::unique_ptr<ShardSource> source;
    FeedPass under_way;
    std::vector<Batch> seen;

    void begin() { under_way = feed->begin(*source, pass.order, pass.cut, pass.address); }
    bool over() const { return under_way.next == pass.cut.size(); }
    // The step that trains on the batch is work like any other: it may see the batch much later.
    void step(LateDevice& device) {
        auto const batch = feed->next(under_way);
        device.queue_work(FeedDevice::Stream::compute,
                          [this, batch] { seen.push_back({batch.x.clone(), batch.y.clone()}); });
    }
    void check() const {
        auto const wanted = testing::host_batches(data, pass);
        ASSERT_EQ(seen.size(), wanted.size());
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            ASSERT_TRUE(testing::same_bits(seen[i].x, wanted[i].x)) << "features of batch " << i;
            ASSERT_TRUE(testing::same_bits(seen[i].y, wanted[i].y)) << "answers of batch " << i;
        }
    }
};

std::unique_ptr<Running> random_running(Workspace& workspace, Rng& rng) {
    auto out = std::make_unique<Running>();
    out->data = testing::random_case(rng);
    out->pass = testing::random_pass(out->data, rng);
    out->feed = std::make_unique<Feed>(out->data.config, out->data.manifest, workspace.impl());
    if (rng.below(3) == 0)
        out->source = std::make_unique<Travelling>(out->data.shard);
    else
        out->source = shard_in_memory(out->data.shard);
    out->begin();
    return out;
}

class Feeding : public ::testing::TestWithParam<int> {};

// Three trials take turns, in mid-pass, on a device with room for everything, something or nothing.
TEST_P(Feeding, equals_the_host_to_the_bit) {
    log_setup("", LogLevel::warning);  // hundreds of shards stay in host memory
    Rng rng(static_cast<std::uint64_t>(GetParam()));
    Workspace workspace("cpu", 1);
    std::int64_t const free = std::vector<std::int64_t>{0, 20000, 1 << 30}[rng.below(3)];
    auto const eager = rng.below(2) == 0 ? 0 : rng.uniform() * 0.7;
    auto const plan_rows = 1 + static_cast<std::int64_t>(rng.below(40));
    auto& device = give_device(workspace, {free, 0}, eager, rng.next_u64(), plan_rows);
    std::vector<std::unique_ptr<Running>> trials;
    for (int i = 0; i < 3; ++i) trials.push_back(random_running(workspace, rng));
    for (auto left = trials.size(); left > 0;) {
        auto& trial = *trials[rng.below(3)];
        if (trial.over()) continue;
        trial.step(device);
        if (trial.over()) --left;
        if (rng.below(20) == 0) workspace.impl().gpu.device_feed->make_room(1 << 30);
    }
    device.finish_all();
    for (auto const& trial : trials) trial->check();
}

INSTANTIATE_TEST_SUITE_P(Seeds, Feeding, ::testing::Range(0, 400));

std::shared_ptr<Shard const> plain_shard(Manifest const& manifest, std::uint64_t seed) {
    return std::make_shared<Shard const>(testing::random_shard(manifest, 50, seed));
}

TEST(DeviceFeed, copies_a_shard_once_and_lets_it_go_for_a_state) {
    Workspace workspace("cpu", 1);
    auto& device = give_device(workspace, {100000, 0}, 0, 1);
    auto& feed = *workspace.impl().gpu.device_feed;
    auto const shard = plain_shard(testing::digits(50), 1);
    auto const there = feed.resident(shard, 200);
    ASSERT_TRUE(there);
    EXPECT_EQ(there->features.nbytes(), shard->features.size());
    device.set_free(0);
    EXPECT_EQ(feed.resident(shard, 200), there);
    feed.make_room(1000);
    EXPECT_EQ(feed.resident(shard, 200), nullptr);
    EXPECT_EQ(there.use_count(), 1) << "only a pass that is under way keeps it";
    device.set_free(100000);
    EXPECT_EQ(feed.resident(shard, 200), nullptr) << "it would go to and fro";
}

// 4096 pixels and 4 cutouts are the most that a plan can say; beyond it the host gathers, where there is something to
// augment.
TEST(DeviceFeed, stages_what_a_plan_cannot_say) {
    AugmentConfig const cutout{AugmentKind::cutout, 0.7, 4, 3}, flip{AugmentKind::flip, 0.5};
    auto const check = [&](std::int64_t width, std::vector<AugmentConfig> augment, bool resident) {
        Rng rng(5);
        Workspace workspace("cpu", 1);
        auto& device = give_device(workspace, {1 << 30, 0}, 0, 1);
        Running trial;
        trial.data.manifest = testing::plain_manifest({1, 2, width}, 3, 20, Task::classification);
        trial.data.config.augment = std::move(augment);
        trial.data.shard = std::make_shared<Shard const>(testing::made_up_shard(trial.data.manifest, 20, rng));
        trial.pass = {testing::unit(1, 0, 0), shuffled_rows(20, testing::unit(1, 0, 0)), batches(20, 8, LastBatch::keep)};
        trial.feed = std::make_unique<Feed>(trial.data.config, trial.data.manifest, workspace.impl());
        trial.source = shard_in_memory(trial.data.shard);
        trial.begin();
        EXPECT_EQ(trial.under_way.resident != nullptr, resident) << width;
        while (!trial.over()) trial.step(device);
        device.finish_all();
        trial.check();
        trial.pass.address.reset();
        trial.begin();
        EXPECT_NE(trial.under_way.resident, nullptr) << "evaluation changes no image";
    };
    check(4096, {cutout, flip, cutout, cutout, cutout}, true);
    check(4097, {flip}, false);
    check(12, {cutout, cutout, cutout, cutout, cutout}, false);
}

TEST(DeviceFeed, stages_what_does_not_fit_in_one_piece) {
    Workspace workspace("cpu", 1);
    give_device(workspace, {100000, 0}, 0, 1).fail_next_copy();
    auto const shard = plain_shard(testing::digits(50), 1);
    EXPECT_EQ(workspace.impl().gpu.device_feed->resident(shard, 0), nullptr);
    EXPECT_EQ(workspace.impl().gpu.device_feed->resident(shard, 0), nullptr) << "it is not tried again";
}

TEST(DeviceFeed, fills_a_batch_while_the_one_before_is_under_way) {
    Workspace workspace("cpu", 1);
    auto& device = give_device(workspace, {0, 0}, 0, 1);
    auto const manifest = testing::digits(50);
    auto const source = shard_in_memory(plain_shard(manifest, 1));
    Feed feed({}, manifest, workspace.impl());
    auto const order = shuffled_rows(50, testing::unit(1, 0, 0));
    auto const cut = batches(50, 5, LastBatch::keep);
    auto pass = feed.begin(*source, order, cut, {});
    for (int i = 0; i < 2; ++i) feed.next(pass);
    device.finish_all();                                      // the buffers have their sizes
    std::vector<std::pair<std::int64_t, std::int64_t>> done;  // copies to the device, and from there to where steps read
    for (int i = 0; i < 5; ++i) {
        feed.next(pass);
        done.emplace_back(device.done(FeedDevice::Stream::copy), device.done(FeedDevice::Stream::compute));
    }
    // Features and answers are a copy each. Filling a slot waits for the slot's last copy, and that only for its last take.
    EXPECT_EQ(done, (std::vector<std::pair<std::int64_t, std::int64_t>>{{4, 4}, {4, 4}, {6, 4}, {8, 4}, {10, 6}}));
    device.finish_all();
}

TEST(DeviceFeed, drops_shards_that_are_gone) {
    Workspace workspace("cpu", 1);
    give_device(workspace, {100000, 0}, 0, 1);
    auto& feed = *workspace.impl().gpu.device_feed;
    auto first = plain_shard(testing::digits(50), 1);
    std::weak_ptr<DeviceShard const> const there = feed.resident(first, 0);
    first = nullptr;
    auto const second = plain_shard(testing::digits(50), 2);
    EXPECT_TRUE(feed.resident(second, 0));
    EXPECT_TRUE(there.expired());
}

TEST(DeviceFeed, batches_of_a_size_stay_at_one_address) {
    for (std::int64_t const free : {0, 1 << 30}) {
        Workspace workspace("cpu", 1);
        auto& device = give_device(workspace, {free, 0}, 0, 1);
        auto const manifest = testing::digits(50);
        auto const source = shard_in_memory(plain_shard(manifest, 1));
        Feed feed({}, manifest, workspace.impl());
        auto const order = shuffled_rows(50, testing::unit(1, 0, 0));
        auto const cut = batches(50, 7, LastBatch::keep);
        std::set<std::pair<void*, void*>> seen;
        for (int epoch = 0; epoch < 2; ++epoch) {
            auto pass = feed.begin(*source, order, cut, {});
            for (std::size_t i = 0; i < cut.size(); ++i) {
                auto const batch = feed.next(pass);
                device.queue_work(FeedDevice::Stream::compute, [batch] {});  // holds it until it has been written
                if (i > 0 || epoch > 0)
                    seen.insert({batch.x.data_ptr(), batch.y.data_ptr()});  // 50 = 7 x 6 + 8: the last grows
            }
            device.finish_all();
        }
        EXPECT_LE(seen.size(), 2U);
    }
}

// The whole model: its training passes, validation between them and a cut in mid-pass.
TEST(DeviceFeed, trains_and_evaluates_to_the_same_bits) {
    auto config = testing::trial_config("lenet");
    config.data.augment = {{AugmentKind::flip, 0.5}, {AugmentKind::crop, 1, 2}};
    auto manifest = testing::plain_manifest({1, 16, 16}, 10, 50, Task::classification);
    auto const shard = plain_shard(manifest, 1);
    auto const outcome = [&](bool on_device, std::int64_t free) {
        auto const workspace = std::make_shared<Workspace>("cpu", 1);
        if (on_device) give_device(*workspace, {free, 0}, 1, 1);
        testing::Trial trial(config, manifest, workspace);
        testing::AlignedBlock block(trial->state->layout().bytes);
        auto const source = shard_in_memory(shard);
        trial->state->initialise(block.bytes(), 42, TrialId(1));
        trial->state->bind(block.bytes());
        trial->training->train_unit(*source, testing::unit(1, 0, 0), {});
        Evaluation sums(manifest.task, manifest.outputs);
        trial->evaluation->evaluate(*source, {0, 1}, sums);
        trial->training->begin_pass(*source, testing::unit(1, 1, 0), 7);
        trial->training->skip_to({2, {14, 1.0}});
        while (trial->training->next_gradient({}, {}) > 0) trial->training->update(7);
        trial->training->end_pass();
        return std::pair(trial.hash(block), sums.loss());
    };
    auto const wanted = outcome(false, 0);
    EXPECT_EQ(outcome(true, 1 << 30), wanted);
    EXPECT_EQ(outcome(true, 0), wanted);
}

}  // namespace device_feed_test
}  // namespace hopscotch
