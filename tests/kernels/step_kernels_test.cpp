// SPDX-License-Identifier: Apache-2.0
// The kernels of a step are plain loops over the same elements: batches that are gathered, and the update.
#include "tensor/gpu/step_kernels.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"
#include "data/batches/compact_plan.hpp"
#include "kernels/random_bits.hpp"
#include "tensor/gpu/gather_kernels.hpp"

namespace hopscotch {
namespace step_kernels_test {

using testing::Array;
using testing::random_floats;
using testing::random_numbers;
using testing::same_bits;

// A shard on the device, the order of a pass over it, and memory for one batch.
struct Shard {
    std::uint32_t channels, height, width, rows, batch, batches, answers;
    Array<std::uint8_t> bytes;
    Array<float> floats, targets, scale, shift, fill;
    Array<std::int64_t> labels;
    Array<std::uint32_t> order;
    Array<std::uint16_t> plans;

    Array<float> features_out, targets_out;
    Array<std::int64_t> labels_out;

    explicit Shard(Rng& rng)
        : channels(1 + rng.below(3)),
          height(1 + rng.below(rng.below(5) == 0 ? 60 : 8)),
          width(1 + rng.below(9)),
          rows(1 + rng.below(20)),
          batch(1 + rng.below(12)),
          batches(1 + rng.below(4)),
          answers(1 + rng.below(4)) {
        auto const row_size = channels * height * width;
        answers = std::min(answers, row_size);
        if (rng.below(2) == 0)
            bytes = random_numbers<std::uint8_t>(std::size_t{rows} * row_size, 256, rng);
        else
            floats = random_floats(std::size_t{rows} * row_size, rng);
        if (rng.below(2) == 0)
            labels = random_numbers<std::int64_t>(rows, 100, rng);
        else
            targets = random_floats(std::size_t{rows} * answers, rng);
        order = random_numbers<std::uint32_t>(std::size_t{batch} * batches, rows, rng);
        for (auto* each : {&scale, &shift, &fill}) *each = random_floats(channels, rng);
        if (rng.below(2) == 0 && (!targets.empty() || answers == 1)) add_plans(rng);
        features_out = random_floats(std::size_t{batch} * row_size, rng);
        targets_out = random_floats(std::size_t{batch} * answers, rng);
        labels_out = random_numbers<std::int64_t>(std::size_t{batch} * answers, 9, rng);
    }

    void add_plans(Rng& rng) {
        plans = random_numbers<std::uint16_t>(order.size() * (height + width), 1, rng);
        for (std::size_t i = 0; i < plans.size(); ++i) {
            auto const hole = rng.below(3) == 0 ? 1U << (k_plan_place_bits + rng.below(4)) : 0U;
            plans[i] = static_cast<std::uint16_t>(rng.below(i % (height + width) < height ? height : width) | hole);
        }
    }

    AnswerGather gather() {
        auto const pointer = [](auto& from) { return from.empty() ? nullptr : from.data(); };
        AnswerGather out;
        auto& f = out.features;
        f.bytes = pointer(bytes);
        f.floats = pointer(floats);
        f.rows = order.data();
        f.plans = pointer(plans);
        f.scale = scale.data();
        f.shift = shift.data();
        f.fill = fill.data();
        f.count = batch;
        f.row_size = channels * height * width;
        f.run = height * width;
        f.height = height;
        f.width = width;
        f.out = features_out.data();
        out.labels = pointer(labels);
        out.targets = pointer(targets);
        out.width = answers;
        out.label_out = labels_out.data();
        out.target_out = targets_out.data();
        return out;
    }

    void expect_same(Shard const& other) const {
        EXPECT_TRUE(same_bits(features_out, other.features_out)) << "features";
        EXPECT_TRUE(same_bits(targets_out, other.targets_out)) << "targets";
        EXPECT_TRUE(same_bits(labels_out, other.labels_out)) << "labels";
    }
};

void gather_by_loops(AnswerGather const& g) {
    auto const& f = g.features;
    for (std::uint32_t i = 0; i < f.count; ++i) {
        for (std::uint32_t e = 0; e < f.row_size; ++e) f.out[std::size_t{i} * f.row_size + e] = feature_at(f, i, e);
        for (std::uint32_t a = 0; a < g.width; ++a) write_answer(g, i, a);
    }
}

TEST(StepKernels, GatherWhatPlainLoopsGather) {
    Rng rng(7);
    for (int i = 0; i < testing::random_cases(100) && !HasFailure(); ++i) {
        SCOPED_TRACE(i);
        Shard by_kernels(rng);
        auto by_loops = by_kernels;
        auto const all = by_kernels.gather();
        launch_gather(all.features, nullptr);
        launch_gather(all, nullptr);
        gather_by_loops(by_loops.gather());
        by_kernels.expect_same(by_loops);

        StepBlock block;
        block.gather = by_kernels.gather();
        block.stride = by_kernels.batch;
        block.launch.batch = rng.below(by_kernels.batches);
        block.launch.step = rng.below(by_kernels.batches - block.launch.batch);
        auto const rows = 1 + rng.below(by_kernels.batch);  // the last batch of a pass may be shorter
        launch_due_gather(&block, {rows, all.features.row_size, all.width}, nullptr);
        block.gather = by_loops.gather();
        gather_by_loops(due_batch(block, rows));
        by_kernels.expect_same(by_loops);
    }
}

struct Parameters {
    Array<float> values, gradient, mean, square, momentum, averaged;

    Parameters(std::size_t size, Rng& rng) {
        for (auto* each : {&values, &gradient, &mean, &square, &momentum, &averaged}) *each = random_floats(size, rng);
        for (auto& each : square) each *= each;
    }
    void point(FlatUpdate& update, std::uint32_t which) {
        update.parameters = values.data();
        update.gradient = gradient.data();
        bool const is_adam = update.rule == UpdateRule::adam || update.rule == UpdateRule::adamw;
        update.mean = is_adam || (which & 1) != 0 ? mean.data() : nullptr;
        update.square = square.data();
        update.momentum = (which & 2) != 0 ? momentum.data() : nullptr;
        update.averaged = (which & 4) != 0 ? averaged.data() : nullptr;
    }
    void expect_same(Parameters const& other) const {
        EXPECT_TRUE(same_bits(values, other.values) && same_bits(averaged, other.averaged)) << "values";
        EXPECT_TRUE(same_bits(mean, other.mean) && same_bits(square, other.square) && same_bits(momentum, other.momentum))
            << "moments";
    }
};

void compare_updates(std::size_t size, Rng& rng) {
    FlatUpdate update;
    update.rule = static_cast<UpdateRule>(rng.below(5));
    update.nesterov = rng.below(2) == 0;
    update.size = size;
    update.decayed = rng.below(static_cast<std::uint32_t>(size + 1));
    StepBlock block;
    block.launch.step = rng.below(StepLaunch::k_most);
    for (auto& each : block.launch.steps)
        each = {static_cast<float>(rng.uniform()), static_cast<float>(rng.uniform()), static_cast<float>(rng.uniform())};
    block.numbers = {0.1F, 0.9F, 1e-8F, 0.9F, 0.1F, 0.99F, 0.01F, 0.99F, 0.01F, 0.05F};
    update.block = &block;
    Parameters by_kernels(size, rng);
    auto by_loops = by_kernels;
    auto const which = rng.below(8);
    by_kernels.point(update, which);
    launch_update(update, nullptr);
    by_loops.point(update, which);
    for (std::size_t i = 0; i < size; ++i) update_element(update, i, due_update(block));
    by_kernels.expect_same(by_loops);
}

TEST(StepKernels, UpdateAsPlainLoops) {
    Rng rng(8);
    for (int i = 0; i < testing::random_cases(100) && !HasFailure(); ++i) {
        SCOPED_TRACE(i);
        compare_updates(rng.below(3000), rng);
    }
}

#if !defined(__SANITIZE_THREAD__)
// More than all blocks of a launch have threads.
TEST(StepKernels, UpdateWhatIsLargerThanAGrid) {
    Rng rng(9);
    compare_updates(2048 * 256 + 77, rng);
}
#endif

TEST(StepKernels, WriteTheNumbersOfAStepAndCountSteps) {
    for (std::size_t const size : {1U, 127U, 128U, 129U, 1024U}) {
        Rng rng(size);
        Bytes from(size);
        for (auto& each : from) each = static_cast<std::byte>(rng.below(256));
        Bytes to(size);
        launch_write(to.data(), from, nullptr);
        EXPECT_EQ(to, from);
    }
    StepBlock block;
    block.launch.step = 4;
    launch_advance(&block, nullptr);
    EXPECT_EQ(block.launch.step, 5U);
    EXPECT_THROW(launch_write(&block, Bytes(1025), nullptr), Error);
}

}  // namespace step_kernels_test
}  // namespace hopscotch
