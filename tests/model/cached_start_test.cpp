// SPDX-License-Identifier: Apache-2.0
// model.cache_frozen: frozen layers compute each row once, to values that depend on nothing but the row and the file.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <deque>
#include <filesystem>
#include <functional>
#include <vector>

#include "experiment/validation_scores.hpp"
#include "fixture.hpp"
#include "model/state/safetensors.hpp"
#include "tensor/feed/feature_store.hpp"

namespace hopscotch::testing {
namespace cached_start_test {

constexpr std::int64_t k_rows = 300;  // several batches of an evaluation

Manifest pictures() { return plain_manifest({3, 32, 32}, 4, k_rows, Task::classification); }

TrialConfig small(std::string const& model) {
    auto config = trial_config(model);
    if (model == "resnet18") config = trial_config(model, Json::object({{"width", 4}, {"stem", "cifar"}}));
    if (model == "mobilenet_v2") config = trial_config(model, Json::object({{"width", 0.1}, {"dropout", 0.0}}));
    if (model == "vgg16") config = trial_config(model, Json::object({{"width", 2}, {"hidden", 8}, {"dropout", 0.0}}));
    if (model == "vit")
        config = trial_config(model, Json::object({{"patch", 8}, {"width", 16}, {"depth", 2}, {"heads", 2}}));
    config.train.batch_size = 50;
    return config;
}

struct Case {
    std::string model;
    std::vector<std::string> freeze;
    bool has_statistics;
};

std::vector<Case> cases() {
    return {{"cnn", {"layers.0.*", "layers.1.*"}, true},
            {"lenet", {"conv*", "fc1.*"}, false},
            {"resnet18", {"conv1.*", "bn1.*", "layer*"}, true},
            {"mobilenet_v2", {"features.*"}, true},
            {"vgg16", {"features.*"}, false},
            {"vit", {"class_token", "conv_proj.*", "encoder.*"}, false}};
}

class Folder {
public:
    Folder() : path_(std::filesystem::temp_directory_path() / ("hopscotch_cached_" + std::to_string(getpid()))) {
        std::filesystem::create_directory(path_);
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    std::string operator/(std::string const& name) const { return (path_ / name).string(); }

private:
    std::filesystem::path path_;
};

// Trains a fresh model of this kind and saves it.
void write_weights(Case const& of, std::string const& path) {
    Trial trial(small(of.model), pictures());
    AlignedBlock state(trial->state->layout().bytes);
    trial->state->initialise(state.bytes(), 3, TrialId(1));
    trial->state->bind(state.bytes());
    trial->training->train_unit(*source(random_shard(trial.manifest, k_rows, 1)), unit(1, 0, 0), {});
    trial->state->save(path, Json(Json::Object{}));
}

TrialConfig frozen(Case const& of, std::string const& weights, bool cached) {
    auto config = small(of.model);
    config.model.init_from = weights;
    config.model.freeze = of.freeze;
    config.model.cache_frozen = cached;
    return config;
}

struct Trained {
    std::vector<float> head;  // the parameters that have trained
    double train_loss = 0, valid_loss = 0;
    std::uint64_t hash = 0;
};

Trained train(Trial& trial, std::string const& saved, int epochs = 2) {
    AlignedBlock state(trial->state->layout().bytes);
    trial->state->initialise(state.bytes(), 4, TrialId(0));
    trial->state->bind(state.bytes());
    auto const rows = source(random_shard(trial.manifest, k_rows, 2)), valid = source(random_shard(trial.manifest, 260, 3));
    Trained out;
    for (int epoch = 0; epoch < epochs; ++epoch)
        out.train_loss = trial->training->train_unit(*rows, unit(0, epoch, 0), {}).loss;
    Evaluation sums(trial.manifest.task, trial.manifest.outputs);
    trial->evaluation->evaluate(*valid, {0, trial->evaluation->evaluation_batches(valid->rows())}, sums);
    out.valid_loss = sums.scores().loss;
    out.hash = trial.hash(state);
    for (auto const& tensor : trial->state->layout().tensors) {
        if (tensor.block != Block::parameter) continue;
        auto const* const first = state.floats() + tensor.offset / sizeof(float);
        out.head.insert(out.head.end(), first, first + tensor.bytes / sizeof(float));
    }
    if (!saved.empty()) trial->state->save(saved, Json(Json::Object{}));
    return out;
}

double largest_difference(std::vector<float> const& a, std::vector<float> const& b) {
    double out = 0;
    for (std::size_t i = 0; i < a.size(); ++i) out = std::max(out, std::abs(double{a[i]} - double{b[i]}));
    return out;
}

// Where the frozen layers have no statistics of batches, caching changes the values by rounding alone. The saved model is
// whole: without the key it gives the same validation loss.
TEST(CachedStart, TrainsWhatFrozenLayersTrain) {
    for (auto const& of : cases()) {
        Folder const folder;
        auto const weights = folder / "weights", tuned = folder / "tuned";
        write_weights(of, weights);
        Trial cached(frozen(of, weights, true), pictures());
        auto const with = train(cached, tuned);
        Trial plain(frozen(of, weights, false), pictures());
        auto const without = train(plain, "");
        ASSERT_EQ(with.head.size(), without.head.size()) << of.model;
        auto const most = of.has_statistics ? 1 : 2e-5;
        EXPECT_LT(largest_difference(with.head, without.head), most) << of.model;

        auto whole = small(of.model);
        whole.model.init_from = tuned;
        Trial again(whole, pictures());
        EXPECT_NEAR(train(again, "", 0).valid_loss, with.valid_loss, 1e-5) << of.model;
        auto const before = SafetensorsFile::open(weights), after = SafetensorsFile::open(tuned);
        EXPECT_EQ(before.entries().size(), after.entries().size()) << of.model;
    }
}

// Frozen layers with batch norm compute with the statistics of the file, which stay.
TEST(CachedStart, StatisticsOfFrozenLayersStay) {
    auto const of = cases()[2];
    Folder const folder;
    auto const weights = folder / "weights", tuned = folder / "tuned";
    write_weights(of, weights);
    Trial cached(frozen(of, weights, true), pictures());
    train(cached, tuned);
    auto const before = SafetensorsFile::open(weights), after = SafetensorsFile::open(tuned);
    for (auto const* name : {"bn1.running_mean", "layer2.0.downsample.1.running_var", "layer4.1.bn2.running_mean"}) {
        auto const n = static_cast<std::size_t>(before.entries().at(name).shape.at(0));
        std::vector<float> old(n), now(n);
        before.read(name, old);
        after.read(name, now);
        EXPECT_EQ(old, now) << name;
    }
    std::vector<std::int64_t> old(1), now(1);
    before.read("bn1.num_batches_tracked", old);
    after.read("bn1.num_batches_tracked", now);
    EXPECT_EQ(old, now);
}

// The rows of each shard go through the frozen layers once, whatever trials of the trainer train on them.
TEST(CachedStart, ComputesEachRowOnceForAllTrials) {
    auto const of = cases()[0];
    Folder const folder;
    write_weights(of, folder / "weights");
    auto const workspace = std::make_shared<Workspace>("cpu", 1);
    auto const config = frozen(of, folder / "weights", true);
    auto const shard = source(random_shard(pictures(), k_rows, 2));
    auto const signs = [&](TrialConfig const& of_trial, int id) {
        Trial trial(of_trial, pictures(), workspace);
        AlignedBlock state(trial->state->layout().bytes);
        trial->state->initialise(state.bytes(), 4, TrialId(id));
        trial->state->bind(state.bytes());
        int given = 0;
        trial->training->train_unit(*shard, unit(id, 0, 0), [&] { ++given; });
        return given;
    };
    auto const steps = static_cast<int>(k_rows / config.train.batch_size);
    EXPECT_GT(signs(config, 0), steps) << "and signs of life on the way";
    EXPECT_EQ(signs(config, 1), steps);
    auto slower = config;
    slower.train.optimizer.lr = 1e-3;
    slower.train.batch_size = 30;
    EXPECT_EQ(signs(slower, 2), static_cast<int>(k_rows / 30)) << "with other settings of the rest";
    auto shorter = config;
    shorter.model.freeze = {"layers.0.*"};
    EXPECT_GT(signs(shorter, 3), steps) << "other layers are frozen";
}

// Bits depend neither on the trials before nor on what was forgotten, nor on where a pass was left.
TEST(CachedStart, BitsDependOnNothingElse) {
    auto const of = cases()[2];
    Folder const folder;
    write_weights(of, folder / "weights");
    auto const config = frozen(of, folder / "weights", true);
    Trial alone(config, pictures());
    auto const hash = train(alone, "").hash;

    auto const workspace = std::make_shared<Workspace>("cpu", 1);
    workspace->limit_features(1);  // only the shard in use stays
    auto other = config;
    other.train.batch_size = 64;
    Trial before(other, pictures(), workspace), after(config, pictures(), workspace);
    train(before, "");
    EXPECT_EQ(train(after, "").hash, hash);

    Trial first(config, pictures()), second(config, pictures());
    AlignedBlock state(first->state->layout().bytes);
    first->state->initialise(state.bytes(), 4, TrialId(0));
    auto const rows = source(random_shard(pictures(), k_rows, 2));
    auto const whole = [&](Trial& trial, int epoch, PassCursor const* from, int updates) {
        trial->state->bind(state.bytes());
        trial->training->begin_pass(*rows, unit(0, epoch, 0), config.train.batch_size);
        if (from != nullptr) trial->training->skip_to(*from);
        while (updates-- > 0 && trial->training->next_updates({}) > 0);
        auto const cursor = trial->training->cursor();
        trial->training->end_pass();
        return cursor;
    };
    auto const cursor = whole(first, 0, nullptr, 2);
    whole(second, 0, &cursor, 1000);
    whole(first, 1, nullptr, 1000);
    EXPECT_EQ(first.hash(state), hash);
}

void copy_without(std::string const& from, std::string const& left_out, std::string const& to) {
    auto const file = SafetensorsFile::open(from);
    std::deque<std::vector<float>> values;
    std::vector<NamedTensor> tensors;
    for (auto const& [name, entry] : file.entries()) {
        if (name == left_out || entry.dtype != "F32") continue;
        auto& value = values.emplace_back((entry.end - entry.begin) / sizeof(float));
        file.read(name, value);
        tensors.push_back({name, Element::float32, entry.shape, std::as_bytes(std::span(value))});
    }
    write_safetensors(to, tensors, Json(Json::Object{}));
}

TEST(CachedStart, TellsWhyItCannotBe) {
    Folder const folder;
    auto const of = cases()[2];
    auto const weights = folder / "weights";
    write_weights(of, weights);
    auto const refusal = [&](std::function<void(TrialConfig&)> const& change) {
        auto config = frozen(of, weights, true);
        change(config);
        Problems problems("x.json");
        check_model(config, schema_of(pictures()), problems);
        return problems.text();
    };
    EXPECT_EQ(refusal([](TrialConfig&) {}), "");
    EXPECT_NE(refusal([](TrialConfig& config) {
                  config.model.freeze = {"layer4.*"};
              }).find("the first layer trains (conv1.weight)"),
              std::string::npos);
    EXPECT_NE(refusal([](TrialConfig& config) {
                  config.model.name = "mlp", config.model.arguments = Json(Json::Object{});
              }).find("mlp is not a chain"),
              std::string::npos);
    copy_without(weights, "layer1.0.bn2.running_var", folder / "partial");
    EXPECT_NE(refusal([&](TrialConfig& config) {
                  config.model.init_from = folder / "partial";
                  config.model.init_mode = InitFrom::partial;
              }).find("init_from has no layer1.0.bn2.running_var"),
              std::string::npos);
    EXPECT_NE(refusal([](TrialConfig& config) { config.data.augment = {{AugmentKind::flip}}; }).find("data.augment"),
              std::string::npos);
}

// Those that were used longest ago go first; those of a source that has gone, at once.
TEST(FeatureStore, ForgetsThoseUsedLongestAgo) {
    auto const manifest = digits(10);
    auto const one = source(random_shard(manifest, 10, 1)), two = source(random_shard(manifest, 10, 2));
    FeatureStore store(200);
    int made = 0;
    auto const make = [&] {
        ++made;
        Features out{std::make_shared<Shard>(), {}};
        out.shard->features.own().resize(100);
        return out;
    };
    auto const kept = store.of("a", *one, make);
    store.of("a", *two, make);
    EXPECT_EQ(store.of("a", *one, make), kept);
    EXPECT_EQ(made, 2);
    store.of("b", *one, make);  // in place of (a, two)
    EXPECT_EQ(store.of("a", *one, make), kept);
    EXPECT_EQ(made, 3);
    store.of("a", *two, make);
    EXPECT_EQ(made, 4);
    {
        auto const gone = source(random_shard(manifest, 10, 3));
        store.of("a", *gone, make);
    }
    auto const next = source(random_shard(manifest, 10, 4));  // may lie where the one before lay
    store.of("a", *next, make);
    EXPECT_EQ(made, 6);
}

}  // namespace cached_start_test
}  // namespace hopscotch::testing
