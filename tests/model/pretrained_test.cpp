// SPDX-License-Identifier: Apache-2.0
// Transfer learning: what comes from a file, what it refuses, and what frozen parameters do and do not.
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <vector>

#include "fixture.hpp"
#include "model/state/safetensors.hpp"

namespace hopscotch::testing {
namespace pretrained_test {

// A trained network in a file, and what it computes.
class Source {
public:
    explicit Source(TrialConfig const& config, std::int64_t outputs = 10)
        : trial_(config, plain_manifest({1, 8, 8}, outputs, 40, Task::classification)),
          state_(trial_->state->layout().bytes) {
        trial_->state->initialise(state_.bytes(), 3, TrialId(1));
        trial_->state->bind(state_.bytes());
        trial_->training->train_unit(*source(random_shard(trial_.manifest, 40, 1)), unit(1, 0, 0), {});
        path_ = (std::filesystem::temp_directory_path() / ("hopscotch_pretrained_" + std::to_string(getpid()))).string();
        trial_->state->save(path_, Json(Json::Object{}));
    }
    ~Source() { std::filesystem::remove(path_); }
    std::string const& path() const { return path_; }
    float const* at(std::string const& name) {
        return state_.floats() + trial_->state->layout().find(name).offset / sizeof(float);
    }

private:
    Trial trial_;
    AlignedBlock state_;
    std::string path_;
};

TrialConfig bn_mlp(std::vector<std::int64_t> hidden = {9, 6}) {
    return trial_config("mlp", Json::object({{"hidden", Json(hidden)}, {"batch_norm", true}}));
}

std::string complaints(TrialConfig const& config, std::int64_t outputs = 10) {
    Problems problems("x.json");
    check_model(config, schema_of(plain_manifest({1, 8, 8}, outputs, 10, Task::classification)), problems);
    return problems.text();
}

TEST(InitFrom, StrictTakesEverythingAndEma) {
    Source from(bn_mlp());
    auto config = bn_mlp();
    config.model.init_from = from.path();
    config.train.ema = 0.9;
    for (auto const engine : {Engine::automatic, Engine::torch}) {
        config.train.arithmetic.engine = engine;
        Trial trial(config, digits(40));
        AlignedBlock state(trial->state->layout().bytes);
        trial->state->initialise(state.bytes(), 99, TrialId(5));
        for (auto const* name : {"layers.0.weight", "norms.0.running_mean", "norms.1.bias", "layers.2.bias"}) {
            auto const& tensor = trial->state->layout().find(name);
            EXPECT_EQ(std::memcmp(state.bytes().data() + tensor.offset, from.at(name), tensor.bytes), 0) << name;
        }
        auto const& average = trial->state->layout().find("layers.2.weight/ema");
        EXPECT_EQ(std::memcmp(state.bytes().data() + average.offset, from.at("layers.2.weight"), average.bytes), 0);
        auto const& batches = trial->state->layout().find("norms.0.num_batches_tracked");
        EXPECT_EQ(*reinterpret_cast<std::int64_t*>(state.bytes().data() + batches.offset), 6) << "40 rows in batches of 7";
    }
}

TEST(InitFrom, ListsWhatDoesNotFit) {
    Source from(bn_mlp());
    auto config = bn_mlp({9, 7});
    config.model.init_from = from.path();
    auto const text = complaints(config);
    EXPECT_NE(text.find("/model/init_from: " + from.path() + ": other shapes: layers.1.bias ([6] in the file, [7] here)"),
              std::string::npos)
        << text;
    auto deeper = bn_mlp({9, 6, 5});
    deeper.model.init_from = from.path();
    EXPECT_NE(complaints(deeper).find(": has no layers.3.bias, layers.3.weight, norms.2.bias"), std::string::npos)
        << complaints(deeper);
    deeper.model.init_mode = InitFrom::partial;
    EXPECT_EQ(complaints(deeper), "");
    config.model.init_from = "/no/such.safetensors";
    EXPECT_NE(complaints(config).find("/no/such.safetensors: cannot be opened"), std::string::npos);
}

TEST(InitFrom, HeadStartsFresh) {
    Source from(bn_mlp());
    auto config = bn_mlp();
    config.model.init_from = from.path();
    EXPECT_NE(complaints(config, 3), "") << "another number of classes";
    config.model.init_mode = InitFrom::head;
    EXPECT_EQ(complaints(config, 3), "");
    Trial trial(config, plain_manifest({1, 8, 8}, 3, 40, Task::classification));
    AlignedBlock state(trial->state->layout().bytes);
    trial->state->initialise(state.bytes(), 99, TrialId(5));
    auto const& body = trial->state->layout().find("layers.1.weight");
    EXPECT_EQ(std::memcmp(state.bytes().data() + body.offset, from.at("layers.1.weight"), body.bytes), 0);
    auto const& head = trial->state->layout().find("layers.2.weight");
    EXPECT_NE(std::memcmp(state.bytes().data() + head.offset, from.at("layers.2.weight"), head.bytes), 0);
}

TEST(Freeze, NeedsValuesAndLeavesSomethingToTrain) {
    Source from(bn_mlp());
    auto config = bn_mlp();
    config.model.init_from = from.path();
    std::string const names = "matches no parameter (they are called layers.*, norms.*); ";
    for (auto const& [pattern, cure] : {std::pair{"layer.*", "did you mean \"layers.*\"?"},
                                        {"layrs.1.*", "did you mean \"layers.1.*\"?"},
                                        {"layers.1.weights", "did you mean \"layers.1.weight\"?"},
                                        {"conv*", "choose from these"}}) {
        config.model.freeze = {pattern};
        EXPECT_NE(complaints(config).find("/model/freeze: \"" + std::string(pattern) + "\" " + names + cure),
                  std::string::npos)
            << complaints(config);
    }
    config.model.freeze = {"*"};
    EXPECT_NE(complaints(config).find("every parameter is frozen"), std::string::npos);
    config.model.freeze = {"layers.2.*"};
    config.model.init_mode = InitFrom::head;
    EXPECT_NE(complaints(config).find("frozen, but not taken from init_from: layers.2.weight, layers.2.bias"),
              std::string::npos)
        << complaints(config);
}

// A frozen part takes no room in the state, does not move, and the rest trains exactly as with a gradient that is thrown
// away.
TEST(Freeze, FrozenParametersStayAndDoNotTravel) {
    for (bool const batch_norm : {false, true}) {  // the written-out backward pass, and autograd
        auto plain =
            trial_config("mlp", Json::object({{"hidden", std::vector<std::int64_t>{9, 6}}, {"batch_norm", batch_norm}}));
        plain.train.optimizer.momentum = 0.9;
        Source from(plain);
        auto config = plain;
        config.model.init_from = from.path();
        config.model.freeze = {"layers.0.*"};
        Trial trial(config, digits(40));
        Trial whole(plain, digits(40));
        auto const frozen_bytes = 2 * (9 * 64 * sizeof(float) + 64);  // parameter and slot; 9 biases fill a line
        EXPECT_EQ(whole->state->layout().bytes - trial->state->layout().bytes, frozen_bytes);
        EXPECT_THROW(trial->state->layout().find("layers.0.weight"), Error);
        AlignedBlock state(trial->state->layout().bytes);
        trial->state->initialise(state.bytes(), 4, TrialId(0));
        trial->state->bind(state.bytes());
        trial->training->train_unit(*source(random_shard(trial.manifest, 40, 2)), unit(0, 0, 0), {});
        auto const& moved = trial->state->layout().find("layers.1.weight");
        EXPECT_NE(std::memcmp(state.bytes().data() + moved.offset, from.at("layers.1.weight"), moved.bytes), 0);
        auto const saved = from.path() + ".tuned";
        trial->state->save(saved, Json(Json::Object{}));
        auto const file = SafetensorsFile::open(saved);
        std::filesystem::remove(saved);
        EXPECT_EQ(file.entries().size(), batch_norm ? 6U + 10 : 6U) << "frozen ones are saved too";
    }
}

std::ptrdiff_t allocated_bytes() {
    auto const info = ::mallinfo2();
    return static_cast<std::ptrdiff_t>(info.uordblks + info.hblkhd);
}

// Trials of one search freeze the same layers of the same file. A trainer has these once, as long as a model needs them.
TEST(Freeze, TheModelsOfATrainerShareFrozenParameters) {
    auto const plain = trial_config("mlp", Json::object({{"hidden", std::vector<std::int64_t>{1000, 1000}}}));
    Source from(plain);
    auto config = plain;
    config.model.init_from = from.path();
    config.model.freeze = {"layers.0.*", "layers.1.*"};
    constexpr std::ptrdiff_t frozen_bytes = 4 * (64 * 1000 + 1000 * 1000);
    auto const workspace = std::make_shared<Workspace>("cpu", 1);
    {
        Trial const first(config, digits(40), workspace);
    }  // what the library allocates once
    auto const before = allocated_bytes();
    auto one = std::make_optional<Trial>(config, digits(40), workspace);
    EXPECT_LT(allocated_bytes() - before, 2 * frozen_bytes);
    std::vector<Trial> others;
    for (int i = 0; i < 10; ++i) others.emplace_back(config, digits(40), workspace);
    EXPECT_LT(allocated_bytes() - before, 2 * frozen_bytes);

    // Each is whole without the one that has read the file.
    auto const train = [&](Trial& trial) {
        AlignedBlock state(trial->state->layout().bytes);
        trial->state->initialise(state.bytes(), 4, TrialId(0));
        trial->state->bind(state.bytes());
        trial->training->train_unit(*source(random_shard(trial.manifest, 40, 2)), unit(0, 0, 0), {});
        return trial.hash(state);
    };
    auto const hash = train(*one);
    one.reset();
    EXPECT_EQ(train(others.back()), hash);
    Trial alone(config, digits(40));
    EXPECT_EQ(train(alone), hash);
    others.clear();
    EXPECT_LT(allocated_bytes() - before, 2 * frozen_bytes) << "only of the one that is alone";
}

// A file that is another one by now, under the old name.
TEST(Freeze, AnotherFileOfThatNameIsRead) {
    auto const plain = bn_mlp();
    Source from(plain);
    auto config = plain;
    config.model.init_from = from.path();
    config.model.freeze = {"layers.0.*"};
    auto const workspace = std::make_shared<Workspace>("cpu", 1);
    auto const frozen_bias = [&](Trial& trial) {
        AlignedBlock state(trial->state->layout().bytes);
        trial->state->initialise(state.bytes(), 4, TrialId(0));
        trial->state->bind(state.bytes());
        auto const saved = from.path() + ".copy";
        trial->state->save(saved, Json(Json::Object{}));
        std::vector<float> bias(9);
        SafetensorsFile::open(saved).read("layers.0.bias", bias);
        std::filesystem::remove(saved);
        return bias;
    };
    Trial before(config, digits(40), workspace);
    auto const old = frozen_bias(before);
    {
        auto other = plain;
        other.train.optimizer.lr = 0.5;
        Trial trained(other, digits(40));
        AlignedBlock state(trained->state->layout().bytes);
        trained->state->initialise(state.bytes(), 77, TrialId(2));
        trained->state->bind(state.bytes());
        trained->training->train_unit(*source(random_shard(trained.manifest, 40, 9)), unit(1, 0, 0), {});
        trained->state->save(from.path(), Json(Json::Object{}));  // a new file takes the name
    }
    Trial after(config, digits(40), workspace);
    EXPECT_NE(frozen_bias(after), old);
    EXPECT_EQ(frozen_bias(before), old);
}

// The order of a shard's rows takes 4 bytes a row.
TEST(TrainingPass, LeavesNoOrderOfRowsBehind) {
    constexpr std::int64_t rows = 1000000;
    Trial trial(trial_config("mlp", Json::object({{"hidden", std::vector<std::int64_t>{2}}})),
                plain_manifest({1, 1, 1}, 10, rows, Task::classification));
    AlignedBlock state(trial->state->layout().bytes);
    trial->state->initialise(state.bytes(), 4, TrialId(0));
    trial->state->bind(state.bytes());
    auto const shard = source(random_shard(trial.manifest, rows, 2));
    auto const before = allocated_bytes();
    trial->training->begin_pass(*shard, unit(0, 0, 0), 1000);
    trial->training->next_gradient({}, {});
    EXPECT_GE(allocated_bytes() - before, 4 * rows);
    EXPECT_EQ(trial->training->end_pass().rows, 1000);
    EXPECT_LT(allocated_bytes() - before, rows);
}

TEST(Safetensors, ReadsWhatItWrote) {
    Source from(bn_mlp());
    auto const file = SafetensorsFile::open(from.path());
    std::vector<float> weight(9 * 64);
    file.read("layers.0.weight", weight);
    EXPECT_EQ(std::memcmp(weight.data(), from.at("layers.0.weight"), weight.size() * sizeof(float)), 0);
    std::vector<std::int64_t> batches(1);
    file.read("norms.1.num_batches_tracked", batches);
    EXPECT_EQ(batches[0], 6);
    EXPECT_THROW(file.read("layers.0.weight", batches), Error);
}

}  // namespace pretrained_test
}  // namespace hopscotch::testing
