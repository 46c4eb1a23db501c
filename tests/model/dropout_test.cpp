// SPDX-License-Identifier: Apache-2.0
// Dropout on a single row, where the mask can be read off the update: a dropped unit moves nothing, a kept one moves what
// the chain rule says with its output doubled (p = 1/2).
#include <gtest/gtest.h>

#include <cmath>

#include "fixture.hpp"

namespace hopscotch::testing {
namespace dropout_test {

constexpr std::size_t k_hidden = 64;
constexpr std::size_t k_outputs = 3;

struct Parts {  // views into a state of a 1-64-3 network
    float *in_weight, *in_bias, *out_weight, *out_bias;

    Parts(AlignedBlock& state, StateLayout const& layout) {
        auto const at = [&](char const* name) { return state.floats() + layout.find(name).offset / sizeof(float); };
        in_weight = at("layers.0.weight");
        in_bias = at("layers.0.bias");
        out_weight = at("layers.1.weight");
        out_bias = at("layers.1.bias");
    }
};

TEST(Dropout, MasksAndScalesForwardAndBackward) {
    auto config = trial_config(
        "mlp",
        Json::object({{"hidden", Json(Json::Array{static_cast<int>(k_hidden)})}, {"activation", "tanh"}, {"dropout", 0.5}}));
    config.train.optimizer.lr = 1;
    Trial trial(config, plain_manifest({1}, static_cast<int>(k_outputs), 1, Task::classification));
    auto const shard = random_shard(trial.manifest, 1, 3);
    double const x = *reinterpret_cast<float const*>(shard.features.data());
    AlignedBlock before(trial->state->layout().bytes), after(trial->state->layout().bytes);
    trial->state->initialise(before.bytes(), 5, TrialId(0));
    trial->state->initialise(after.bytes(), 5, TrialId(0));
    trial->state->bind(after.bytes());
    trial->training->train_unit(*source(shard), unit(0, 0, 0), {});
    Parts const a(before, trial->state->layout()), b(after, trial->state->layout());

    std::size_t dropped = 0;
    for (std::size_t j = 0; j < k_hidden; ++j) {
        double const h = std::tanh(static_cast<double>(a.in_weight[j]) * x + static_cast<double>(a.in_bias[j]));
        bool const kept = b.in_bias[j] != a.in_bias[j];
        double const scale = kept ? 2 : 0;
        dropped += kept ? 0 : 1;
        double back = 0;
        for (std::size_t k = 0; k < k_outputs; ++k) {
            double const g = static_cast<double>(a.out_bias[k]) - static_cast<double>(b.out_bias[k]);
            auto const place = k * k_hidden + j;
            EXPECT_NEAR(a.out_weight[place] - b.out_weight[place], g * scale * h, 1e-5) << "unit " << j;
            back += g * static_cast<double>(a.out_weight[place]);
        }
        EXPECT_NEAR(a.in_bias[j] - b.in_bias[j], scale * (1 - h * h) * back, 1e-5) << "unit " << j;
    }
    EXPECT_GT(dropped, k_hidden / 4);
    EXPECT_LT(dropped, 3 * k_hidden / 4);
}

TEST(Dropout, IsOffInEvaluation) {
    auto const loss = [](double p) {
        Trial trial(trial_config("lenet", Json::object({{"dropout", p}})), digits(30));
        auto const shard = random_shard(trial.manifest, 30, 3);
        AlignedBlock state(trial->state->layout().bytes);
        trial->state->initialise(state.bytes(), 5, TrialId(0));
        trial->state->bind(state.bytes());
        Evaluation sums(trial.manifest.task, trial.manifest.outputs);
        trial->evaluation->evaluate(*source(shard), {0, 1}, sums);
        return sums.loss();
    };
    EXPECT_EQ(loss(0.0), loss(0.9));
}

}  // namespace dropout_test
}  // namespace hopscotch::testing
