// SPDX-License-Identifier: Apache-2.0
// States that come and go while units train, on a device that does everything as late as possible: each unit trains on the
// right state, and host memory has the right state when a download has ended.
#include "tensor/gpu/state_slots.hpp"

#include <gtest/gtest.h>

#include <ATen/ops/zeros.h>

#include <map>
#include <vector>

#include "core/rng.hpp"
#include "fixture.hpp"
#include "late_device.hpp"
#include "tensor/feed/workspace_impl.hpp"

namespace hopscotch {
namespace state_slots_test {

using testing::LateDevice;
using Stream = FeedDevice::Stream;

constexpr std::int64_t k_floats = 3;
constexpr DeviceMemory k_plenty{1 << 20, 1 << 20};

struct Trial {
    at::Tensor host = at::zeros({k_floats});
    double value = 0;  // of each float, by the units so far
    bool is_up_to_date() const { return host.eq(value).all().item<bool>(); }
};

class Schedule {
public:
    explicit Schedule(std::uint64_t seed) : rng_(seed), trials_(1 + rng_.below(4)) {
        auto device = std::make_unique<LateDevice>(memory_of(rng_), rng_.uniform(), seed);
        device_ = device.get();
        slots_ = std::make_unique<StateSlots>(std::move(device));
        for (std::size_t t = 0; t < trials_.size(); ++t) trials_[t].host.fill_(trials_[t].value = static_cast<double>(t));
    }
    void run() {
        for (int unit = 0; unit < 12; ++unit) train(pick(), unit);
        await();
        device_->finish_all();
        for (auto const& trial : trials_) EXPECT_TRUE(trial.is_up_to_date());
    }
    int taken() const { return taken_; }

private:
    static DeviceMemory memory_of(Rng& rng) { return rng.uniform() < 0.8 ? k_plenty : DeviceMemory{16, 1 << 20}; }
    Trial& pick() { return trials_[rng_.below(static_cast<std::uint32_t>(trials_.size()))]; }
    void await() {
        if (leaving_ == nullptr) return;
        slots_->await_download();
        EXPECT_TRUE(leaving_->is_up_to_date());
        leaving_ = nullptr;
    }
    void train(Trial& trial, int unit) {
        if (&trial == leaving_) await();
        auto const block = block_.narrow(0, 0, k_floats);
        if (slots_->take(trial.host, block)) {
            EXPECT_EQ(&trial, uploaded_);
            uploaded_ = nullptr;
            ++taken_;
        } else {
            EXPECT_NE(&trial, uploaded_);
            device_->copy(block, trial.host, Stream::compute);
        }
        device_->queue_work(Stream::compute, [block, unit] { block.mul_(3).add_(unit); });
        trial.value = trial.value * 3 + unit;
        for (int i = 0; i < 2; ++i) upload_next(trial);
        if (rng_.uniform() < 0.05) {
            slots_->make_room(std::int64_t{1} << 40);
            uploaded_ = nullptr;
        }
        await();
        if (slots_->download(block, trial.host)) {
            leaving_ = &trial;
        } else {
            device_->copy(trial.host, block, Stream::compute);
            device_->finish_all();
        }
        if (rng_.uniform() < 0.5) await();
    }
    void upload_next(Trial const& trains) {
        auto& next = pick();
        if (&next == &trains || &next == leaving_ || &next == uploaded_) return;
        if (uploaded_ != nullptr) {
            EXPECT_FALSE(slots_->upload(next.host)) << "the slot is taken";
            withdraw(*uploaded_);
        }
        if (slots_->upload(next.host)) uploaded_ = &next;
        if (uploaded_ != nullptr && rng_.uniform() < 0.2) withdraw(*uploaded_);
    }
    // Nothing reads the memory afterwards, so that it may have other contents for a while.
    void withdraw(Trial& trial) {
        slots_->withdraw(trial.host.data_ptr());
        uploaded_ = nullptr;
        trial.host.fill_(-1);
        if (rng_.uniform() < 0.5) device_->finish_all();
        trial.host.fill_(trial.value);
    }

    Rng rng_;
    std::vector<Trial> trials_;
    std::unique_ptr<StateSlots> slots_;
    LateDevice* device_ = nullptr;
    at::Tensor block_ = at::zeros({k_floats + 1});
    Trial *uploaded_ = nullptr, *leaving_ = nullptr;
    int taken_ = 0;
};

TEST(StateSlots, EveryUnitTrainsOnItsOwnState) {
    int taken = 0;
    for (std::uint64_t seed = 0; seed < 3000 && !::testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Schedule schedule(seed);
        schedule.run();
        taken += schedule.taken();
    }
    EXPECT_GT(taken, 3000);
}

TEST(StateSlots, GrowToTheLargestState) {
    auto device = std::make_unique<LateDevice>(k_plenty, 0.2, 1);
    auto& late = *device;
    StateSlots slots(std::move(device));
    auto const block = at::zeros({9});
    for (std::int64_t const floats : {3, 9, 5}) {
        auto const host = at::zeros({floats}).fill_(static_cast<double>(floats));
        ASSERT_TRUE(slots.upload(host));
        ASSERT_TRUE(slots.take(host, block.narrow(0, 0, floats)));
        late.queue_work(Stream::compute, [=] { block.add_(1); });
        ASSERT_TRUE(slots.download(block.narrow(0, 0, floats), host));
        slots.await_download();
        EXPECT_TRUE(host.eq(static_cast<double>(floats + 1)).all().item<bool>()) << floats;
    }
}

TEST(StateSlots, TakeNoMemoryThatTrainingNeeds) {
    constexpr std::int64_t k_total = 8000;
    auto device = std::make_unique<LateDevice>(DeviceMemory{k_total / 8 + 11, k_total}, 1, 1);
    auto& late = *device;
    StateSlots slots(std::move(device));
    auto const host = at::zeros({3});
    EXPECT_FALSE(slots.upload(host)) << "12 bytes of 11";
    EXPECT_FALSE(slots.download(host, host));
    late.set_free(k_total / 8 + 12);
    EXPECT_TRUE(slots.upload(host));
    slots.make_room(12);
    EXPECT_TRUE(slots.take(host, at::zeros({3}))) << "there is room";
    slots.make_room(13);
    late.set_free(k_total);
    EXPECT_FALSE(slots.upload(host)) << "they do not come again";
}

// Two trials by turns, in the order and with the calls of a trainer: the bits of trials that train in place.
TEST(StateSlots, ModelsTrainToTheSameBits) {
    auto const manifest = testing::plain_manifest({1, 8, 8}, 10, 40, Task::classification);
    auto const shard = testing::random_shard(manifest, 40, 1);
    auto config = testing::trial_config("cnn");
    auto const train = [&](bool with_slots) {
        auto const workspace = std::make_shared<Workspace>("cpu", 1);
        if (with_slots) {
            auto device = std::make_unique<LateDevice>(k_plenty, 0.3, 7);
            device->compute_at_once();
            workspace->impl().gpu.slots = std::make_unique<StateSlots>(std::move(device));
        }
        std::vector<std::uint64_t> hashes;
        testing::Trial a(config, manifest, workspace), b(config, manifest, workspace);
        testing::AlignedBlock block_a(a->state->layout().bytes), block_b(b->state->layout().bytes);
        a->state->initialise(block_a.bytes(), 42, TrialId(1));
        b->state->initialise(block_b.bytes(), 42, TrialId(2));
        auto const source = shard_in_memory(shard);
        for (int unit = 0; unit < 6; ++unit) {
            auto &trial = unit % 2 == 0 ? a : b, &next = unit % 2 == 0 ? b : a;
            auto& block = unit % 2 == 0 ? block_a : block_b;
            auto& next_block = unit % 2 == 0 ? block_b : block_a;
            trial->state->bind(block.bytes());
            trial->training->begin_pass(*source, testing::unit(unit % 2, unit, 0), 7);
            EXPECT_EQ(next->state->begin_store(next_block.bytes()), with_slots);
            while (trial->training->next_gradient({}, {}) > 0) trial->training->update(7);
            EXPECT_EQ(trial->training->end_pass(StateBack::later).rows, 40);
            EXPECT_EQ(trial->state->begin_fetch(), with_slots);
            if (unit < 3) {  // the next one is bound before this one is back
                next->state->bind(next_block.bytes());
                Evaluation sums(manifest.task, manifest.outputs);
                next->evaluation->evaluate(*source, {0, 1}, sums);
            }
            trial->state->await_fetch();
            hashes.push_back(trial.hash(block));
            EXPECT_TRUE(trial->state->finite());
        }
        return hashes;
    };
    EXPECT_EQ(train(true), train(false));
}

// What is there already is not copied: host memory has other contents meanwhile, and no bit shows it.
TEST(StateSlots, AStateThatIsThereIsNotCopiedAgain) {
    auto const manifest = testing::plain_manifest({1, 8, 8}, 10, 40, Task::classification);
    auto const workspace = std::make_shared<Workspace>("cpu", 1);
    auto device = std::make_unique<LateDevice>(k_plenty, 1, 7);
    workspace->impl().gpu.slots = std::make_unique<StateSlots>(std::move(device));
    auto const config = testing::trial_config("cnn");
    testing::Trial a(config, manifest, workspace), b(config, manifest, workspace);
    auto const bytes = a->state->layout().bytes;
    testing::AlignedBlock block(bytes), other(bytes);
    auto const source = shard_in_memory(testing::random_shard(manifest, 40, 1));
    a->state->initialise(block.bytes(), 42, TrialId(1));
    b->state->initialise(other.bytes(), 42, TrialId(2));
    auto const loss = [&](std::uint64_t& stamp) {
        stamp = a->state->bind_again(block.bytes(), stamp);
        Evaluation sums(manifest.task, manifest.outputs);
        a->evaluation->evaluate(*source, {0, 1}, sums);
        return sums.loss();
    };
    std::uint64_t stamp = 0;
    auto const first = loss(stamp);
    a->training->train_unit(*source, testing::unit(1, 0, 0), {});
    auto const second = loss(stamp);
    EXPECT_NE(second, first);
    std::fill_n(block.floats(), 500, 0.0F);
    EXPECT_EQ(loss(stamp), second);
    b->state->bind_again(other.bytes(), 0);
    EXPECT_NE(loss(stamp), second) << "another state was bound meanwhile";
    auto const third = loss(stamp);
    stamp = 0;
    std::fill_n(block.floats(), 900, 0.5F);
    EXPECT_NE(loss(stamp), third) << "a state from elsewhere";
}

}  // namespace state_slots_test
}  // namespace hopscotch
