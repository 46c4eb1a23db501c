// SPDX-License-Identifier: Apache-2.0
// Against PyTorch itself: tests/parity/make_step_vectors.py ran the same networks, losses and optimizers in Python.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "experiment/sections.hpp"
#include "fixture.hpp"

namespace hopscotch::testing {
namespace parity_test {

Json read_vectors() {
    std::ifstream in(HOPSCOTCH_SOURCE_DIR "/tests/parity/step_vectors.json");
    return parse_json_or_throw(std::string(std::istreambuf_iterator<char>(in), {}), "step_vectors.json");
}

// The script's formula for weights and data.
double wave(std::int64_t i, std::int64_t factor, std::int64_t modulus, std::int64_t offset = 0) {
    return static_cast<double>((i * factor + offset) % modulus) / static_cast<double>(modulus) * 2 - 1;
}

std::string text_of(Json const& c) { return c.at("model").dump() + " " + c.at("train").dump(); }

TrialConfig config_of(Json const& c, Engine engine) {
    auto arguments = c.at("model");
    std::erase_if(arguments.object(), [](auto const& member) { return member.key == "name"; });
    auto config = trial_config(c.at("model").at("name").string(), arguments);
    Problems problems("step_vectors.json");
    config.train = read_train(ObjectReader(c.at("train"), "/train", problems));
    problems.throw_if_any();
    config.train.arithmetic.engine = engine;
    return config;
}

Manifest manifest_of(Json const& c, std::int64_t rows) {
    std::vector<std::int64_t> shape;
    for (auto const& side : c.at("shape").array()) shape.push_back(side.integer());
    auto task = Task::classification;
    for (auto const known : {Task::regression, Task::multilabel})
        if (name_of(known) == c.at("task").string()) task = known;
    return plain_manifest(shape, c.at("outputs").integer(), rows, task);
}

Shard shard_of(Manifest const& manifest, std::int64_t rows) {
    auto shard = random_shard(manifest, rows, 0);
    auto* const x = reinterpret_cast<float*>(shard.features.own().data());
    for (std::int64_t i = 0; i < rows * manifest.row_size(); ++i) x[i] = static_cast<float>(wave(i, 104729, 1013));
    for (std::size_t r = 0; r < shard.labels.size(); ++r)
        shard.labels[r] = static_cast<std::int64_t>(r) * 7 % manifest.outputs;
    for (std::size_t i = 0; i < shard.targets.size(); ++i) {
        auto const value = static_cast<float>(wave(static_cast<std::int64_t>(i), 7919, 1013));
        shard.targets[i] = manifest.task == Task::multilabel ? (value > 0 ? 1.0F : 0.0F) : value;
    }
    return shard;
}

// t: the place of the tensor among the network's.
void fill(AlignedBlock& state, StateTensor const& tensor, std::size_t t) {
    auto* const values = state.floats() + tensor.offset / sizeof(float);
    auto const offset = 613 * static_cast<std::int64_t>(t);
    for (std::size_t i = 0; i < tensor.bytes / sizeof(float); ++i)
        values[i] = static_cast<float>(0.3 * wave(static_cast<std::int64_t>(i), 7919, 1009, offset));
}

// near: the largest difference of an element.
void expect_tensor(float const* values, StateTensor const& tensor, Json const& expected, double near) {
    auto const& which = tensor.name;
    auto const n = tensor.bytes / sizeof(float);
    auto const& first = expected.at("first").array();
    for (std::size_t i = 0; i < first.size(); ++i)
        EXPECT_NEAR(values[i], first[i].number(), near) << which << " element " << i;
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < n; ++i) {
        sum += values[i];
        squares += static_cast<double>(values[i]) * values[i];
    }
    EXPECT_NEAR(sum, expected.at("sum").number(), 1e-5 * std::sqrt(static_cast<double>(n)) + 1e-5) << which;
    EXPECT_NEAR(squares, expected.at("squares").number(), 1e-5 * squares + 1e-6) << which;
}

// In the order of the network, which is not that of the layout when only weights decay.
std::vector<std::string> names_of(TrialConfig config, Manifest const& manifest) {
    config.train.optimizer.decay_all = true;
    Trial trial(config, manifest);
    std::vector<std::string> names;
    for (auto const& tensor : trial->state->layout().tensors)
        if (tensor.block == Block::parameter) names.push_back(tensor.name);
    return names;
}

void expect_pytorch(Json const& c, std::int64_t rows, Engine engine) {
    SCOPED_TRACE(text_of(c) + (engine == Engine::torch ? " by LibTorch" : ""));
    auto const config = config_of(c, engine);
    double const near = engine == Engine::torch ? 2e-5 : 1e-5;
    Trial trial(config, manifest_of(c, rows));
    auto const names = names_of(config, trial.manifest);
    auto const shard = shard_of(trial.manifest, rows);
    bool const averages = config.train.ema > 0;
    AlignedBlock state(trial->state->layout().bytes);
    trial->state->initialise(state.bytes(), 1, TrialId(0));
    for (std::size_t t = 0; t < names.size(); ++t) {
        fill(state, trial->state->layout().find(names[t]), t);
        if (averages) fill(state, trial->state->layout().find(names[t] + "/ema"), t);
    }
    trial->state->bind(state.bytes());
    int epoch = 0;
    for (auto const& loss : c.at("losses").array()) {
        auto const sum = trial->training->train_unit(*source(shard), unit(0, epoch++, 0), {}).loss;
        EXPECT_NEAR(sum / static_cast<double>(rows), loss.number(), near) << "step " << epoch;
    }
    auto const expect_tensors = [&](std::string const& suffix, Json::Array const& expected) {
        ASSERT_EQ(names.size(), expected.size());
        for (std::size_t t = 0; t < names.size(); ++t) {
            auto const& tensor = trial->state->layout().find(names[t] + suffix);
            expect_tensor(state.floats() + tensor.offset / sizeof(float), tensor, expected[t], near);
        }
    };
    expect_tensors("", c.at("tensors").array());
    ASSERT_EQ(averages, c.find("averaged") != nullptr);
    if (averages) expect_tensors("/ema", c.at("averaged").array());
}

TEST(Parity, EqualsPyTorch) {
    auto const vectors = read_vectors();
    auto const& cases = vectors.at("cases").array();
    // The last 90, of 20 steps, are for the lean step: every loss with every optimizer and every dense network.
    ASSERT_EQ(cases.size(), 61U + 90U);
    for (std::size_t i = 0; i < cases.size(); ++i) {
        expect_pytorch(cases[i], vectors.at("rows").integer(), Engine::automatic);
        if (i < 61) expect_pytorch(cases[i], vectors.at("rows").integer(), Engine::torch);
    }
}

}  // namespace parity_test
}  // namespace hopscotch::testing
