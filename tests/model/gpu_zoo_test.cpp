// SPDX-License-Identifier: Apache-2.0
// Every model of the zoo on the device of this machine, in fp32 and bf16: it trains, with the same bits each time, and on a
// GPU with the same bits as captured steps. HOPSCOTCH_ZOO_DEVICE names another device. scripts/gpu_check.sh runs each model
// alone and prints the lines that begin with "zoo: ".
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "fixture.hpp"
#include "model/gpu/device.hpp"
#include "zoo_cases.hpp"

namespace hopscotch::testing {
namespace gpu_zoo_test {

struct Outcome {
    std::uint64_t hash = 0;
    double loss = 0;
    Workspace::Graphs graphs;
};

std::string zoo_device() {
    auto const* const wanted = std::getenv("HOPSCOTCH_ZOO_DEVICE");
    return resolve_device(wanted != nullptr ? wanted : "auto", 0);
}

Outcome outcome(ZooCase const& zoo_case, Precision precision, bool graphs) {
    auto config = trial_config(zoo_case.model, parse_json_or_throw(zoo_case.arguments, "arguments"));
    config.train.arithmetic.precision = precision;
    config.train.optimizer.momentum = 0.9;
    config.train.optimizer.lr = 0.01;
    GpuMode mode;
    mode.graphs = graphs;
    auto const workspace = std::make_shared<Workspace>(zoo_device(), 1, mode);
    Trial trial(config, zoo_case.manifest, workspace);
    auto const shard = source(shard_for(zoo_case.manifest));
    AlignedBlock state(trial->state->layout().bytes);
    trial->state->initialise(state.bytes(), 42, TrialId(3));
    Outcome out;
    for (int epoch = 0; epoch < 2; ++epoch) {
        trial->state->bind(state.bytes());
        out.loss += trial->training->train_unit(*shard, unit(3, epoch, 0), {}).loss;
    }
    out.hash = trial.hash(state);
    out.graphs = workspace->graphs();
    return out;
}

class GpuZoo : public ::testing::TestWithParam<ZooCase> {};

TEST_P(GpuZoo, trains) {
    for (auto const precision : {Precision::fp32, Precision::bf16}) {
        auto const* const name = precision == Precision::fp32 ? "fp32" : "bf16";
        auto const plain = outcome(GetParam(), precision, false), captured = outcome(GetParam(), precision, true);
        EXPECT_TRUE(std::isfinite(plain.loss)) << name;
        EXPECT_EQ(captured.hash, plain.hash) << name << ", with CUDA graphs and without";
        EXPECT_EQ(captured.loss, plain.loss) << name << ", with CUDA graphs and without";
        auto const mean = plain.loss / (2 * static_cast<double>(k_zoo_rows));
        std::string refused;
        for (auto const& reason : captured.graphs.refused) refused += ", refused: " + reason;
        std::printf("zoo: %s %s loss %.4f, equal bits: %s, graphs: %zu%s\n", zoo_device().c_str(), name, mean,
                    captured.hash == plain.hash ? "yes" : "no", captured.graphs.kept, refused.c_str());
    }
}

INSTANTIATE_TEST_SUITE_P(Models, GpuZoo, ::testing::ValuesIn(zoo_cases()),
                         [](auto const& each) { return std::string(each.param.model); });

TEST(GpuZooCases, are_all_models_but_those_of_users) {
    std::set<std::string> tested{"synthetic", "plugin", "torchscript"}, known;
    for (auto const& zoo_case : zoo_cases()) tested.insert(zoo_case.model);
    for (auto const& entry : zoo()) known.insert(entry.name);
    EXPECT_EQ(tested, known);
}

}  // namespace gpu_zoo_test
}  // namespace hopscotch::testing
