// SPDX-License-Identifier: Apache-2.0
// Weights and gradients of a GPU's steps, on a CPU: copies, what autograd leaves behind, and whole networks.
#include "tensor/step/leaves.hpp"

#include <ATen/Context.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "model/copies_on_host.hpp"
#include "model/step_cases.hpp"
#include "tensor/feed/workspace_impl.hpp"

namespace hopscotch::testing {
namespace leaves_test {

TEST(TensorCopy, SwapsTwoDimensionsAndChangesTheType) {
    for (std::int64_t const outer : {1, 3})
        for (std::int64_t const rows : {1, 2, 9})
            for (std::int64_t const columns : {1, 5, 16}) {
                auto const from = at::randn({outer, columns, rows});
                auto const to = at::empty({outer, rows, columns}, at::kBFloat16);
                HostCopyDevice const host;
                host.run(std::vector<TensorCopy>{{from.data_ptr(), to.data_ptr(), static_cast<std::uint32_t>(to.numel()),
                                                  static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(columns),
                                                  FloatType::float32, FloatType::bfloat16}});
                EXPECT_TRUE(to.equal(from.transpose(1, 2).to(at::kBFloat16))) << outer << " " << rows << " " << columns;
            }
}

struct ConvolutionBound {
    std::vector<ParameterSpec> specs{{"w", {4, 3, 3, 2}, {}}, {"b", {4}, {}}, {"unused", {5}, {}}, {"frozen", {2}, {}}};
    std::vector<bool> convolutions{true, false, false, false};
    at::Tensor flat = at::full({72 + 4 + 5}, 7.0);
    BoundTensors bound;

    ConvolutionBound() {
        bound.parameters = {at::randn({4, 3, 3, 2}), at::randn({4}), at::randn({5}), at::randn({2})};
        bound.gradients = {flat.narrow(0, 0, 72).view({4, 3, 3, 2}), flat.narrow(0, 72, 4), flat.narrow(0, 76, 5),
                           at::Tensor()};
    }
};

TEST(Leaves, HaveTheWeightsAndLeaveAllGradients) {
    at::manual_seed(1);
    for (auto const type : {at::kFloat, at::kBFloat16})
        for (bool const channels_last : {true, false}) {
            ConvolutionBound given;
            LeafOptions const options{given.convolutions, type, channels_last};
            auto const memory = at::zeros({Leaves::memory_floats(given.specs, options)});
            HostCopyDevice const host;
            Leaves leaves(host, given.bound, memory, options);
            auto const& parameters = leaves.tensors().parameters;
            ASSERT_EQ(parameters[0].scalar_type(), type);
            EXPECT_EQ(parameters[0].is_contiguous(at::MemoryFormat::ChannelsLast), channels_last);
            EXPECT_TRUE(parameters[1].is_same(given.bound.parameters[1]));
            leaves.bring_weights();
            EXPECT_TRUE(parameters[0].equal(given.bound.parameters[0].to(type)));
            for (auto const i : {0, 1, 2}) parameters[static_cast<std::size_t>(i)].requires_grad_();
            parameters[1].mutable_grad() = at::full({4}, 100.0);  // of a pass that failed
            leaves.forget_gradients();
            auto const x = at::randn({2, 3, 6, 5}).to(type).contiguous(at::MemoryFormat::ChannelsLast);
            auto const plain = given.bound.parameters[0].to(type).requires_grad_();
            at::conv2d(x, parameters[0]).mul(parameters[1].to(type).view({1, 4, 1, 1})).sum().backward();
            at::conv2d(x, plain).mul(parameters[1].detach().to(type).view({1, 4, 1, 1})).sum().backward();
            auto const bias_gradient = parameters[1].grad().clone();
            leaves.collect_gradients();
            auto const error = given.bound.gradients[0].sub(plain.grad().to(at::kFloat)).abs().max().item<float>();
            EXPECT_LE(error, (type == at::kFloat ? 1e-5F : 1e-1F) * plain.grad().abs().max().to(at::kFloat).item<float>());
            EXPECT_TRUE(given.bound.gradients[1].equal(bias_gradient));
            EXPECT_TRUE(given.bound.gradients[2].equal(at::zeros({5})));
            for (auto const& parameter : parameters) EXPECT_FALSE(parameter.grad().defined());
            EXPECT_EQ(host.runs, 2) << "weights and gradients";
        }
}

Trained trained_with(TrialConfig const& config, bool leaves) {
    auto const workspace = std::make_shared<Workspace>("cpu", 1);
    if (leaves) workspace->impl().gpu.copies = std::make_unique<HostCopyDevice>();
    return trained(config, workspace);
}

// Without convolutions nothing is computed otherwise, so not a bit differs.
TEST(Leaves, OtherNetworksKeepTheirBits) {
    for (auto const& config : cases()) {
        if (config.model.name == "lenet") continue;
        EXPECT_EQ(trained_with(config, true).hash, trained_with(config, false).hash) << config.model.name;
    }
}

// Weights in another layout may take another kernel. Batches of 30 rows: rounding decides little in batch norm.
TEST(Leaves, ConvolutionalNetworksTrainAsWithout) {
    auto const vit = Json::object({{"patch", 8}, {"depth", 2}, {"width", 16}, {"heads", 2}, {"dropout", 0.1}});
    for (auto const precision : {Precision::fp32, Precision::bf16})
        for (auto config : {cases()[2], with_optimizer("vit", vit, OptimizerKind::adamw),
                            with_optimizer("cnn", Json::object({{"channels", Json(Json::Array{4, 8})}}), OptimizerKind::sgd),
                            with_optimizer("resnet20", Json::object({{"width", 4}}), OptimizerKind::sgd)}) {
            config.train.arithmetic.precision = precision;
            config.train.batch_size = 30;
            config.train.ema = 0.9;
            auto const plain = trained_with(config, false), leaves = trained_with(config, true);
            EXPECT_NEAR(leaves.loss, plain.loss, (precision == Precision::fp32 ? 1e-2 : 5e-2) * plain.loss)
                << config.model.name;
            EXPECT_EQ(trained_with(config, true).hash, leaves.hash) << config.model.name;
        }
}

// Depthwise convolutions have one input channel: their two orders in memory look alike.
TEST(Leaves, GradientsOfDepthwiseConvolutionsAreThoseWithout) {
    auto const config = trial_config("mobilenet_v2", Json::object({{"width", 0.25}, {"dropout", 0}}));
    auto const with = std::make_shared<Workspace>("cpu", 1), without = std::make_shared<Workspace>("cpu", 1);
    with->impl().gpu.copies = std::make_unique<HostCopyDevice>();
    EXPECT_LE(gradient_error([&](int rows) { return first_gradient(config, with, rows); },
                             [&](int rows) { return first_gradient(config, without, rows); }),
              1e-4);
}

// Evaluation by the trained weights and by their averages, between and after training.
TEST(Leaves, EvaluationsSeeTheNewestWeights) {
    for (double const ema : {0.0, 0.5}) {
        auto config = with_optimizer("cnn", Json::object({{"channels", Json(Json::Array{4, 8})}}), OptimizerKind::sgd);
        config.train.ema = ema;
        config.train.optimizer.lr = 0.1;
        auto const predicted = [&](bool leaves) {
            auto const workspace = std::make_shared<Workspace>("cpu", 1);
            if (leaves) workspace->impl().gpu.copies = std::make_unique<HostCopyDevice>();
            Trial trial(config, digits(30), workspace);
            AlignedBlock state(trial->state->layout().bytes);
            trial->state->initialise(state.bytes(), 42, TrialId(3));
            trial->state->bind(state.bytes());
            auto const shard = source(random_shard(trial.manifest, 30, 1));
            auto out = trial->evaluation->predict(*shard, {0, 1});
            for (int epoch = 0; epoch < 2; ++epoch) {
                trial->training->train_unit(*shard, unit(3, epoch, 0), {});
                auto const more = trial->evaluation->predict(*shard, {0, 1});
                out.insert(out.end(), more.begin(), more.end());
            }
            return out;
        };
        auto const expected = predicted(false), found = predicted(true);
        ASSERT_EQ(found.size(), expected.size());
        for (std::size_t i = 0; i < found.size(); ++i)
            ASSERT_NEAR(found[i], expected[i], 1e-3 * (1 + std::abs(expected[i]))) << ema << " " << i;
    }
}

// Who sends gradients while others are computed gets them as before, and a unit without that goes back to leaves.
TEST(Leaves, GradientsThatAreReportedHaveTheirPlaces) {
    auto const config = trial_config("cnn", Json::object({{"channels", Json(Json::Array{4, 8})}}));
    auto const gradient_after = [&](bool leaves, bool reported) {
        auto const workspace = std::make_shared<Workspace>("cpu", 1);
        if (leaves) workspace->impl().gpu.copies = std::make_unique<HostCopyDevice>();
        Trial trial(config, digits(30), workspace);
        AlignedBlock state(trial->state->layout().bytes);
        trial->state->initialise(state.bytes(), 42, TrialId(3));
        auto const shard = source(random_shard(trial.manifest, 30, 1));
        std::vector<float> out;
        for (bool const with : {false, reported, false}) {
            trial->state->bind(state.bytes());
            trial->training->begin_pass(*shard, unit(3, 0, 0), 7);
            std::size_t told = 0;
            GradientReady const ready = [&](std::size_t first, std::size_t last) { told += last - first; };
            trial->training->next_gradient(with ? ready : GradientReady(), {});
            auto const gradient = trial->training->gradient();
            EXPECT_GE(told, with ? gradient.size() : 0U);
            out.insert(out.end(), gradient.begin(), gradient.end());
            while (trial->training->next_gradient({}, {}) > 0) {
            }
            trial->training->end_pass();
        }
        return out;
    };
    auto const expected = gradient_after(false, true), found = gradient_after(true, true);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i)
        ASSERT_NEAR(found[i], expected[i], 1e-4 * (1 + std::abs(expected[i]))) << i;
}

}  // namespace leaves_test
}  // namespace hopscotch::testing
