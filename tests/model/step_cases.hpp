// SPDX-License-Identifier: Apache-2.0
// Trials that between them take every path through a step, for the tests of captured steps on a CPU and on a GPU.
#pragma once
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "core/byte_view.hpp"
#include "data/dataset/shard.hpp"
#include "model/fixture.hpp"
#include "model/state/state.hpp"
#include "model/trial/training_pass.hpp"
#include "model/trial/trial_state.hpp"

namespace hopscotch::testing {

struct Trained {
    std::uint64_t hash = 0;
    double loss = 0;
};

// Three epochs over two shards, whose last batches have 2 and 3 of 7 rows.
inline Trained trained(TrialConfig const& config, std::shared_ptr<Workspace> workspace = nullptr) {
    Trial trial(config, digits(61), std::move(workspace));
    auto const first = random_shard(trial.manifest, 30, 1), second = random_shard(trial.manifest, 31, 2);
    AlignedBlock state(trial->state->layout().bytes);
    trial->state->initialise(state.bytes(), 42, TrialId(3));
    Trained out;
    for (int epoch = 0; epoch < 3; ++epoch) {
        trial->state->bind(state.bytes());
        out.loss += trial->training->train_unit(*source(first), unit(3, epoch, 0), {}).loss;
        trial->state->bind(state.bytes());
        out.loss += trial->training->train_unit(*source(second), unit(3, epoch, 1), {}).loss;
    }
    out.hash = trial.hash(state);
    return out;
}

// Of a batch of 14 images of 3 x 64 x 64. rows: which ones, from 1 on.
inline std::vector<float> first_gradient(TrialConfig config, std::shared_ptr<Workspace> workspace, int rows = 1) {
    config.train.batch_size = 14;
    Trial trial(config, plain_manifest({3, 64, 64}, 4, 14, Task::classification), std::move(workspace));
    AlignedBlock state(trial->state->layout().bytes);
    trial->state->initialise(state.bytes(), 42, TrialId(3));
    trial->state->bind(state.bytes());
    auto const shard = source(random_shard(trial.manifest, 14, rows));
    trial->training->begin_pass(*shard, unit(3, 0, 0), 14);
    trial->training->next_gradient({}, {});
    auto const gradient = trial->training->gradient();
    return {gradient.begin(), gradient.end()};
}

// |found - expected| / |expected|
inline double relative_error(std::vector<float> const& found, std::vector<float> const& expected) {
    double error = 0, size = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        error += std::pow(double{found.at(i)} - expected[i], 2);
        size += std::pow(expected[i], 2);
    }
    return std::sqrt(error / size);
}

// Of two ways to a gradient, found(rows) and expected(rows), for the first of ten batches where it is at most 1e-4. Rounding
// may carry a value over the kink of a ReLU, on each kind of CPU another one, and then the gradient jumps; in half of the
// batches or more it does not.
template <class Found, class Expected>
double gradient_error(Found const& found, Expected const& expected) {
    double least = 1;
    for (int rows = 1; rows <= 10 && least > 1e-4; ++rows)
        least = std::min(least, relative_error(found(rows), expected(rows)));
    return least;
}

inline TrialConfig with_optimizer(std::string const& model, Json arguments, OptimizerKind kind) {
    auto config = trial_config(model, std::move(arguments));
    config.train.optimizer.kind = kind;
    config.train.optimizer.lr = 0.01;
    config.train.optimizer.weight_decay = 0.01;
    config.train.schedule = {.kind = ScheduleKind::cosine, .warmup_epochs = 0.5};
    return config;
}

inline std::vector<TrialConfig> cases() {
    auto const mlp = Json::object({{"hidden", Json(Json::Array{33, 17})}, {"dropout", 0.3}});
    std::vector<TrialConfig> out{with_optimizer("mlp", mlp, OptimizerKind::sgd),
                                 with_optimizer("mlp", Json::object({{"batch_norm", true}}), OptimizerKind::adam),
                                 with_optimizer("lenet", Json::object({{"dropout", 0.5}}), OptimizerKind::adamw),
                                 with_optimizer("logistic", Json(Json::Object{}), OptimizerKind::rmsprop),
                                 with_optimizer("logistic", Json(Json::Object{}), OptimizerKind::adagrad)};
    out[0].train.optimizer.momentum = 0.9;
    out[0].train.clip.norm = 0.5;
    out[1].train.ema = 0.9;
    out[2].train.accumulate = 2;
    out[2].train.clip.value = 0.01;
    out[3].train.arithmetic.precision = Precision::bf16;
    return out;
}

}  // namespace hopscotch::testing
