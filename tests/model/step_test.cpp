// SPDX-License-Identifier: Apache-2.0
// The step against a slow, obvious reference: a network, its gradient and torch.optim's rules written out in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "fixture.hpp"
#include "reference_mlp.hpp"

namespace hopscotch::testing {
namespace step_test {

struct OptimizerCase {
    char const* name;
    OptimizerConfig config;
};

std::vector<OptimizerCase> optimizers() {
    OptimizerConfig sgd;
    sgd.lr = 0.05;
    sgd.weight_decay = 0.01;
    auto momentum = sgd;
    momentum.momentum = 0.9;
    auto nesterov = momentum;
    nesterov.nesterov = true;
    auto adam = sgd;
    adam.kind = OptimizerKind::adam;
    adam.lr = 0.01;
    adam.weight_decay = 0.1;
    auto adamw = adam;
    adamw.kind = OptimizerKind::adamw;
    return {{"sgd", sgd}, {"momentum", momentum}, {"nesterov", nesterov}, {"adam", adam}, {"adamw", adamw}};
}

struct Compared {
    double worst = 0;  // largest difference of a parameter, in units of the largest update
    double loss_error = 0;
};

// Three epochs of a unit, in C++ and in the reference, over the same order of rows.
Compared compare(TrialConfig const& config, Manifest const& manifest) {
    Trial trial(config, manifest);
    auto const shard = random_shard(trial.manifest, 24, 11);
    AlignedBlock state(trial->state->layout().bytes), start(trial->state->layout().bytes);
    trial->state->initialise(state.bytes(), 42, TrialId(0));
    trial->state->initialise(start.bytes(), 42, TrialId(0));
    trial->state->bind(state.bytes());
    ReferenceMlp reference(config, trial.manifest, trial->state->layout(), start.floats());
    Compared found;
    for (int epoch = 0; epoch < 3; ++epoch) {
        auto const sums = trial->training->train_unit(*source(shard), unit(0, epoch, 0), {});
        auto const expected = reference.train_unit(shard, unit(0, epoch, 0));
        EXPECT_EQ(sums.rows, 24);
        found.loss_error = std::max(found.loss_error, std::abs(sums.loss - expected) / expected);
    }
    double largest_update = 0, worst = 0;
    for (std::size_t i = 0; i < reference.parameters.size(); ++i) {
        auto const place = reference.places[i];
        worst = std::max(worst, std::abs(reference.parameters[i] - static_cast<double>(state.floats()[place])));
        largest_update =
            std::max(largest_update, std::abs(reference.parameters[i] - static_cast<double>(start.floats()[place])));
    }
    found.worst = worst / largest_update;
    return found;
}

TEST(Step, EqualsTheReferenceForEveryOptimizer) {
    for (auto const& optimizer : optimizers()) {
        auto config = trial_config("mlp", Json::object({{"hidden", Json(Json::Array{9, 6})}, {"activation", "tanh"}}));
        config.train.optimizer = optimizer.config;
        auto const found = compare(config, plain_manifest({5}, 4, 24, Task::classification));
        EXPECT_LT(found.worst, 1e-4) << optimizer.name;
        EXPECT_LT(found.loss_error, 1e-5) << optimizer.name;
    }
}

TEST(Step, EqualsTheReferenceForReluAndLogistic) {
    auto const relu = trial_config("mlp", Json::object({{"hidden", Json(Json::Array{9})}}));
    EXPECT_LT(compare(relu, plain_manifest({5}, 4, 24, Task::classification)).worst, 1e-4);
    EXPECT_LT(compare(trial_config("logistic"), plain_manifest({5}, 4, 24, Task::classification)).worst, 1e-4);
}

TEST(Step, EqualsTheReferenceForARegression) {
    auto config = trial_config("mlp", Json::object({{"hidden", Json(Json::Array{9})}}));
    config.train.loss = LossKind::mse;
    auto const found = compare(config, plain_manifest({5}, 3, 24, Task::regression));
    EXPECT_LT(found.worst, 1e-4);
    EXPECT_LT(found.loss_error, 1e-5);
}

TEST(Step, EqualsTheReferenceUnderASchedule) {
    auto config = trial_config("mlp", Json::object({{"hidden", Json(Json::Array{9})}}));
    config.train.epochs = 3;
    config.train.schedule = {.kind = ScheduleKind::cosine, .warmup_epochs = 1.0, .min_lr = 0.001};
    EXPECT_LT(compare(config, plain_manifest({5}, 4, 24, Task::classification)).worst, 1e-4);
}

// One step of plain SGD moves a parameter by -lr x its gradient, which finite differences of evaluate() must confirm.
TEST(Step, LenetGradientEqualsFiniteDifferences) {
    auto config = trial_config("lenet");
    config.train.batch_size = 16;
    config.train.optimizer.lr = 1.0;
    Trial trial(config, digits(16));
    auto const shard = random_shard(trial.manifest, 16, 3);
    AlignedBlock start(trial->state->layout().bytes), moved(trial->state->layout().bytes);
    trial->state->initialise(start.bytes(), 5, TrialId(0));
    trial->state->initialise(moved.bytes(), 5, TrialId(0));
    trial->state->bind(moved.bytes());
    auto const trained = trial->training->train_unit(*source(shard), unit(0, 0, 0), {});
    trial->state->bind(start.bytes());
    auto const loss = [&] {
        Evaluation sums(trial.manifest.task, trial.manifest.outputs);
        trial->evaluation->evaluate(*source(shard), {0, 1}, sums);
        return sums.loss() / 16;
    };
    EXPECT_NEAR(trained.loss / 16, loss(), 1e-5);
    for (auto const* name :
         {"conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias", "fc1.weight", "fc2.weight", "fc3.bias"}) {
        auto const& tensor = trial->state->layout().find(name);
        auto const first = tensor.offset / sizeof(float);
        std::size_t largest = first;  // the parameter with the largest gradient: least hidden by rounding
        for (auto i = first; i < first + tensor.bytes / sizeof(float); ++i)
            if (std::abs(moved.floats()[i] - start.floats()[i]) >
                std::abs(moved.floats()[largest] - start.floats()[largest]))
                largest = i;
        double const gradient = static_cast<double>(start.floats()[largest]) - static_cast<double>(moved.floats()[largest]);
        float const value = start.floats()[largest];
        float const h = 2e-3F;
        start.floats()[largest] = value + h;
        double const up = loss();
        start.floats()[largest] = value - h;
        double const down = loss();
        start.floats()[largest] = value;
        EXPECT_NEAR((up - down) / (2.0 * h), gradient, 0.03 * std::abs(gradient) + 1e-4) << name;
    }
}

// Two batches of equal rows in one unit do what two units of one such batch do: no gradient is left over.
TEST(Step, AGradientDoesNotAddToTheNextBatch) {
    for (auto const* model : {"mlp", "lenet"}) {
        Trial trial(trial_config(model), digits(14));
        auto const trained = [&](std::int64_t rows, int units) {
            auto shard = random_shard(trial.manifest, rows, 3);
            auto const bytes = shard.features.size() / static_cast<std::size_t>(rows);
            for (std::size_t r = 1; r < shard.labels.size(); ++r) {
                std::memcpy(shard.features.own().data() + r * bytes, shard.features.data(), bytes);
                shard.labels[r] = shard.labels[0] = 1;
            }
            AlignedBlock state(trial->state->layout().bytes);
            trial->state->initialise(state.bytes(), 5, TrialId(0));
            trial->state->bind(state.bytes());
            for (int i = 0; i < units; ++i) trial->training->train_unit(*source(shard), unit(0, i, 0), {});
            return trial.hash(state);
        };
        EXPECT_EQ(trained(14, 1), trained(7, 2)) << model;
    }
}

TEST(Step, CountsStepsSamplesAndBatches) {
    auto config = trial_config("logistic");
    config.train.schedule.warmup_epochs = 2;
    Trial trial(config, digits(23));
    auto const shard = random_shard(trial.manifest, 23, 3);
    AlignedBlock state(trial->state->layout().bytes);
    trial->state->initialise(state.bytes(), 5, TrialId(0));
    trial->state->bind(state.bytes());
    EXPECT_DOUBLE_EQ(trial->training->learning_rate(), 0.1 * 7 / 46);
    int batches_seen = 0;
    auto const sums = trial->training->train_unit(*source(shard), unit(0, 0, 0), [&] { ++batches_seen; });
    EXPECT_EQ(sums.rows, 23);  // 7 + 7 + 7 + 2
    EXPECT_EQ(batches_seen, 4);
    auto const counter = [&](char const* name) {
        return *reinterpret_cast<std::int64_t*>(state.bytes().data() + trial->state->layout().find(name).offset);
    };
    EXPECT_EQ(counter("steps"), 4);
    EXPECT_EQ(counter("samples"), 23);
    EXPECT_DOUBLE_EQ(trial->training->learning_rate(), 0.1 * 30 / 46);
}

TEST(Step, DroppedRowsAreNotCounted) {
    auto config = trial_config("logistic");
    config.data.last_batch = LastBatch::drop;
    Trial trial(config, digits(23));
    auto const shard = random_shard(trial.manifest, 23, 3);
    AlignedBlock state(trial->state->layout().bytes);
    trial->state->initialise(state.bytes(), 5, TrialId(0));
    trial->state->bind(state.bytes());
    EXPECT_EQ(trial->training->train_unit(*source(shard), unit(0, 0, 0), {}).rows, 21);
}

TEST(Step, ALearningRateThatIsFarTooHighIsSeenAsNotFinite) {
    auto config = trial_config("mlp");
    config.train.optimizer.lr = 1e6;
    Trial trial(config, digits(60));
    auto const shard = random_shard(trial.manifest, 60, 3);
    AlignedBlock state(trial->state->layout().bytes);
    trial->state->initialise(state.bytes(), 5, TrialId(0));
    trial->state->bind(state.bytes());
    for (int epoch = 0; epoch < 20; ++epoch) trial->training->train_unit(*source(shard), unit(0, epoch, 0), {});
    EXPECT_FALSE(trial->state->finite());
}

}  // namespace step_test
}  // namespace hopscotch::testing
