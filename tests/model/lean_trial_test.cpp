// SPDX-License-Identifier: Apache-2.0
// A trial that takes the lean step beside the same trial by LibTorch, and its passes in parts.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>

#include "core/cpu_features.hpp"
#include "core/error.hpp"
#include "core/scratch_directory.hpp"
#include "fixture.hpp"
#include "model/trial/lean_trial_model.hpp"
#include "model/trial/part_update.hpp"

namespace hopscotch::testing {
namespace lean_trial_test {

class LeanTrial : public ::testing::Test {
    void SetUp() override {
        if (!cpu_features().has_lean_step()) GTEST_SKIP() << "needs a CPU with AVX2";
    }
};

constexpr std::int64_t k_rows = 61;

TrialConfig config_with(std::string const& model, Engine engine = Engine::automatic) {
    auto arguments = parse_json_or_throw(model, "test");
    auto const name = arguments.at("name").string();
    std::erase_if(arguments.object(), [](auto const& member) { return member.key == "name"; });
    auto config = trial_config(name, arguments);
    config.train.arithmetic.engine = engine;
    config.train.optimizer.momentum = 0.9;
    config.train.batch_size = 9;
    return config;
}

Manifest data_of(TrialConfig const& config, std::int64_t rows = k_rows) {
    bool const images = config.model.name == "lenet" || config.model.name == "cnn";
    return plain_manifest(images ? std::vector<std::int64_t>{2, 9, 11} : std::vector<std::int64_t>{13}, 5, rows,
                          Task::classification);
}

// A trial with its state, initialised and bound.
struct Bound {
    Trial trial;
    AlignedBlock state;

    explicit Bound(TrialConfig const& config, std::int64_t rows = k_rows)
        : trial(config, data_of(config, rows)), state(trial->state->layout().bytes) {
        trial->state->initialise(state.bytes(), 3, TrialId(0));
        trial->state->bind(state.bytes());
    }
    StateLayout const& layout() { return trial->state->layout(); }
    bool is_lean() { return layout().update_by == UpdateBy::lean; }
    std::size_t parameters() { return layout().end_of(Block::parameter) / sizeof(float); }
};

Shard rows_of(TrialConfig const& config) { return random_shard(data_of(config), k_rows, 7); }

TEST_F(LeanTrial, IsChosenByTheConfiguration) {
    std::string const mlp = R"({"name": "mlp", "hidden": [6]})";
    EXPECT_TRUE(Bound(config_with(mlp)).is_lean());
    EXPECT_TRUE(Bound(config_with(R"({"name": "logistic"})")).is_lean());
    EXPECT_FALSE(Bound(config_with(mlp, Engine::torch)).is_lean());
    auto bf16 = config_with(mlp);
    bf16.train.arithmetic.precision = Precision::bf16;
    EXPECT_FALSE(Bound(bf16).is_lean());
    ScratchDirectory const folder;
    Bound saved(config_with(mlp));
    auto from_file = config_with(mlp);
    from_file.model.init_from = (folder.path() / "model.safetensors").string();
    saved.trial->state->save(from_file.model.init_from, Json::object({}));
    EXPECT_TRUE(Bound(from_file).is_lean());
    from_file.model.freeze = {"layers.0.*"};
    EXPECT_FALSE(Bound(from_file).is_lean());
    auto const way_of = [](std::string const& images) {
        return Trial(config_with(images), digits(8))->state->layout().update_by;
    };
    EXPECT_EQ(way_of(R"({"name": "lenet"})"), UpdateBy::lean);
    EXPECT_EQ(way_of(R"({"name": "cnn", "channels": [1, 16]})"), UpdateBy::lean);
    EXPECT_EQ(way_of(R"({"name": "cnn", "channels": [17, 2]})"), UpdateBy::torch);
    EXPECT_EQ(way_of(R"({"name": "resnet20"})"), UpdateBy::torch);
}

TEST(LeanStep, NeedsAvx2) {
    auto const mlp = R"({"name": "mlp", "hidden": [5]})";
    EXPECT_EQ(why_not_lean(config_with(mlp), CpuFeatures{}), "the CPU has no AVX2");
    EXPECT_EQ(why_not_lean(config_with(mlp, Engine::torch), CpuFeatures{}), "the CPU has no AVX2");
    EXPECT_EQ(why_not_lean(config_with(mlp, Engine::torch), CpuFeatures{.avx2 = true}), "train.engine is torch");
    EXPECT_EQ(why_not_lean(config_with(mlp, Engine::lean), CpuFeatures{}), "");
    EXPECT_THROW(require_lean(CpuFeatures{}), ConfigError);
    EXPECT_EQ(why_not_lean(config_with(mlp), CpuFeatures{.avx2 = true}), "");
    EXPECT_NO_THROW(require_lean(CpuFeatures{.avx2 = true}));
}

// A lean trial after some steps, whose running statistics and averaged weights differ from the first ones, and the same
// state in a trial by LibTorch.
class Pair {
public:
    explicit Pair(TrialConfig config) : lean_(config), torch_(by_torch(config)), held_(source(rows_of(config))) {
        for (int epoch = 0; epoch < 3; ++epoch) lean_.trial->training->train_unit(*held_, unit(0, epoch, 0), {});
        std::ranges::copy(lean_.state.bytes(), torch_.state.bytes().begin());
        torch_.trial->state->bind(torch_.state.bytes());
    }

    void expect_equal_layouts() { EXPECT_EQ(lean_.layout().hash(), torch_.layout().hash()); }

    void expect_equal_predictions() {
        auto const found = lean_.trial->evaluation->predict(*held_, all()),
                   expected = torch_.trial->evaluation->predict(*held_, all());
        ASSERT_EQ(found.size(), expected.size());
        for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5);
    }

    void expect_equal_scores() {
        Evaluation found(Task::classification, 5), expected(Task::classification, 5);
        lean_.trial->evaluation->evaluate(*held_, all(), found);
        torch_.trial->evaluation->evaluate(*held_, all(), expected);
        EXPECT_EQ(found.rows(), k_rows);
        EXPECT_NEAR(found.loss(), expected.loss(), 1e-5 * expected.loss());
        EXPECT_EQ(found.correct(), expected.correct());
    }

    void expect_equal_files() { EXPECT_EQ(file_of(lean_), file_of(torch_)); }

private:
    static TrialConfig by_torch(TrialConfig config) {
        config.train.arithmetic.engine = Engine::torch;
        return config;
    }
    BatchRange all() { return {0, lean_.trial->evaluation->evaluation_batches(k_rows)}; }
    static std::string file_of(Bound& bound) {
        ScratchDirectory const folder;
        bound.trial->state->save((folder.path() / "model").string(), Json::object({}));
        std::ifstream in(folder.path() / "model", std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }

    Bound lean_, torch_;
    std::unique_ptr<ShardSource> held_;
};

TEST_F(LeanTrial, EvaluatesPredictsAndSavesAsLibTorch) {
    for (std::string const model :
         {R"({"name": "logistic"})", R"({"name": "mlp", "hidden": [12, 7], "activation": "tanh", "dropout": 0.3})",
          R"({"name": "mlp", "hidden": [12], "batch_norm": true})", R"({"name": "lenet", "dropout": 0.2})",
          R"({"name": "cnn", "channels": [3, 12], "dropout": 0.2})",
          R"({"name": "cnn", "channels": [6], "batch_norm": false})"})
        for (double const ema : {0.0, 0.8}) {
            SCOPED_TRACE(fmt::format("{} averaged {}", model, ema));
            auto config = config_with(model);
            config.train.ema = ema;
            Pair pair(config);
            pair.expect_equal_layouts();
            pair.expect_equal_predictions();
            pair.expect_equal_scores();
            pair.expect_equal_files();
        }
}

// Steps of a pass, and how its gradient is reported.
void expect_each_part_reported_once(TrialConfig const& config) {
    Bound bound(config);
    auto const shard = rows_of(config);
    auto const held = source(shard);
    auto& training = *bound.trial->training;
    training.begin_pass(*held, unit(0, 0, 0), 9);
    std::vector<int> reported(bound.parameters());
    std::vector<float> then(bound.parameters());
    training.next_gradient(
        [&](std::size_t first, std::size_t last) {
            auto const gradient = training.gradient();
            for (auto i = first; i < std::min(last, reported.size()); ++i) {
                ++reported[i];
                then[i] = gradient[i];
            }
        },
        {});
    EXPECT_TRUE(std::ranges::all_of(reported, [](int times) { return times == 1; }));
    EXPECT_TRUE(std::ranges::equal(then, training.gradient()));
}

TEST_F(LeanTrial, ReportsEachPartOfTheGradientOnceWhenItIsFinal) {
    for (std::string const model : {R"({"name": "mlp", "hidden": [12, 7], "batch_norm": true})", R"({"name": "lenet"})",
                                    R"({"name": "cnn", "channels": [3, 8]})"}) {
        SCOPED_TRACE(model);
        expect_each_part_reported_once(config_with(model));
    }
}

// And has the bits of an undisturbed one.
void expect_same_from_cursor(TrialConfig config) {
    config.train.accumulate = 2;
    auto const shard = rows_of(config);
    auto const held = source(shard);
    Bound whole(config), parts(config), rest(config);
    auto const expected = whole.trial->training->train_unit(*held, unit(0, 0, 0), {});
    parts.trial->training->begin_pass(*held, unit(0, 0, 0), 9);
    for (int i = 0; i < 2; ++i) parts.trial->training->next_updates({});
    auto const cursor = parts.trial->training->cursor();
    EXPECT_EQ(cursor.batches, 4);
    std::ranges::copy(parts.state.bytes(), rest.state.bytes().begin());
    rest.trial->training->begin_pass(*held, unit(0, 0, 0), 9);
    rest.trial->training->skip_to(cursor);
    while (rest.trial->training->next_updates({}) > 0) {
    }
    auto const found = rest.trial->training->end_pass();
    EXPECT_EQ(found.rows, expected.rows);
    EXPECT_EQ(found.loss, expected.loss);
    EXPECT_EQ(rest.trial.hash(rest.state), whole.trial.hash(whole.state));
}

TEST_F(LeanTrial, APassGoesOnFromItsCursor) {
    for (std::string const model : {R"({"name": "mlp", "hidden": [12], "batch_norm": true, "dropout": 0.3})",
                                    R"({"name": "cnn", "channels": [3, 8], "dropout": 0.3})"}) {
        SCOPED_TRACE(model);
        expect_same_from_cursor(config_with(model));
    }
}

Shard part_of(Shard const& shard, std::size_t first, std::size_t rows) {
    Shard out;
    out.rows = static_cast<std::int64_t>(rows);
    auto const bytes = shard.features.size() / static_cast<std::size_t>(shard.rows);
    out.features.own().resize(rows * bytes);
    std::memcpy(out.features.own().data(), shard.features.data() + first * bytes, rows * bytes);
    out.labels.assign(shard.labels.begin() + static_cast<std::ptrdiff_t>(first),
                      shard.labels.begin() + static_cast<std::ptrdiff_t>(first + rows));
    return out;
}

using Sums = std::vector<std::vector<double>>;

// The gradient of a batch of all these rows, and the trainer's own sums. others: those of the other trainer, as far as they
// are known.
std::vector<float> gradient_with(TrialConfig const& config, Shard const& shard, Sums const& others, Sums& own) {
    Bound trainer(config, shard.rows);
    own.clear();
    trainer.trial->training->sum_with([&](std::span<double> values) {
        own.emplace_back(values.begin(), values.end());
        if (own.size() > others.size()) return;
        for (std::size_t i = 0; i < values.size(); ++i) values[i] += others[own.size() - 1][i];
    });
    auto const held = source(shard);
    trainer.trial->training->begin_pass(*held, unit(0, 0, 0), shard.rows);
    EXPECT_EQ(trainer.trial->training->next_gradient({}, {}), shard.rows);
    auto const gradient = trainer.trial->training->gradient();
    return {gradient.begin(), gradient.end()};
}

// Batch norm over two parts of a batch, whose gradients are combined by rows, is that over the whole batch. Each round makes
// one more of the three sums of a step right.
void expect_gradient_of_two_trainers(TrialConfig const& config) {
    constexpr std::size_t first_rows = 40, all_rows = k_rows;
    auto const shard = rows_of(config);
    auto const first = part_of(shard, 0, first_rows), second = part_of(shard, first_rows, all_rows - first_rows);
    Sums none, of_whole, of_first, of_second;
    auto const expected = gradient_with(config, shard, none, of_whole);
    std::vector<float> a, b;
    for (int round = 0; round < 4; ++round) {
        a = gradient_with(config, first, of_second, of_first);
        b = gradient_with(config, second, of_first, of_second);
    }
    EXPECT_EQ(of_first.size(), 3U);
    auto const largest = std::abs(*std::ranges::max_element(expected, {}, [](float x) { return std::abs(x); }));
    for (std::size_t i = 0; i < a.size(); ++i)
        EXPECT_NEAR((first_rows * a[i] + (all_rows - first_rows) * b[i]) / all_rows, expected[i], 1e-5F * largest) << i;
}

TEST_F(LeanTrial, BatchNormOverTheRowsOfTwoTrainers) {
    expect_gradient_of_two_trainers(config_with(R"({"name": "mlp", "hidden": [12], "batch_norm": true})"));
    expect_gradient_of_two_trainers(config_with(R"({"name": "cnn", "channels": [6]})"));
}

TEST_F(LeanTrial, AServersPartsHaveTheBitsOfTheWholeUpdate) {
    for (auto const kind : {OptimizerKind::sgd, OptimizerKind::adamw, OptimizerKind::rmsprop}) {
        auto config = config_with(R"({"name": "mlp", "hidden": [12]})");
        config.train.optimizer.kind = kind;
        config.train.optimizer.weight_decay = 0.1;
        config.train.optimizer.decay_all = false;
        config.train.clip.value = 0.01;
        Bound bound(config);
        auto const n = bound.parameters();
        std::vector<PartUpdate> parts;
        for (PartUpdate::Range const range : {PartUpdate::Range{0, 48}, PartUpdate::Range{48, n - 48}})
            parts.emplace_back(config.train, bound.layout(), range, bound.state.bytes());
        auto const shard = rows_of(config);
        auto const held = source(shard);
        auto& training = *bound.trial->training;
        training.begin_pass(*held, unit(0, 0, 0), 9);
        for (std::int64_t step = 1; training.next_gradient({}, {}) > 0; ++step) {
            auto const gradient = training.gradient();
            for (auto& part : parts) {
                std::vector<float> own(gradient.begin() + static_cast<std::ptrdiff_t>(part.range().first),
                                       gradient.begin() +
                                           static_cast<std::ptrdiff_t>(part.range().first + part.range().size));
                part.update(own, config.train.optimizer.lr, step);
            }
            training.update(9);
        }
        for (auto const& part : parts)
            EXPECT_TRUE(std::ranges::equal(part.parameters(),
                                           std::span(bound.state.floats() + part.range().first, part.range().size)));
    }
}

}  // namespace lean_trial_test
}  // namespace hopscotch::testing
