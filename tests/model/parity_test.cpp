// SPDX-License-Identifier: Apache-2.0
// Against PyTorch itself: tests/parity/make_step_vectors.py ran the same networks, losses and optimizers in Python.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "fixture.hpp"

namespace hopscotch::testing {
namespace {

Json read_vectors() {
    std::ifstream in(HOPSCOTCH_SOURCE_DIR "/tests/parity/step_vectors.json");
    return parse_json_or_throw(std::string(std::istreambuf_iterator<char>(in), {}), "step_vectors.json");
}

// The script's formula for weights and data.
double wave(std::int64_t i, std::int64_t factor, std::int64_t modulus, std::int64_t offset = 0) {
    return static_cast<double>((i * factor + offset) % modulus) / static_cast<double>(modulus) * 2 - 1;
}

double number_or(Json const& object, char const* key, double fallback) {
    auto const* value = object.find(key);
    return value != nullptr ? value->number() : fallback;
}

TrialConfig config_of(Json const& c, int rows) {
    auto config = trial_config(c.at("model").string(), c.at("arguments"));
    config.train.batch_size = rows;
    config.train.loss = c.at("loss").string() == "mse" ? LossKind::mse : LossKind::cross_entropy;
    auto const& o = c.at("optimizer");
    auto const& name = o.at("name").string();
    auto& optimizer = config.train.optimizer;
    optimizer.kind = name == "adam" ? OptimizerKind::adam : name == "adamw" ? OptimizerKind::adamw : OptimizerKind::sgd;
    optimizer.lr = o.at("lr").number();
    optimizer.momentum = number_or(o, "momentum", 0);
    optimizer.weight_decay = number_or(o, "weight_decay", 0);
    optimizer.nesterov = o.find("nesterov") != nullptr;
    return config;
}

Shard shard_of(Manifest const& manifest, std::int64_t rows) {
    auto shard = random_shard(manifest, rows, 0);
    auto* const x = reinterpret_cast<float*>(shard.features.data());
    for (std::int64_t i = 0; i < rows * manifest.row_size(); ++i) x[i] = static_cast<float>(wave(i, 104729, 1013));
    for (std::size_t r = 0; r < shard.labels.size(); ++r)
        shard.labels[r] = static_cast<std::int64_t>(r) * 7 % manifest.outputs;
    for (std::size_t i = 0; i < shard.targets.size(); ++i)
        shard.targets[i] = static_cast<float>(wave(static_cast<std::int64_t>(i), 7919, 1013));
    return shard;
}

void fill_parameters(AlignedBlock& state, StateLayout const& layout) {
    for (std::size_t t = 0; layout.tensors[t].block == Block::parameter; ++t) {
        auto* const values = state.floats() + layout.tensors[t].offset / sizeof(float);
        for (std::size_t i = 0; i < layout.tensors[t].bytes / sizeof(float); ++i)
            values[i] =
                static_cast<float>(0.3 * wave(static_cast<std::int64_t>(i), 7919, 1009, 613 * static_cast<std::int64_t>(t)));
    }
}

void expect_tensor(float const* values, StateTensor const& tensor, Json const& expected, std::string const& which) {
    auto const n = tensor.bytes / sizeof(float);
    auto const& first = expected.at("first").array();
    for (std::size_t i = 0; i < first.size(); ++i)
        EXPECT_NEAR(values[i], first[i].number(), 2e-5) << which << " element " << i;
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < n; ++i) {
        sum += values[i];
        squares += static_cast<double>(values[i]) * values[i];
    }
    EXPECT_NEAR(sum, expected.at("sum").number(), 1e-5 * std::sqrt(static_cast<double>(n)) + 1e-5) << which;
    EXPECT_NEAR(squares, expected.at("squares").number(), 1e-5 * squares + 1e-6) << which;
}

TEST(Parity, EqualsPyTorch) {
    auto const vectors = read_vectors();
    auto const rows = vectors.at("rows").integer();
    ASSERT_EQ(vectors.at("cases").array().size(), 26U);
    for (auto const& c : vectors.at("cases").array()) {
        auto const which =
            c.at("model").string() + " " + c.at("arguments").dump() + " " + c.at("optimizer").at("name").string();
        std::vector<std::int64_t> shape;
        for (auto const& side : c.at("shape").array()) shape.push_back(side.integer());
        auto const task = c.at("loss").string() == "mse" ? Task::regression : Task::classification;
        Trial trial(config_of(c, static_cast<int>(rows)), plain_manifest(shape, c.at("outputs").integer(), rows, task));
        auto const shard = shard_of(trial.manifest, rows);
        AlignedBlock state(trial->layout().bytes);
        trial->initialise(state.bytes(), 1, TrialId(0));
        fill_parameters(state, trial->layout());
        trial->bind(state.bytes());
        int epoch = 0;
        for (auto const& loss : c.at("losses").array())
            EXPECT_NEAR(trial->train_unit(shard, unit(0, epoch++, 0), {}).loss / static_cast<double>(rows), loss.number(),
                        2e-5)
                << which << " step " << epoch;
        auto const& tensors = c.at("tensors").array();
        for (std::size_t t = 0; t < tensors.size(); ++t) {
            auto const& tensor = trial->layout().tensors[t];
            ASSERT_EQ(tensor.block, Block::parameter) << which;
            expect_tensor(state.floats() + tensor.offset / sizeof(float), tensor, tensors[t], which + " " + tensor.name);
        }
    }
}

}  // namespace
}  // namespace hopscotch::testing
