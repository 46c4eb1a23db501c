// SPDX-License-Identifier: Apache-2.0
// The networks for sequences, tokens and tables with categories, and the vision transformer.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "fixture.hpp"

namespace hopscotch::testing {
namespace zoo_sequence_test {

Manifest with_categories(Manifest manifest, std::vector<std::int64_t> categories) {
    manifest.categories = std::move(categories);
    return manifest;
}

Manifest language(std::int64_t tokens, std::int64_t vocabulary) {
    return with_categories(plain_manifest({tokens}, vocabulary, 20, Task::language), {vocabulary});
}

Manifest words(std::int64_t tokens, std::int64_t vocabulary) {
    return with_categories(plain_manifest({tokens}, 3, 20, Task::classification), {vocabulary});
}

Manifest table() { return with_categories(plain_manifest({5}, 3, 20, Task::classification), {4, 0, 9, 0, 2}); }

Json arguments(char const* text) { return parse_json_or_throw(text, "arguments"); }

// Small ones of every kind, with dropout wherever there is one.
struct Case {
    char const *what, *model, *arguments;
    Manifest manifest;
};

std::vector<Case> cases() {
    return {{"vit", "vit", R"({"patch": 4, "width": 16, "depth": 2, "heads": 2, "mlp": 24, "dropout": 0.1})",
             plain_manifest({2, 8, 12}, 3, 20, Task::classification)},
            {"gpt", "gpt", R"({"layers": 2, "width": 16, "heads": 2, "dropout": 0.1})", language(6, 11)},
            {"lstm of numbers", "lstm", R"({"hidden": 12, "layers": 2, "dropout": 0.3, "bidirectional": true})",
             plain_manifest({7, 3}, 2, 20, Task::regression)},
            {"lstm of tokens", "lstm", R"({"hidden": 12, "layers": 2, "embedding": 5, "dropout": 0.3})", words(6, 9)},
            {"wide_and_deep", "wide_and_deep", R"({"embedding": 3, "hidden": [8, 6], "dropout": 0.2})", table()},
            {"wide_and_deep of categories", "wide_and_deep", R"({"embedding": 3, "hidden": [8]})", words(4, 6)}};
}

TrialConfig config_of(Case const& c) {
    auto config = trial_config(c.model, arguments(c.arguments));
    if (c.manifest.task == Task::regression) config.train.loss = LossKind::mse;
    return config;
}

// Rows of the right kind: categories where the manifest has them.
Shard fitting_shard(Manifest const& manifest, std::uint64_t seed) {
    auto shard = random_shard(manifest, 20, seed);
    auto* const x = reinterpret_cast<float*>(shard.features.own().data());
    auto const width = manifest.row_size();
    auto const& categories = manifest.categories;
    Rng rng(seed + 1);
    for (std::int64_t i = 0; i < 20 * width && !categories.empty(); ++i) {
        auto const n = categories.size() == 1 ? categories[0] : categories[static_cast<std::size_t>(i % width)];
        if (n > 0) x[i] = static_cast<float>(rng.below(static_cast<std::uint32_t>(n)));
    }
    return shard;
}

struct Run {
    std::uint64_t hash = 0;
    std::vector<double> losses;
    std::vector<float> outputs;
};

// All from the start: nothing but the configuration may decide the bits, not even the address of the state.
Run run(TrialConfig const& config, Manifest const& manifest, int epochs, std::size_t shift = 0) {
    Trial trial(config, manifest);
    auto const shard = fitting_shard(manifest, 5);
    AlignedBlock state(trial->state->layout().bytes, shift);
    trial->state->initialise(state.bytes(), 1, TrialId(0));
    trial->state->bind(state.bytes());
    Run out;
    for (int e = 0; e < epochs; ++e)
        out.losses.push_back(trial->training->train_unit(*source(shard), unit(0, e, 0), {}).loss / 20);
    EXPECT_TRUE(trial->state->finite());
    out.hash = trial.hash(state);
    out.outputs = trial->evaluation->predict(*source(shard), {0, trial->evaluation->evaluation_batches(20)});
    EXPECT_EQ(trial->evaluation->predict(*source(shard), {0, trial->evaluation->evaluation_batches(20)}), out.outputs)
        << "evaluated twice";
    EXPECT_EQ(trial.hash(state), out.hash) << "evaluation changes the state";
    return out;
}

std::int64_t parameters_of(TrialConfig const& config, Manifest const& manifest, std::string const& prefix = "") {
    Trial trial(config, manifest);
    std::int64_t count = 0;
    for (auto const& tensor : trial->state->layout().tensors)
        if (tensor.block == Block::parameter && tensor.name.starts_with(prefix))
            count += static_cast<std::int64_t>(tensor.bytes / sizeof(float));
    return count;
}

std::string parameters_text(TrialConfig const& config, Manifest const& manifest) {
    Trial trial(config, manifest);
    std::string text;
    for (auto const& tensor : trial->state->layout().tensors) {
        if (tensor.block != Block::parameter) continue;
        text += tensor.name;
        for (auto const side : tensor.shape) text += " " + std::to_string(side);
        text += "\n";
    }
    return text;
}

TEST(Sequence, BitsDependOnNothingButTheConfiguration) {
    for (auto const& c : cases()) {
        SCOPED_TRACE(c.what);
        auto const first = run(config_of(c), c.manifest, 2);
        auto const again = run(config_of(c), c.manifest, 2, 64);
        EXPECT_EQ(first.hash, again.hash);
        EXPECT_EQ(first.losses, again.losses);
        EXPECT_EQ(first.outputs, again.outputs);
    }
}

TEST(Sequence, LearnsATinySet) {
    for (auto const& c : cases()) {
        SCOPED_TRACE(c.what);
        auto config = config_of(c);
        config.train.optimizer.kind = OptimizerKind::adam;
        config.train.optimizer.lr = 0.02;
        auto const losses = run(config, c.manifest, 40).losses;
        // A row of random tokens can only be learned by heart, and only slowly.
        EXPECT_LT(losses.back(), (c.manifest.task == Task::language ? 0.8 : 0.5) * losses.front());
    }
}

TEST(Sequence, EveryParameterIsTrained) {
    for (auto const& c : cases()) {
        Trial trial(config_of(c), c.manifest);
        auto const shard = fitting_shard(trial.manifest, 5);
        AlignedBlock before(trial->state->layout().bytes), state(trial->state->layout().bytes);
        trial->state->initialise(before.bytes(), 1, TrialId(0));
        trial->state->initialise(state.bytes(), 1, TrialId(0));
        trial->state->bind(state.bytes());
        trial->training->train_unit(*source(shard), unit(0, 0, 0), {});
        for (auto const& tensor : trial->state->layout().tensors) {
            if (tensor.block != Block::parameter) continue;
            auto const at = tensor.offset / sizeof(float);
            EXPECT_NE(std::memcmp(before.floats() + at, state.floats() + at, tensor.bytes), 0)
                << c.what << " " << tensor.name;
        }
    }
}

TEST(Sequence, DropoutIsForTrainingOnly) {
    for (auto const& c : cases()) {
        if (std::string(c.arguments).find("dropout") == std::string::npos) continue;
        auto const with = config_of(c);
        auto without = with;
        without.model.arguments.set("dropout", 0.0);
        EXPECT_EQ(run(with, c.manifest, 0).outputs, run(without, c.manifest, 0).outputs) << c.what;
        EXPECT_NE(run(with, c.manifest, 1).hash, run(without, c.manifest, 1).hash) << c.what;
    }
}

TEST(Sequence, TrainsInBf16) {
    for (auto const& c : cases()) {
        SCOPED_TRACE(c.what);
        auto config = config_of(c);
        config.model.arguments.set("dropout", 0.0);
        auto const exact = run(config, c.manifest, 1).losses.front();
        config.train.arithmetic.precision = Precision::bf16;
        EXPECT_NEAR(run(config, c.manifest, 1).losses.front(), exact, 0.05 * exact);
    }
}

TEST(Vit, HasTheParametersOfTorchvision) {
    auto const imagenet = plain_manifest({3, 224, 224}, 1000, 20, Task::classification);
    auto const b_16 = trial_config("vit", arguments(R"({"preset": "b_16"})"));
    EXPECT_EQ(parameters_of(b_16, imagenet), 86567656);
    EXPECT_NEAR(flops_per_row(b_16, schema_of(imagenet)) / 6e9, 17.564, 0.001);
    EXPECT_EQ(parameters_of(trial_config("vit"), imagenet), 5717416);  // DeiT-Ti and DeiT-S (Touvron et al. 2021)
    EXPECT_EQ(parameters_of(trial_config("vit", arguments(R"({"preset": "small"})")), imagenet), 22050664);
    auto const tiny = trial_config("vit", arguments(R"({"patch": 4, "width": 16, "depth": 1, "heads": 2, "mlp": 24})"));
    EXPECT_EQ(parameters_text(tiny, plain_manifest({2, 8, 12}, 3, 20, Task::classification)),
              "class_token 1 1 16\nconv_proj.weight 16 2 4 4\nconv_proj.bias 16\nencoder.pos_embedding 1 7 16\n"
              "encoder.layers.encoder_layer_0.ln_1.weight 16\nencoder.layers.encoder_layer_0.ln_1.bias 16\n"
              "encoder.layers.encoder_layer_0.self_attention.in_proj_weight 48 16\n"
              "encoder.layers.encoder_layer_0.self_attention.in_proj_bias 48\n"
              "encoder.layers.encoder_layer_0.self_attention.out_proj.weight 16 16\n"
              "encoder.layers.encoder_layer_0.self_attention.out_proj.bias 16\n"
              "encoder.layers.encoder_layer_0.ln_2.weight 16\nencoder.layers.encoder_layer_0.ln_2.bias 16\n"
              "encoder.layers.encoder_layer_0.mlp.0.weight 24 16\nencoder.layers.encoder_layer_0.mlp.0.bias 24\n"
              "encoder.layers.encoder_layer_0.mlp.3.weight 16 24\nencoder.layers.encoder_layer_0.mlp.3.bias 16\n"
              "encoder.ln.weight 16\nencoder.ln.bias 16\nheads.head.weight 3 16\nheads.head.bias 3\n");
}

TEST(Gpt, HasTheParametersOfHuggingFaces) {
    auto const small = trial_config("gpt", arguments(R"({"layers": 12, "width": 768, "heads": 12})"));
    EXPECT_EQ(parameters_of(small, language(1024, 50257)), 124439808);
    EXPECT_EQ(parameters_text(trial_config("gpt", arguments(R"({"layers": 1, "width": 8, "heads": 2})")), language(6, 11)),
              "transformer.wte.weight 11 8\ntransformer.wpe.weight 6 8\n"
              "transformer.h.0.ln_1.weight 8\ntransformer.h.0.ln_1.bias 8\n"
              "transformer.h.0.attn.c_attn.weight 8 24\ntransformer.h.0.attn.c_attn.bias 24\n"
              "transformer.h.0.attn.c_proj.weight 8 8\ntransformer.h.0.attn.c_proj.bias 8\n"
              "transformer.h.0.ln_2.weight 8\ntransformer.h.0.ln_2.bias 8\n"
              "transformer.h.0.mlp.c_fc.weight 8 32\ntransformer.h.0.mlp.c_fc.bias 32\n"
              "transformer.h.0.mlp.c_proj.weight 32 8\ntransformer.h.0.mlp.c_proj.bias 8\n"
              "transformer.ln_f.weight 8\ntransformer.ln_f.bias 8\n");
}

TEST(Gpt, StartsAsGpt2Does) {
    Trial trial(trial_config("gpt", arguments(R"({"layers": 8, "width": 64})")), language(6, 11));
    AlignedBlock state(trial->state->layout().bytes);
    trial->state->initialise(state.bytes(), 1, TrialId(0));
    auto const deviation = [&](std::string const& name) {
        auto const& tensor = trial->state->layout().find(name);
        auto const n = tensor.bytes / sizeof(float);
        double squares = 0;
        for (std::size_t i = 0; i < n; ++i) squares += std::pow(state.floats()[tensor.offset / sizeof(float) + i], 2);
        return std::sqrt(squares / static_cast<double>(n));
    };
    EXPECT_NEAR(deviation("transformer.h.7.attn.c_attn.weight"), 0.02, 0.001);
    EXPECT_NEAR(deviation("transformer.h.7.attn.c_proj.weight"), 0.005, 0.0003);
    EXPECT_NEAR(deviation("transformer.h.7.mlp.c_proj.weight"), 0.005, 0.0003);
}

// Equal outputs rank by their index, and a NaN hits nothing, as with classes.
TEST(Gpt, TiedAndMissingOutputsAreNoHits) {
    Trial trial(trial_config("gpt"), language(6, 11));
    auto const shard = fitting_shard(trial.manifest, 5);
    auto const score = [&](float weight) {
        AlignedBlock state(trial->state->layout().bytes);
        trial->state->initialise(state.bytes(), 1, TrialId(0));
        for (auto const& tensor : trial->state->layout().tensors)
            if (tensor.block == Block::parameter)
                std::fill_n(state.floats() + tensor.offset / sizeof(float), tensor.bytes / sizeof(float), weight);
        trial->state->bind(state.bytes());
        Evaluation sums(Task::language, 11);
        trial->evaluation->evaluate(*source(shard), {0, 1}, sums);
        return sums;
    };
    double zeros = 0, below_five = 0;  // among the answers: every token but a row's first, and the label
    auto const* token = reinterpret_cast<float const*>(shard.features.data());
    for (std::size_t row = 0; row < shard.labels.size(); ++row)
        for (std::size_t t = 1; t <= 6; ++t) {
            auto const answer = t < 6 ? token[row * 6 + t] : static_cast<float>(shard.labels[row]);
            zeros += answer == 0 ? 1 : 0;
            below_five += answer < 5 ? 1 : 0;
        }
    ASSERT_GT(zeros, 0);
    EXPECT_NEAR(score(0).correct(), zeros / 6, 1e-9);
    EXPECT_NEAR(score(0).top5(), below_five / 6, 1e-9);
    EXPECT_EQ(score(std::numeric_limits<float>::quiet_NaN()).correct(), 0);
}

TEST(Gpt, DoesNotLookAhead) {
    Trial trial(trial_config("gpt"), language(6, 11));
    AlignedBlock state(trial->state->layout().bytes);
    trial->state->initialise(state.bytes(), 1, TrialId(0));
    trial->state->bind(state.bytes());
    auto shard = fitting_shard(trial.manifest, 5);
    auto const before = trial->evaluation->predict(*source(shard), {0, 1});
    auto& fourth = reinterpret_cast<float*>(shard.features.own().data())[3];
    fourth = fourth == 0 ? 1 : 0;
    auto const after = trial->evaluation->predict(*source(shard), {0, 1});
    ASSERT_EQ(before.size(), 20U * 6 * 11);
    EXPECT_TRUE(std::equal(before.begin(), before.begin() + 3 * 11, after.begin())) << "tokens 0..2";
    for (std::ptrdiff_t t = 3; t < 6; ++t)
        EXPECT_FALSE(std::equal(before.begin() + t * 11, before.begin() + (t + 1) * 11, after.begin() + t * 11)) << t;
    EXPECT_TRUE(std::equal(before.begin() + 66, before.end(), after.begin() + 66)) << "the other rows";
}

TEST(Lstm, HasTheParametersOfTorch) {
    auto const deep = trial_config("lstm", arguments(R"({"hidden": 256, "layers": 2})"));
    EXPECT_EQ(parameters_of(deep, plain_manifest({10, 128}, 3, 20, Task::classification), "lstm."), 921600);
    auto const both_ways = trial_config("lstm", arguments(R"({"hidden": 4, "embedding": 5, "bidirectional": true})"));
    EXPECT_EQ(parameters_text(both_ways, words(6, 9)),
              "embedding.weight 9 5\n"
              "lstm.weight_ih_l0 16 5\nlstm.weight_hh_l0 16 4\nlstm.bias_ih_l0 16\nlstm.bias_hh_l0 16\n"
              "lstm.weight_ih_l0_reverse 16 5\nlstm.weight_hh_l0_reverse 16 4\nlstm.bias_ih_l0_reverse 16\n"
              "lstm.bias_hh_l0_reverse 16\nfc.weight 3 8\nfc.bias 3\n");
    EXPECT_EQ(flops_per_row(trial_config("lstm", arguments(R"({"hidden": 4, "layers": 2})")),
                            schema_of(plain_manifest({10, 3}, 2, 20, Task::classification))),
              6.0 * (10 * 16 * (3 + 4) + 10 * 16 * (4 + 4) + 8));
}

TEST(WideAndDeep, HasATablePerCategory) {
    EXPECT_EQ(parameters_text(trial_config("wide_and_deep", arguments(R"({"embedding": 3, "hidden": [8]})")), table()),
              "wide.weight 15 3\nwide.numeric.weight 3 2\nwide.bias 3\nembedding.weight 15 3\n"
              "deep.0.weight 8 11\ndeep.0.bias 8\ndeep.1.weight 3 8\ndeep.1.bias 3\n");
}

void expect_complaint(char const* model, char const* text, Manifest const& manifest, std::string const& expected) {
    Problems problems("x.json");
    check_model(trial_config(model, arguments(text)).model, schema_of(manifest), problems);
    EXPECT_NE(problems.text().find(expected), std::string::npos) << "expected: " << expected << "\ngot: " << problems.text();
}

TEST(Check, SaysWhatDoesNotFit) {
    auto const images = digits(10);
    expect_complaint("vit", "{}", images, "/model/patch: 16 does not divide the images' sides (they are 8x8)");
    expect_complaint("vit", R"({"patch": 4, "heads": 5})", images, "/model/heads: 5 does not divide the width 192");
    expect_complaint("vit", R"({"preset": "b16"})", images, "did you mean \"b_16\"?");
    expect_complaint("vit", R"({"patch": 0})", images, "/model/patch: must be at least 1 (got 0)");
    expect_complaint("vit", "{}", plain_manifest({64}, 10, 20, Task::classification), "/model/name: vit needs images");
    expect_complaint("gpt", "{}", words(6, 9), "/model/name: gpt needs a dataset of the task language (this");
    expect_complaint("gpt", R"({"width": 10})", language(6, 9), "/model/heads: 4 does not divide the width 10");
    expect_complaint("mlp", "{}", language(6, 9), "/model/name: mlp does not fit the dataset (its task is language)");
    expect_complaint("lstm", "{}", images, "/model/name: lstm needs rows of shape TxF");
    expect_complaint("lstm", "{}", table(), "/model/name: lstm needs rows of shape TxF");
    expect_complaint("lstm", R"({"hiden": 3})", words(6, 9), "did you mean \"hidden\"?");
    expect_complaint("wide_and_deep", "{}", images, "/model/name: wide_and_deep needs at least one categorical feature");
    expect_complaint("wide_and_deep", R"({"hidden": [0]})", table(), "/model/hidden: must be at least 1 (got 0)");
}

}  // namespace zoo_sequence_test
}  // namespace hopscotch::testing
