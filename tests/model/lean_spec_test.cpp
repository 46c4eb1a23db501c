// SPDX-License-Identifier: Apache-2.0
// A network as the lean step knows it, against the network with tensors.
#include <gtest/gtest.h>

#include "core/json_reader.hpp"
#include "core/rng.hpp"
#include "fixture.hpp"
#include "model/lean/lean_spec.hpp"
#include "model/zoo/lean_specs.hpp"
#include "model/zoo/zoo.hpp"
#include "tensor/zoo/networks.hpp"

namespace hopscotch::testing {
namespace lean_spec_test {

void expect_same(LeanSpec const& spec, ModelConfig const& model, DataSchema const& data) {
    Problems problems("");
    auto const network = maker_of(model.name)(model, data, problems);
    ASSERT_TRUE(network) << problems.text();
    auto const lean = lean_model(spec);
    ASSERT_EQ(lean.parameters.size(), network->parameters().size());
    for (std::size_t i = 0; i < lean.parameters.size(); ++i) {
        auto const &mine = lean.parameters[i], &its = network->parameters()[i];
        EXPECT_EQ(mine.name, its.name);
        EXPECT_EQ(mine.shape, its.shape);
        EXPECT_EQ(mine.init.kind, its.init.kind) << mine.name;
        EXPECT_EQ(mine.init.value, its.init.value) << mine.name;
    }
    ASSERT_EQ(lean.buffers.size(), network->buffers().size());
    for (std::size_t i = 0; i < lean.buffers.size(); ++i) {
        auto const &mine = lean.buffers[i], &its = network->buffers()[i];
        EXPECT_EQ(mine.name, its.name);
        EXPECT_EQ(mine.shape, its.shape);
        EXPECT_EQ(mine.element, its.element) << mine.name;
        EXPECT_EQ(mine.value, its.value) << mine.name;
    }
    EXPECT_EQ(multiply_adds(spec), network->multiply_adds());
}

TEST(LeanSpec, IsThatOfTheNetwork) {
    Rng rng(1);
    Problems problems("");
    for (int i = 0; i < 50; ++i) {
        auto const one_to = [&](std::uint32_t most) { return std::int64_t{1} + rng.below(most); };
        DataSchema const data{Task::classification, {one_to(3), one_to(9)}, 1 + one_to(9), 1, {}};
        Json::Array hidden;
        for (auto layers = rng.below(4); layers > 0; --layers) hidden.emplace_back(one_to(70));
        auto const mlp = trial_config("mlp", Json::object({{"hidden", Json(hidden)}, {"batch_norm", rng.below(2) == 1}}));
        expect_same(mlp_spec(mlp.model, data, problems), mlp.model, data);
        auto const logistic = trial_config("logistic");
        expect_same(logistic_spec(logistic.model, data, problems), logistic.model, data);
    }
    EXPECT_TRUE(problems.empty()) << problems.text();
}

TEST(LeanSpec, OfImagesToo) {
    Rng rng(2);
    Problems problems("");
    for (int i = 0; i < 50; ++i) {
        auto const one_to = [&](std::uint32_t most) { return std::int64_t{1} + rng.below(most); };
        DataSchema const data{Task::classification, {one_to(4), 7 + one_to(30), 7 + one_to(30)}, 1 + one_to(9), 1, {}};
        auto const lenet = trial_config("lenet");
        expect_same(lenet_spec(lenet.model, data, problems), lenet.model, data);
        Json::Array channels;
        for (auto layers = rng.below(4); layers > 0; --layers) channels.emplace_back(one_to(40));
        auto const cnn =
            trial_config("cnn", Json::object({{"channels", Json(channels)}, {"batch_norm", rng.below(2) == 1}}));
        expect_same(cnn_spec(cnn.model, data, problems), cnn.model, data);
    }
    EXPECT_TRUE(problems.empty()) << problems.text();
}

// The classic one has 400 inputs of fc1; small images keep their size in conv2.
TEST(LeanSpec, InputsOfLenetsFullyConnectedLayers) {
    Problems problems("");
    auto const inputs = [&](std::int64_t height, std::int64_t width) {
        DataSchema const data{Task::classification, {1, height, width}, 10, 1, {}};
        return lenet_spec(trial_config("lenet").model, data, problems).dense.widths.front();
    };
    EXPECT_EQ(inputs(28, 28), 400);
    EXPECT_EQ(inputs(12, 12), 16);
    EXPECT_EQ(inputs(11, 30), 16 * 2 * 7);
    EXPECT_EQ(inputs(8, 8), 64);
    EXPECT_TRUE(problems.empty()) << problems.text();
}

TEST(LeanSpec, EveryModelOfTheTableCanBeMade) {
    for (auto const& entry : zoo()) EXPECT_EQ(maker_of(entry.name) == nullptr, entry.synthetic) << entry.name;
}

}  // namespace lean_spec_test
}  // namespace hopscotch::testing
