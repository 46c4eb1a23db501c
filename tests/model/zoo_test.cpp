// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "fixture.hpp"

namespace hopscotch::testing {
namespace zoo_test {

std::int64_t parameters_of(TrialConfig const& config, Manifest const& manifest) {
    std::int64_t count = 0;
    Trial trial(config, manifest);
    for (auto const& tensor : trial->state->layout().tensors)
        if (tensor.block == Block::parameter) count += static_cast<std::int64_t>(tensor.bytes / sizeof(float));
    return count;
}

TEST(Zoo, ParameterCountsAreThePublishedOnes) {
    auto const mnist = plain_manifest({1, 28, 28}, 10, 100, Task::classification);
    EXPECT_EQ(parameters_of(trial_config("lenet"), mnist), 61706);
    EXPECT_EQ(parameters_of(trial_config("mlp", Json::object({{"hidden", Json(Json::Array{512, 256})}})), mnist), 535818);
    EXPECT_EQ(parameters_of(trial_config("logistic"), mnist), 7850);
    EXPECT_EQ(parameters_of(trial_config("synthetic", Json::object({{"parameters", 12}})), mnist), 12);
}

TEST(Zoo, LenetTrainsOnImagesOfEverySize) {
    for (std::int64_t const side : {4, 5, 8, 11, 12, 13, 32}) {
        Trial trial(trial_config("lenet"), plain_manifest({3, side, side + 1}, 10, 20, Task::classification));
        auto const shard = random_shard(trial.manifest, 20, 1);
        AlignedBlock state(trial->state->layout().bytes);
        trial->state->initialise(state.bytes(), 1, TrialId(0));
        trial->state->bind(state.bytes());
        EXPECT_EQ(trial->training->train_unit(*source(shard), unit(0, 0, 0), {}).rows, 20) << side;
    }
}

TEST(Zoo, CostsAreThoseOfTheLayers) {
    auto const data = schema_of(plain_manifest({1, 28, 28}, 10, 100, Task::classification));
    EXPECT_EQ(flops_per_row(trial_config("logistic"), data), 6 * 7840);
    EXPECT_EQ(flops_per_row(trial_config("mlp", Json::object({{"hidden", Json(Json::Array{512, 256})}})), data),
              6.0 * (784 * 512 + 512 * 256 + 256 * 10));
    EXPECT_EQ(flops_per_row(trial_config("lenet"), data),
              6.0 * (25 * 6 * 28 * 28 + 25 * 6 * 16 * 100 + 400 * 120 + 120 * 84 + 840));
    auto slow = trial_config("synthetic", Json::object({{"seconds_per_batch", 0.02}}));
    auto const cost = flops_per_row(slow, data);
    slow.train.batch_size *= 2;
    EXPECT_DOUBLE_EQ(flops_per_row(slow, data), cost / 2);
}

std::string complaints(TrialConfig const& config, Manifest const& manifest) {
    Problems problems("x.json");
    check_model(config, schema_of(manifest), problems);
    return problems.text();
}

void expect_complaint(TrialConfig const& config, Manifest const& manifest, std::string const& expected) {
    auto const text = complaints(config, manifest);
    EXPECT_NE(text.find(expected), std::string::npos) << "expected: " << expected << "\ngot: " << text;
    EXPECT_THROW(Trial(config, manifest), ConfigError);
}

TEST(Check, AcceptsEveryModelOnFittingData) {
    for (auto const* name : {"logistic", "mlp", "lenet", "cnn", "resnet20", "synthetic"})
        EXPECT_EQ(complaints(trial_config(name), digits(10)), "") << name;
    for (auto const& entry : zoo()) EXPECT_EQ(entry.synthetic, entry.name == "synthetic");
}

TEST(Check, NamesTheModelThatWasMeant) {
    expect_complaint(trial_config("mpl"), digits(10),
                     "/model/name: unknown model \"mpl\"; did you mean \"mlp\"? (see: hopscotch models)");
}

TEST(Check, SaysWhichShapeLenetNeeds) {
    expect_complaint(
        trial_config("lenet"), plain_manifest({64}, 10, 10, Task::classification),
        "/model/name: lenet needs images of shape CxHxW (the dataset's rows have shape 64); import with --shape 1x8x8");
    expect_complaint(trial_config("lenet"), plain_manifest({63}, 10, 10, Task::classification), "import with --shape CxHxW");
    expect_complaint(trial_config("lenet"), plain_manifest({1, 3, 9}, 10, 10, Task::classification), "at least 4x4");
}

TEST(Check, RefusesUnknownAndIllTypedArguments) {
    auto const with = [](char const* model, char const* key, Json value) {
        return trial_config(model, Json::object({{key, std::move(value)}}));
    };
    expect_complaint(with("mlp", "hiden", Json(Json::Array{8})), digits(10),
                     "/model/hiden: unknown key; did you mean \"hidden\"?");
    // Keys of the section that the zoo does not read.
    for (auto const* name : {"logistic", "mlp", "synthetic"}) {
        expect_complaint(with(name, "freez", Json(Json::Array{})), digits(10),
                         "/model/freez: unknown key; did you mean \"freeze\"?");
        expect_complaint(with(name, "cache_frozn", true), digits(10),
                         "/model/cache_frozn: unknown key; did you mean \"cache_frozen\"?");
    }
    expect_complaint(with("mlp", "hidden", 8), digits(10), "/model/hidden: expected an array of integers (got an integer)");
    expect_complaint(with("mlp", "hidden", Json(Json::Array{8, 0})), digits(10),
                     "/model/hidden: must be at least 1 (got 0)");
    expect_complaint(with("mlp", "activation", "rellu"), digits(10), "did you mean \"relu\"?");
    expect_complaint(with("mlp", "dropout", 1.0), digits(10), "/model/dropout: must be at least 0 and less than 1 (got 1)");
    expect_complaint(with("lenet", "hidden", Json(Json::Array{})), digits(10), "/model/hidden: unknown key");
    expect_complaint(with("logistic", "dropout", 0.1), digits(10), "/model/dropout: unknown key");
    expect_complaint(with("synthetic", "jitter", -0.1), digits(10), "/model/jitter");
    expect_complaint(with("synthetic", "parameters", 0), digits(10), "/model/parameters");
}

TEST(Check, RefusesALossThatDoesNotFitTheTask) {
    auto config = trial_config("mlp");
    expect_complaint(
        config, plain_manifest({5}, 2, 10, Task::regression),
        "/train/loss: cross_entropy does not fit the dataset (it has targets of a regression); use mse or huber");
    config.train.loss = LossKind::mse;
    expect_complaint(config, digits(10), "/train/loss: mse does not fit the dataset (it has classes); use cross_entropy");
    EXPECT_EQ(complaints(config, plain_manifest({5}, 2, 10, Task::regression)), "");
}

TEST(Evaluate, CountsHitsAmongTheBestAndTheBestFive) {
    Trial trial(trial_config("logistic"), plain_manifest({1}, 7, 7, Task::classification));
    Shard shard;  // every row is 1, so the outputs are weight + bias
    shard.rows = 7;
    shard.features.own().resize(7 * sizeof(float));
    for (std::size_t i = 0; i < 7; ++i) reinterpret_cast<float*>(shard.features.own().data())[i] = 1;
    shard.labels = {0, 1, 2, 3, 4, 5, 6};
    AlignedBlock state(trial->state->layout().bytes);
    trial->state->initialise(state.bytes(), 1, TrialId(0));
    for (int k = 0; k < 7; ++k) {
        state.floats()[k] = k < 2 ? 1.0F : static_cast<float>(-k);  // classes 0 and 1 tie: the first one counts
        state.floats()[trial->state->layout().find("linear.bias").offset / sizeof(float) + static_cast<std::size_t>(k)] = 0;
    }
    trial->state->bind(state.bytes());
    Evaluation sums(trial.manifest.task, trial.manifest.outputs);
    trial->evaluation->evaluate(*source(shard), {0, 1}, sums);
    EXPECT_EQ(sums.correct(), 1);
    EXPECT_EQ(sums.top5(), 5);
    double total = 2 * std::exp(1.0), outputs = 2;
    for (int k = 2; k < 7; ++k) total += std::exp(-k), outputs -= k;
    EXPECT_NEAR(sums.loss(), 7 * std::log(total) - outputs, 1e-6);
}

TEST(Synthetic, IsDeterministicAndDiffersByUnit) {
    auto config =
        trial_config("synthetic", Json::object({{"seconds_per_batch", 0.0}, {"parameters", 100000}, {"jitter", 0.5}}));
    Trial trial(config, plain_manifest({64}, 10, 20, Task::classification));
    auto const shard = random_shard(trial.manifest, 20, 1);
    std::set<std::uint64_t> seen;
    for (int repeat = 0; repeat < 2; ++repeat) {
        AlignedBlock state(trial->state->layout().bytes);
        trial->state->initialise(state.bytes(), 1, TrialId(0));
        trial->state->bind(state.bytes());
        seen.insert(trial.hash(state));
        for (int s = 0; s < 3; ++s) {
            auto const sums = trial->training->train_unit(*source(shard), unit(0, 0, s), {});
            EXPECT_EQ(sums.rows, 20);
            seen.insert(trial.hash(state));
        }
        Evaluation sums(trial.manifest.task, trial.manifest.outputs);
        trial->evaluation->evaluate(*source(shard), {0, trial->evaluation->evaluation_batches(20)}, sums);
        EXPECT_DOUBLE_EQ(sums.loss() / 20, 1.0 / (1 + 9)) << "nine steps";
        EXPECT_TRUE(trial->state->finite());
    }
    EXPECT_EQ(seen.size(), 4U) << "four states, the same in both repeats";
}

TEST(Safetensors, HasTheHeaderAndTheBytes) {
    auto config = trial_config("mlp", Json::object({{"hidden", Json(Json::Array{3})}}));
    config.train.optimizer.kind = OptimizerKind::adam;
    Trial trial(config, plain_manifest({5}, 2, 20, Task::classification));
    AlignedBlock state(trial->state->layout().bytes);
    trial->state->initialise(state.bytes(), 1, TrialId(0));
    trial->state->bind(state.bytes());
    auto const path = std::filesystem::temp_directory_path() /
                      ("hopscotch_zoo_test_" + std::to_string(std::random_device{}()) + ".safetensors");
    trial->state->save(path.string(), Json::object({{"model", "mlp"}, {"epoch", 3}}));
    std::ifstream in(path, std::ios::binary);
    std::string const file(std::istreambuf_iterator<char>(in), {});
    std::filesystem::remove(path);
    std::uint64_t length = 0;
    std::memcpy(&length, file.data(), 8);
    EXPECT_EQ(length % 8, 0U);
    auto const header = parse_json_or_throw(file.substr(8, length), "header");
    EXPECT_EQ(header.at("__metadata__"), Json::object({{"model", "mlp"}, {"epoch", "3"}}));
    EXPECT_EQ(header.object().size(), 5U) << "no optimizer slots, no counters";
    std::size_t end = 0;
    for (auto const* name : {"layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias"}) {
        auto const& entry = header.at(name);
        auto const& tensor = trial->state->layout().find(name);
        auto const begin = static_cast<std::size_t>(entry.at("data_offsets").array()[0].integer());
        EXPECT_EQ(entry.at("dtype").string(), "F32");
        EXPECT_EQ(entry.at("shape"), Json(tensor.shape));
        EXPECT_EQ(begin, end) << name;
        end = static_cast<std::size_t>(entry.at("data_offsets").array()[1].integer());
        ASSERT_EQ(end - begin, tensor.bytes);
        EXPECT_EQ(std::memcmp(file.data() + 8 + length + begin, state.bytes().data() + tensor.offset, tensor.bytes), 0)
            << name;
    }
    EXPECT_EQ(file.size(), 8 + length + end);
}

TEST(Safetensors, NamesTheFileItCannotWrite) {
    Trial trial(trial_config("logistic"), digits(10));
    AlignedBlock state(trial->state->layout().bytes);
    trial->state->initialise(state.bytes(), 1, TrialId(0));
    trial->state->bind(state.bytes());
    EXPECT_THROW(trial->state->save("/no/such/folder/model.safetensors", Json()), IoError);
}

}  // namespace zoo_test
}  // namespace hopscotch::testing
