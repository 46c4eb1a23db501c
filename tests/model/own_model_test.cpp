// SPDX-License-Identifier: Apache-2.0
// Networks of the user's own train like those of the zoo: everything in the state, the same bits wherever the state goes.
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "model/own_model.hpp"
#include "model/state/safetensors.hpp"

namespace hopscotch::testing {
namespace own_model_test {

std::vector<std::string> names(StateLayout const& layout, Block block) {
    std::vector<std::string> out;
    for (auto const& tensor : layout.tensors)
        if (tensor.block == block) out.push_back(tensor.name);
    return out;
}

std::span<float const> floats(AlignedBlock& block, StateLayout const& layout, std::string const& name) {
    auto const& tensor = layout.find(name);
    return {block.floats() + tensor.offset / sizeof(float), tensor.bytes / sizeof(float)};
}

std::int64_t integer(AlignedBlock& block, StateLayout const& layout, std::string const& name) {
    return *reinterpret_cast<std::int64_t const*>(block.bytes().data() + layout.find(name).offset);
}

struct Kind {
    char const* name;
    TrialConfig (*config)();
};
class OwnModel : public ::testing::TestWithParam<Kind> {
protected:
    TrialConfig config_ = [] {
        auto config = GetParam().config();
        config.train.optimizer.momentum = 0.9;
        config.train.optimizer.lr = 0.02;
        return config;
    }();
    Manifest manifest_ = digits(100);
    Shard shard_ = random_shard(manifest_, 100, 5);

    double train(Trial& trial, AlignedBlock& block, int epoch) {
        auto const data = source(shard_);
        trial->state->bind(block.bytes());
        auto const sums = trial->training->train_unit(*data, unit(3, epoch, 0), {});
        return sums.loss / static_cast<double>(sums.rows);
    }
};

TEST_P(OwnModel, LearnsAndRepeatsItself) {
    Trial a(config_, manifest_), b(config_, manifest_);
    AlignedBlock one(a->state->layout().bytes), two(a->state->layout().bytes, 64);
    a->state->initialise(one.bytes(), 42, TrialId(3));
    b->state->initialise(two.bytes(), 42, TrialId(3));
    ASSERT_EQ(a.hash(one), b.hash(two));
    std::vector<double> losses;
    for (int epoch = 0; epoch < 8; ++epoch) {
        losses.push_back(train(a, one, epoch));
        EXPECT_EQ(losses.back(), train(b, two, epoch));
        ASSERT_EQ(a.hash(one), b.hash(two)) << epoch;
    }
    EXPECT_LT(losses.back(), 0.9 * losses.front());
}

// Every unit on another object and in another place, beside other trials: as if the state had hopped.
TEST_P(OwnModel, AHopChangesNoBit) {
    Trial home(config_, manifest_);
    auto const bytes = home->state->layout().bytes;
    AlignedBlock stays(bytes), hops(bytes), other(bytes);
    home->state->initialise(stays.bytes(), 42, TrialId(3));
    home->state->initialise(hops.bytes(), 42, TrialId(3));
    home->state->initialise(other.bytes(), 42, TrialId(4));
    for (int epoch = 0; epoch < 4; ++epoch) {
        train(home, stays, epoch);
        Trial away(config_, manifest_);
        train(away, other, epoch);
        AlignedBlock arrived(bytes, static_cast<std::size_t>(epoch) * 64);
        std::ranges::copy(hops.bytes(), arrived.bytes().begin());
        train(away, arrived, epoch);
        std::ranges::copy(arrived.bytes(), hops.bytes().begin());
        ASSERT_EQ(home.hash(stays), away.hash(hops)) << epoch;
        auto const data = source(shard_);
        Evaluation here(manifest_.task, manifest_.outputs), there(manifest_.task, manifest_.outputs);
        home->state->bind(stays.bytes());
        home->evaluation->evaluate(*data, {0, home->evaluation->evaluation_batches(100)}, here);
        away->state->bind(hops.bytes());
        away->evaluation->evaluate(*data, {0, away->evaluation->evaluation_batches(100)}, there);
        EXPECT_EQ(here.loss(), there.loss());
    }
}

// One batch of equal rows, so that their order does not count, from the same weights in two epochs.
bool epochs_differ(TrialConfig const& config, Manifest const& manifest) {
    auto shard = random_shard(manifest, 7, 5);
    auto const row = static_cast<std::ptrdiff_t>(shard.features.size() / 7);
    for (std::ptrdiff_t i = 1; i < 7; ++i) std::copy_n(shard.features.begin(), row, shard.features.own().begin() + i * row);
    shard.labels.assign(7, 1);
    Trial trial(config, manifest);
    AlignedBlock block(trial->state->layout().bytes);
    std::vector<std::uint64_t> hashes;
    for (int const epoch : {0, 1}) {
        trial->state->initialise(block.bytes(), 42, TrialId(3));
        trial->state->bind(block.bytes());
        trial->training->train_unit(*source(shard), unit(3, epoch, 0), {});
        hashes.push_back(trial.hash(block));
    }
    return hashes[0] != hashes[1];
}

TEST_P(OwnModel, NoiseHasAnAddress) {
    EXPECT_TRUE(epochs_differ(config_, manifest_));
    EXPECT_FALSE(epochs_differ(example(0.0), manifest_));
    EXPECT_FALSE(epochs_differ(odd(""), manifest_));
}

INSTANTIATE_TEST_SUITE_P(All, OwnModel,
                         ::testing::Values(Kind{"plugin", [] { return example(); }},
                                           Kind{"torch_dropout", [] { return odd("dropout"); }},
                                           Kind{"torchscript", [] { return script(); }}),
                         [](auto const& each) { return each.param.name; });

TEST(Plugin, ItsTensorsAreTheState) {
    Trial trial(example(), digits(70));
    EXPECT_EQ(names(trial->state->layout(), Block::parameter),
              (std::vector<std::string>{"conv1.weight", "norm1.weight", "norm1.bias", "conv2.weight", "norm2.weight",
                                        "norm2.bias", "head.weight", "head.bias"}));
    EXPECT_EQ(names(trial->state->layout(), Block::buffer),
              (std::vector<std::string>{"norm1.running_mean", "norm1.running_var", "norm1.num_batches_tracked",
                                        "norm2.running_mean", "norm2.running_var", "norm2.num_batches_tracked"}));
    EXPECT_EQ(trial->state->layout().find("conv2.weight").shape, (std::vector<std::int64_t>{6, 4, 3, 3}));
    AlignedBlock block(trial->state->layout().bytes);
    trial->state->initialise(block.bytes(), 1, TrialId(0));
    auto const of = [&](char const* name) { return floats(block, trial->state->layout(), name); };
    EXPECT_TRUE(std::ranges::all_of(of("norm2.weight"), [](float v) { return v == 1; }));
    EXPECT_TRUE(std::ranges::all_of(of("norm2.running_var"), [](float v) { return v == 1; }));
    EXPECT_TRUE(std::ranges::all_of(of("conv1.weight"), [](float v) { return std::abs(v) <= 1.0F / 3; }));
    auto const shard = source(random_shard(trial.manifest, 70, 2));
    trial->state->bind(block.bytes());
    trial->training->train_unit(*shard, unit(0, 0, 0), {});
    EXPECT_EQ(integer(block, trial->state->layout(), "norm1.num_batches_tracked"), 10);
    EXPECT_NE(of("norm2.running_mean")[0], 0);
    Evaluation sums(Task::classification, 10);
    trial->evaluation->evaluate(*shard, {0, trial->evaluation->evaluation_batches(70)}, sums);
    EXPECT_EQ(integer(block, trial->state->layout(), "norm1.num_batches_tracked"), 10);
}

// Trials of one configuration are another draw each; a trial is the same draw wherever and whenever it is made.
TEST(Plugin, InitialValuesAreAddressed) {
    auto config = example();
    config.train.ema = 0.9;
    Trial trial(config, digits(70)), elsewhere(config, digits(70));
    AlignedBlock block(trial->state->layout().bytes);
    auto const start = [&](Trial& at, std::uint64_t seed, int id) {
        at->state->initialise(block.bytes(), seed, TrialId(id));
        return at.hash(block);
    };
    auto const first = start(trial, 42, 0);
    EXPECT_NE(start(trial, 42, 1), first);
    EXPECT_NE(start(trial, 43, 0), first);
    EXPECT_EQ(start(elsewhere, 42, 0), first);
    auto const& layout = trial->state->layout();
    EXPECT_TRUE(std::ranges::equal(floats(block, layout, "conv1.weight"), floats(block, layout, "conv1.weight/ema")));
}

TEST(Plugin, ATensorThatWantsNoGradientIsABuffer) {
    Trial trial(odd("constant"), digits(70));
    EXPECT_EQ(names(trial->state->layout(), Block::buffer), (std::vector<std::string>{"scale"}));
    AlignedBlock block(trial->state->layout().bytes);
    trial->state->initialise(block.bytes(), 1, TrialId(0));
    EXPECT_EQ(floats(block, trial->state->layout(), "scale")[0], 2);
    Trial tied(odd("tied"), digits(70));
    EXPECT_EQ(names(tied->state->layout(), Block::parameter),  // a module's own tensors come before its children's
              (std::vector<std::string>{"again", "first.weight", "last.weight", "last.bias"}));
}

TEST(Plugin, AnExceptionInTrainingSaysWhose) {
    Trial trial(odd("throws_later"), digits(70));
    AlignedBlock block(trial->state->layout().bytes);
    trial->state->initialise(block.bytes(), 1, TrialId(0));
    trial->state->bind(block.bytes());
    auto const shard = source(random_shard(trial.manifest, 70, 2));
    try {
        trial->training->train_unit(*shard, unit(0, 0, 0), {});
        FAIL();
    } catch (Error const& error) {
        EXPECT_EQ(std::string(error.what()), k_plugins + "odd_model.so: not today");
    }
}

TEST(Plugin, FreezesAndStartsFromAFile) {
    Trial first(example(), digits(70));
    AlignedBlock block(first->state->layout().bytes);
    first->state->initialise(block.bytes(), 7, TrialId(0));
    first->state->bind(block.bytes());
    auto const path =
        (std::filesystem::temp_directory_path() / ("hopscotch-own-" + std::to_string(::getpid()) + ".safetensors")).string();
    first->state->save(path, Json(Json::Object{}));
    auto config = example();
    config.model.init_from = path;
    config.model.freeze = {"conv?.*"};
    Trial second(config, digits(70));
    EXPECT_EQ(names(second->state->layout(), Block::parameter).front(), "norm1.weight");
    AlignedBlock fresh(second->state->layout().bytes);
    second->state->initialise(fresh.bytes(), 8, TrialId(0));
    EXPECT_TRUE(std::ranges::equal(floats(fresh, second->state->layout(), "head.weight"),
                                   floats(block, first->state->layout(), "head.weight")));
    second->state->bind(fresh.bytes());
    auto const shard = source(random_shard(second.manifest, 70, 2));
    second->training->train_unit(*shard, unit(0, 0, 0), {});
    second->state->save(path, Json(Json::Object{}));
    auto const saved = SafetensorsFile::open(path);
    auto const in_file = [&](std::string const& name) {
        std::vector<float> values(floats(block, first->state->layout(), name).size());
        saved.read(name, std::span(values));
        return values;
    };
    EXPECT_TRUE(std::ranges::equal(in_file("conv2.weight"), floats(block, first->state->layout(), "conv2.weight")));
    EXPECT_FALSE(std::ranges::equal(in_file("head.weight"), floats(block, first->state->layout(), "head.weight")));
    std::filesystem::remove(path);
}

TEST(TorchScript, StartsWithTheWeightsOfTheFile) {
    Trial trial(script(), digits(70));
    EXPECT_EQ(names(trial->state->layout(), Block::parameter),
              (std::vector<std::string>{"conv.weight", "norm.weight", "norm.bias", "head.weight", "head.bias"}));
    EXPECT_EQ(names(trial->state->layout(), Block::buffer),
              (std::vector<std::string>{"norm.running_mean", "norm.running_var", "norm.num_batches_tracked"}));
    AlignedBlock one(trial->state->layout().bytes), two(trial->state->layout().bytes);
    trial->state->initialise(one.bytes(), 1, TrialId(0));
    trial->state->initialise(two.bytes(), 2, TrialId(9));
    EXPECT_EQ(trial.hash(one), trial.hash(two));
    auto const weights = floats(one, trial->state->layout(), "head.weight");
    EXPECT_TRUE(std::ranges::any_of(weights, [](float v) { return v != 0; }));
    trial->state->bind(one.bytes());
    auto const shard = source(random_shard(trial.manifest, 70, 2));
    trial->training->train_unit(*shard, unit(0, 0, 0), {});
    EXPECT_EQ(integer(one, trial->state->layout(), "norm.num_batches_tracked"), 10);
    trial->state->initialise(two.bytes(), 2, TrialId(9));  // training has not touched the file's values
    EXPECT_NE(trial.hash(one), trial.hash(two));
    EXPECT_EQ(integer(two, trial->state->layout(), "norm.num_batches_tracked"), 0);
}

// LeNet as a script, from LeNet's weights: an own model's step is the zoo's step.
TEST(TorchScript, TrainsToTheBitsOfTheZoo) {
    auto const zeros = [](std::vector<std::int64_t> const& shape) { return at::zeros(shape); };
    auto const file = written_script(
        "lenet",
        {{{"c1", zeros({6, 1, 5, 5})},
          {"c1b", zeros({6})},
          {"c2", zeros({16, 6, 5, 5})},
          {"c2b", zeros({16})},
          {"f1", zeros({120, 64})},
          {"f1b", zeros({120})},
          {"f2", zeros({84, 120})},
          {"f2b", zeros({84})},
          {"f3", zeros({10, 84})},
          {"f3b", zeros({10})}},
         {}},
        "def forward(self, x):\n"
        "    h = torch.max_pool2d(torch.relu(torch.conv2d(x, self.c1, self.c1b, [1, 1], [2, 2])), [2, 2])\n"
        "    h = torch.max_pool2d(torch.relu(torch.conv2d(h, self.c2, self.c2b, [1, 1], [2, 2])), [2, 2]).flatten(1)\n"
        "    h = torch.relu(torch.linear(h, self.f1, self.f1b))\n"
        "    return torch.linear(torch.relu(torch.linear(h, self.f2, self.f2b)), self.f3, self.f3b)\n");
    auto config = trial_config("lenet");
    config.train.optimizer.momentum = 0.9;
    Trial zoos(config, digits(70));
    config.model = script(file).model;
    Trial own(config, digits(70));
    ASSERT_EQ(own->state->layout().bytes, zoos->state->layout().bytes);
    AlignedBlock a(own->state->layout().bytes), b(own->state->layout().bytes);
    zoos->state->initialise(a.bytes(), 42, TrialId(0));
    std::ranges::copy(a.bytes(), b.bytes().begin());
    auto const shard = source(random_shard(own.manifest, 70, 2));
    for (int epoch = 0; epoch < 3; ++epoch) {
        zoos->state->bind(a.bytes());
        own->state->bind(b.bytes());
        EXPECT_EQ(zoos->training->train_unit(*shard, unit(0, epoch, 0), {}).loss,
                  own->training->train_unit(*shard, unit(0, epoch, 0), {}).loss);
        EXPECT_EQ(zoos.hash(a), own.hash(b));
    }
    std::filesystem::remove(file);
}

}  // namespace own_model_test
}  // namespace hopscotch::testing
