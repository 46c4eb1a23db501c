// SPDX-License-Identifier: Apache-2.0
// Against PyTorch itself: tests/parity/make_zoo_vectors.py trained every network of the zoo for some steps in Python, in
// double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "core/cpu_features.hpp"
#include "fixture.hpp"

namespace hopscotch::testing {
namespace zoo_parity_test {

constexpr double k_relative = 1e-5;  // at least

Json const& vectors() {
    static Json const read = [] {
        std::ifstream in(HOPSCOTCH_SOURCE_DIR "/tests/parity/zoo_vectors.json");
        return parse_json_or_throw(std::string(std::istreambuf_iterator<char>(in), {}), "zoo_vectors.json");
    }();
    return read;
}

std::vector<std::int64_t> integers(Json const& array) {
    std::vector<std::int64_t> out;
    for (auto const& value : array.array()) out.push_back(value.integer());
    return out;
}

// The script's formulas for weights and data.
std::uint32_t scrambled(std::uint64_t i, std::uint64_t stream) {
    auto x = static_cast<std::uint32_t>(i + stream * 1000003);
    for (int round = 0; round < 2; ++round) x = (x ^ (x >> 16)) * 0x45D9F3BU;
    return x ^ (x >> 16);
}
double noise(std::uint64_t i, std::uint64_t stream) { return static_cast<float>(scrambled(i, stream) / 2147483648.0 - 1); }

TrialConfig config_of(Json const& c) {
    auto arguments = c.at("model");
    std::erase_if(arguments.object(), [](auto const& member) { return member.key == "name"; });
    auto config = trial_config(c.at("model").at("name").string(), arguments);
    config.train.batch_size = static_cast<int>(vectors().at("rows").integer());
    auto const& o = vectors().at("optimizer");
    config.train.optimizer.lr = o.at("lr").number();
    config.train.optimizer.momentum = o.at("momentum").number();
    config.train.optimizer.weight_decay = o.at("weight_decay").number();
    return config;
}

Manifest manifest_of(Json const& data) {
    auto const& name = data.at("task").string();
    auto task = Task::classification;
    for (auto const known : {Task::regression, Task::multilabel, Task::language})
        if (name_of(known) == name) task = known;
    auto manifest =
        plain_manifest(integers(data.at("shape")), data.at("outputs").integer(), vectors().at("rows").integer(), task);
    manifest.categories = integers(data.at("categories"));
    return manifest;
}

Shard batch(Manifest const& manifest, std::uint64_t step) {
    auto const rows = manifest.rows(Split::train);
    auto shard = random_shard(manifest, rows, 0);
    auto* const x = reinterpret_cast<float*>(shard.features.own().data());
    auto const& categories = manifest.categories;
    auto const size = static_cast<std::uint64_t>(manifest.row_size());
    for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(rows) * size; ++i) {
        auto const below = categories.empty() ? 0 : categories.size() == 1 ? categories[0] : categories[i % size];
        x[i] = below > 0 ? static_cast<float>(scrambled(i, 1000 + step) % static_cast<std::uint64_t>(below))
                         : static_cast<float>(noise(i, 1000 + step));
    }
    for (std::size_t r = 0; r < shard.labels.size(); ++r)
        shard.labels[r] = scrambled(r, 2000 + step) % static_cast<std::uint64_t>(manifest.outputs);
    return shard;
}

// Where the tensor is in the script's list, whose shape it must have.
std::size_t place_of(StateTensor const& tensor, Json const& list) {
    for (std::size_t t = 0; t < list.array().size(); ++t) {
        auto const& entry = list.array()[t].array();
        if (entry[0].string() != tensor.name) continue;
        EXPECT_EQ(integers(entry[1]), tensor.shape) << tensor.name;
        return t;
    }
    ADD_FAILURE() << "PyTorch's network has no " << tensor.name;
    return 0;
}

// Also checks that names and shapes of parameters and buffers are PyTorch's.
void fill_parameters(AlignedBlock& state, StateLayout const& layout, Json const& c) {
    std::size_t parameters = 0, buffers = 0;
    for (auto const& tensor : layout.tensors) {
        if (tensor.block == Block::buffer) ++buffers, place_of(tensor, c.at("buffers"));
        if (tensor.block != Block::parameter) continue;
        ++parameters;
        auto const stream = place_of(tensor, c.at("parameters"));
        auto const n = tensor.bytes / sizeof(float);
        auto const fan_in = static_cast<double>(n) / static_cast<double>(tensor.shape[0]);
        bool const matrix = tensor.shape.size() > 1;
        double const offset = matrix ? 0 : tensor.name.ends_with("weight") ? 0.3 : 0.6;
        auto* const values = state.floats() + tensor.offset / sizeof(float);
        for (std::size_t i = 0; i < n; ++i)
            values[i] = static_cast<float>(offset + (matrix ? std::sqrt(6 / fan_in) : 0.1) * noise(i, stream));
    }
    EXPECT_EQ(parameters, c.at("parameters").array().size());
    EXPECT_EQ(buffers, c.at("buffers").array().size());
}

void expect_pytorch(Json const& c, Engine engine) {
    auto config = config_of(c);
    config.train.arithmetic.engine = engine;
    Trial trial(config, manifest_of(c.at("data")));
    AlignedBlock state(trial->state->layout().bytes);
    trial->state->initialise(state.bytes(), 1, TrialId(0));
    fill_parameters(state, trial->state->layout(), c);
    trial->state->bind(state.bytes());
    int step = 0;
    // Until this step rounding alone changes PyTorch's own losses by as much. Four times that, for kernels of other CPUs.
    auto const bound = [&](int at) {
        return std::max(k_relative, 4 * c.at("rounding").array()[static_cast<std::size_t>(at)].number());
    };
    for (auto const& loss : c.at("losses").array()) {
        auto const shard = batch(trial.manifest, static_cast<std::uint64_t>(step));
        auto const sums = trial->training->train_unit(*source(shard), unit(0, step, 0), {});
        EXPECT_NEAR(sums.loss / static_cast<double>(sums.rows), loss.number(), bound(step) * loss.number())
            << "step " << step;
        ++step;
    }
    auto const shard = batch(trial.manifest, static_cast<std::uint64_t>(step));
    Evaluation sums(trial.manifest.task, trial.manifest.outputs);
    trial->evaluation->evaluate(*source(shard), {0, trial->evaluation->evaluation_batches(shard.rows)}, sums);
    auto const expected = c.at("evaluated").number();
    EXPECT_NEAR(sums.loss() / static_cast<double>(shard.rows), expected, bound(step) * expected) << "evaluation";
}

class ZooParity : public ::testing::TestWithParam<std::size_t> {};

TEST_P(ZooParity, EqualsPyTorch) { expect_pytorch(vectors().at("cases").array()[GetParam()], Engine::torch); }

TEST(ZooParityLean, EqualsPyTorch) {
    int lean = 0;
    for (auto const& c : vectors().at("cases").array()) {
        auto config = config_of(c);
        config.train.arithmetic.engine = Engine::automatic;
        Trial trial(config, manifest_of(c.at("data")));
        if (trial->state->layout().update_by != UpdateBy::lean) continue;
        SCOPED_TRACE(c.at("case").string());
        expect_pytorch(c, Engine::automatic);
        ++lean;
    }
    EXPECT_EQ(lean > 0, cpu_features().has_lean_step());
}

// This runs when the program starts, also on another machine, for other tests.
std::size_t number_of_cases() {
    try {
        return vectors().at("cases").array().size();
    } catch (DataError const&) {
        return 0;
    }
}

TEST(ZooParityVectors, AreThere) { EXPECT_GT(number_of_cases(), 0U); }

INSTANTIATE_TEST_SUITE_P(Zoo, ZooParity, ::testing::Range<std::size_t>(0, number_of_cases()),
                         [](auto const& one) { return vectors().at("cases").array()[one.param].at("case").string(); });

}  // namespace zoo_parity_test
}  // namespace hopscotch::testing
