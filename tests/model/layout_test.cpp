// SPDX-License-Identifier: Apache-2.0
#include "model/state/layout.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "core/error.hpp"
#include "core/rng.hpp"
#include "fixture.hpp"
#include "model/state/state.hpp"
#include "tensor/trial/torch_trial_state.hpp"

namespace hopscotch::testing {
namespace layout_test {

TrialConfig adam_mlp() {
    auto config = trial_config("mlp", Json::object({{"hidden", Json(Json::Array{5})}}));
    config.train.optimizer.kind = OptimizerKind::adam;
    return config;
}

TEST(Layout, TensorsAreAlignedOrderedAndDisjoint) {
    Trial trial(adam_mlp(), digits(100));
    auto const& layout = trial->state->layout();
    ASSERT_EQ(layout.tensors.size(), 4U * 3 + 2);
    std::size_t end = 0;
    auto block = Block::parameter;
    for (auto const& tensor : layout.tensors) {
        EXPECT_EQ(tensor.offset % 64, 0U) << tensor.name;
        EXPECT_GE(tensor.offset, end) << tensor.name;
        EXPECT_GE(tensor.block, block) << tensor.name;
        end = tensor.offset + tensor.bytes;
        block = tensor.block;
    }
    EXPECT_EQ(layout.bytes % 64, 0U);
    EXPECT_GE(layout.bytes, end);
    EXPECT_EQ(layout.end_of(Block::counter), end);
    EXPECT_EQ(layout.end_of(Block::buffer), layout.end_of(Block::slot)) << "no buffers: the block ends where slots end";
    EXPECT_EQ(layout.find("layers.0.weight").shape, (std::vector<std::int64_t>{5, 64}));
    EXPECT_EQ(layout.find("layers.1.bias/exp_avg_sq").shape, (std::vector<std::int64_t>{10}));
    EXPECT_THROW(layout.find("layers.2.weight"), Error);
}

TEST(Layout, SlotsRepeatTheParameters) {
    Trial trial(adam_mlp(), digits(100));
    auto const& layout = trial->state->layout();
    for (auto const* slot : {"/exp_avg", "/exp_avg_sq"}) {
        auto const base = layout.find(std::string("layers.0.weight") + slot).offset;
        for (auto const* name : {"layers.0.bias", "layers.1.weight", "layers.1.bias"})
            EXPECT_EQ(layout.find(std::string(name) + slot).offset - base, layout.find(name).offset);
    }
}

TEST(Layout, SlotsFollowTheOptimizer) {
    using Kinds = std::vector<std::string>;
    TrainConfig train;
    auto& optimizer = train.optimizer;
    EXPECT_EQ(slot_kinds(train), Kinds{});
    optimizer.momentum = 0.9;
    EXPECT_EQ(slot_kinds(train), Kinds{"momentum"});
    train.ema = 0.99;
    EXPECT_EQ(slot_kinds(train), (Kinds{"momentum", "ema"}));
    train.outer_momentum = true;
    EXPECT_EQ(slot_kinds(train), (Kinds{"momentum", "outer", "ema"}));
    train.outer_momentum = false;
    optimizer.kind = OptimizerKind::rmsprop;
    optimizer.centered = true;
    EXPECT_EQ(slot_kinds(train), (Kinds{"square_avg", "grad_avg", "momentum", "ema"}));
    train.ema = 0;
    optimizer.kind = OptimizerKind::adagrad;
    EXPECT_EQ(slot_kinds(train), Kinds{"sum"});
    optimizer.kind = OptimizerKind::adamw;
    EXPECT_EQ(slot_kinds(train), (Kinds{"exp_avg", "exp_avg_sq"}));
}

TEST(Layout, HashTellsLayoutsApart) {
    auto config = adam_mlp();
    auto const adam = Trial(config, digits(100))->state->layout().hash();
    EXPECT_EQ(Trial(config, digits(100))->state->layout().hash(), adam);
    config.train.optimizer.kind = OptimizerKind::sgd;
    EXPECT_NE(Trial(config, digits(100))->state->layout().hash(), adam);
}

TEST(Layout, StateHashCoversTensorsButNotPadding) {
    Trial trial(adam_mlp(), digits(100));
    AlignedBlock state(trial->state->layout().bytes);
    trial->state->initialise(state.bytes(), 1, TrialId(0));
    auto const before = trial.hash(state);
    auto const& bias = trial->state->layout().find("layers.0.bias");
    state.bytes()[bias.offset + bias.bytes] ^= std::byte{1};  // five floats end at 20, the padding begins
    EXPECT_EQ(trial.hash(state), before);
    for (auto const& tensor : trial->state->layout().tensors) {
        state.bytes()[tensor.offset + tensor.bytes - 1] ^= std::byte{1};
        EXPECT_NE(trial.hash(state), before) << tensor.name;
        state.bytes()[tensor.offset + tensor.bytes - 1] ^= std::byte{1};
    }
}

TEST(Initialise, IsAddressedBySeedAndTrial) {
    Trial trial(adam_mlp(), digits(100));
    auto const hash = [&](std::uint64_t seed, int id) {
        AlignedBlock state(trial->state->layout().bytes);
        trial->state->initialise(state.bytes(), seed, TrialId(id));
        return trial.hash(state);
    };
    EXPECT_EQ(hash(1, 0), hash(1, 0));
    EXPECT_NE(hash(1, 0), hash(1, 1));
    EXPECT_NE(hash(1, 0), hash(2, 0));
}

// torch's default for Linear and Conv is uniform in +-1/sqrt(fan_in), for weight and bias.
TEST(Initialise, HasTheStatisticsOfTorch) {
    Trial trial(trial_config("mlp", Json::object({{"hidden", Json(Json::Array{512})}})), digits(100));
    AlignedBlock state(trial->state->layout().bytes);
    trial->state->initialise(state.bytes(), 7, TrialId(0));
    auto const& weight = trial->state->layout().find("layers.0.weight");
    auto const* const values = state.floats() + weight.offset / sizeof(float);
    auto const n = static_cast<double>(512 * 64);
    double const bound = 1.0 / 8.0;  // fan_in 64
    double sum = 0, squares = 0, largest = 0;
    for (int i = 0; i < 512 * 64; ++i) {
        sum += values[i];
        squares += static_cast<double>(values[i]) * values[i];
        largest = std::max(largest, std::abs(static_cast<double>(values[i])));
    }
    EXPECT_NEAR(sum / n, 0, 4 * bound / std::sqrt(3.0 * n));
    EXPECT_NEAR(squares / n, bound * bound / 3, 0.02 * bound * bound);
    EXPECT_LE(largest, bound);
    EXPECT_GT(largest, 0.999 * bound);
    for (auto const* counter : {"steps", "samples"})
        EXPECT_EQ(*reinterpret_cast<std::int64_t*>(state.bytes().data() + trial->state->layout().find(counter).offset), 0);
}

TEST(Initialise, ZerosSlotsAndPadding) {
    Trial trial(adam_mlp(), digits(100));
    AlignedBlock state(trial->state->layout().bytes);
    trial->state->initialise(state.bytes(), 7, TrialId(0));
    auto const& layout = trial->state->layout();
    for (auto i = layout.end_of(Block::parameter); i < layout.bytes; ++i) ASSERT_EQ(state.bytes()[i], std::byte{0}) << i;
    auto const& bias = layout.find("layers.0.bias");
    for (auto i = bias.offset + bias.bytes; i < layout.find("layers.1.weight").offset; ++i)
        ASSERT_EQ(state.bytes()[i], std::byte{0}) << i;
}

TEST(Bind, RefusesBlocksThatAreShortOrNotAligned) {
    Trial trial(adam_mlp(), digits(100));
    AlignedBlock shifted(trial->state->layout().bytes, 32), shorter(trial->state->layout().bytes - 64);
    EXPECT_THROW(trial->state->bind(shifted.bytes()), Error);
    EXPECT_THROW(trial->state->bind(shorter.bytes()), Error);
    auto const shard = random_shard(trial.manifest, 10, 1);
    EXPECT_THROW(trial->training->train_unit(*source(shard), unit(0, 0, 0), {}), Error) << "nothing is bound";
}

TEST(Finite, SeesOneBadValueAnywhere) {
    Trial trial(adam_mlp(), digits(100));
    AlignedBlock state(trial->state->layout().bytes);
    trial->state->initialise(state.bytes(), 7, TrialId(0));
    trial->state->bind(state.bytes());
    EXPECT_TRUE(trial->state->finite());
    for (auto const bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                           -std::numeric_limits<float>::infinity()}) {
        for (auto const* name : {"layers.0.weight", "layers.1.bias/exp_avg_sq"}) {
            auto& value = state.floats()[trial->state->layout().find(name).offset / sizeof(float) + 3];
            auto const good = std::exchange(value, bad);
            EXPECT_FALSE(trial->state->finite()) << name;
            value = good;
        }
    }
    state.floats()[0] = std::numeric_limits<float>::max();
    EXPECT_TRUE(trial->state->finite());
}

// As a GPU looks: parameters and slots together, buffers where the host has them.
TEST(Finite, SeesTheSameInATensor) {
    for (auto const n : {1, 15, 1000}) {
        auto values = at::full({n}, std::numeric_limits<float>::max());
        values[0] = std::numeric_limits<float>::lowest();
        EXPECT_TRUE(all_finite(values));
        for (auto const bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                               -std::numeric_limits<double>::infinity()})
            for (auto const at : {0, n / 2, n - 1}) {
                auto spoilt = values.clone();
                spoilt[at] = bad;
                EXPECT_FALSE(all_finite(spoilt)) << n << " " << at << " " << bad;
            }
    }
    EXPECT_TRUE(all_finite(at::zeros({0})));
}

TEST(Finite, MayBeginAtTheBuffers) {
    auto const config = trial_config("resnet18", Json::object({{"stem", Json("cifar")}, {"width", Json(4)}}));
    Trial trial(config, plain_manifest({3, 32, 32}, 10, 100, Task::classification));
    AlignedBlock state(trial->state->layout().bytes);
    trial->state->initialise(state.bytes(), 7, TrialId(0));
    auto const& layout = trial->state->layout();
    auto const spoil = [&](Block block) -> float& {
        auto const tensor = std::ranges::find(layout.tensors, block, &StateTensor::block);
        return state.floats()[tensor->offset / sizeof(float)];
    };
    spoil(Block::parameter) = std::numeric_limits<float>::infinity();
    EXPECT_FALSE(all_finite(state.bytes(), layout));
    EXPECT_TRUE(all_finite(state.bytes(), layout, Block::buffer));
    spoil(Block::buffer) = std::numeric_limits<float>::infinity();
    EXPECT_FALSE(all_finite(state.bytes(), layout, Block::buffer));
}

// Both in one pass: the hash of the journal, and a value that is not finite wherever it lies, but not in a counter.
TEST(CheckState, IsTheHashAndSeesEveryFloat) {
    StateLayout layout;
    std::size_t end = 0;
    for (std::size_t const floats : {1U, 3U, 32'767U, 32'768U, 32'769U, 100'000U, 5U}) {
        layout.tensors.push_back({fmt::format("t{}", floats), Block::slot, Element::float32, {}, end, floats * 4});
        end += padded_floats(floats) * 4;
    }
    layout.tensors.push_back({"steps", Block::counter, Element::int64, {}, end, 8});
    layout.bytes = end + 64;
    AlignedBlock state(layout.bytes);
    Rng rng(5);
    for (auto& value : std::span(state.floats(), layout.bytes / 4)) value = static_cast<float>(rng.uniform());
    std::ranges::fill(state.bytes().subspan(end), std::byte{0xff});  // no float, though its bits are those of NaN
    auto const good = check_state(state.bytes(), layout);
    EXPECT_EQ(good.hash, state_hash(state.bytes(), layout));
    EXPECT_TRUE(good.finite);
    for (auto const& tensor : std::span(layout.tensors).first(7))
        for (std::size_t const at : {std::size_t{0}, tensor.bytes / 8, tensor.bytes / 4 - 1}) {
            auto& value = state.floats()[tensor.offset / 4 + at];
            auto const before = std::exchange(value, -std::numeric_limits<float>::infinity());
            auto const bad = check_state(state.bytes(), layout);
            EXPECT_FALSE(bad.finite) << tensor.name << " " << at;
            EXPECT_EQ(bad.hash, state_hash(state.bytes(), layout)) << tensor.name << " " << at;
            value = before;
        }
    EXPECT_THROW(check_state(state.bytes().first(end), layout), Error);
}

}  // namespace layout_test
}  // namespace hopscotch::testing
