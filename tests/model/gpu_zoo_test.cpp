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

namespace hopscotch::testing {
namespace gpu_zoo_test {

constexpr std::int64_t k_rows = 47;  // six batches of 7 rows, and one of 5

struct ZooCase {
    char const *model, *arguments;
    Manifest manifest;
};

std::ostream& operator<<(std::ostream& out, ZooCase const& c) { return out << c.model << " " << c.arguments; }

std::vector<ZooCase> zoo_cases() {
    auto const image = [](std::int64_t channels, std::int64_t side) {
        return plain_manifest({channels, side, side}, 10, k_rows, Task::classification);
    };
    auto tokens = plain_manifest({6}, 11, k_rows, Task::language),
         words = plain_manifest({6}, 3, k_rows, Task::classification);
    auto table = plain_manifest({5}, 3, k_rows, Task::classification);
    tokens.categories = {11};
    words.categories = {9};
    table.categories = {4, 0, 9, 0, 2};
    constexpr char const* k_vgg_arguments = R"({"width": 4, "hidden": 16, "dropout": 0.1})";
    return {{"logistic", "{}", image(1, 8)},
            {"mlp", R"({"hidden": [33, 17], "dropout": 0.3, "batch_norm": true})", image(1, 8)},
            {"lenet", R"({"dropout": 0.5})", image(1, 8)},
            {"cnn", R"({"channels": [4, 8], "dropout": 0.1})", image(1, 8)},
            {"resnet20", R"({"width": 4})", image(3, 16)},
            {"resnet32", R"({"width": 4})", image(3, 16)},
            {"resnet56", R"({"width": 4})", image(3, 16)},
            {"mobilenet_v2", R"({"stem": "cifar", "width": 0.25})", image(3, 16)},
            {"resnet18", R"({"stem": "cifar", "width": 8})", image(3, 16)},
            {"resnet34", R"({"stem": "cifar", "width": 8})", image(3, 16)},
            {"resnet50", R"({"width": 8})", image(3, 32)},
            {"vgg16", k_vgg_arguments, image(3, 32)},
            {"vgg16_bn", k_vgg_arguments, image(3, 32)},
            {"vit", R"({"patch": 4, "width": 16, "depth": 2, "heads": 2, "dropout": 0.1})", image(3, 16)},
            {"gpt", R"({"layers": 2, "width": 16, "heads": 2, "dropout": 0.1})", tokens},
            {"lstm", R"({"hidden": 12, "layers": 2, "embedding": 5, "dropout": 0.3, "bidirectional": true})", words},
            {"wide_and_deep", R"({"embedding": 3, "hidden": [8, 6], "dropout": 0.2})", table}};
}

// Random rows; categories where the manifest has them.
Shard shard_for(Manifest const& manifest) {
    auto shard = random_shard(manifest, k_rows, 5);
    auto* const x = reinterpret_cast<float*>(shard.features.own().data());
    auto const width = manifest.row_size();
    auto const& categories = manifest.categories;
    Rng rng(6);
    for (std::int64_t i = 0; i < k_rows * width && !categories.empty(); ++i) {
        auto const n = categories.size() == 1 ? categories[0] : categories[static_cast<std::size_t>(i % width)];
        if (n > 0) x[i] = static_cast<float>(rng.below(static_cast<std::uint32_t>(n)));
    }
    return shard;
}

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
        auto const mean = plain.loss / (2 * static_cast<double>(k_rows));
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
