// SPDX-License-Identifier: Apache-2.0
// A trial through captured steps, on a CPU: the fake capturer keeps the work, and a replay does it again. A trial must train
// to the bits that it has without graphs, and what a replay does wrong must be found by the self-check and do no harm.
#include <gtest/gtest.h>

#include <ATen/ops/arange.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

#include "model/feed/workspace_impl.hpp"
#include "model/gpu/step_graphs.hpp"
#include "model/own_model.hpp"
#include "model/step/optimizer.hpp"
#include "model/step_cases.hpp"

namespace hopscotch::testing {
namespace step_graphs_test {

struct Watched {
    int warm_ups = 0, captures = 0, replays = 0;
    std::vector<std::string> said;
    std::function<void()> harm;  // after each replay
};

struct FakeGraph final : Graph {
    FakeGraph(Watched& watched, std::function<void()> work) : watched_(watched), work_(std::move(work)) {}
    void replay() override {
        ++watched_.replays;
        work_();
        if (watched_.harm) watched_.harm();
    }
    Watched& watched_;
    std::function<void()> work_;
};

struct FakeCapturer final : GraphCapturer {
    explicit FakeCapturer(Watched& watched) : watched_(watched) {}
    void warm_up(std::function<void()> const& work) override {
        ++watched_.warm_ups;
        work();
    }
    std::unique_ptr<Graph> capture(std::function<void()> const& work) override {
        ++watched_.captures;
        return std::make_unique<FakeGraph>(watched_, work);
    }
    Watched& watched_;
};

std::shared_ptr<Workspace> with_graphs(Watched& watched, Agreement agreement = Agreement::bits) {
    auto workspace = std::make_shared<Workspace>("cpu", 1);
    workspace->impl().graphs = std::make_unique<StepGraphs>(std::make_unique<FakeCapturer>(watched), agreement,
                                                            [&](std::string const& text) { watched.said.push_back(text); });
    return workspace;
}

TEST(StepGraphs, ACapturedTrialTrainsToTheSameBits) {
    for (auto const& config : cases()) {
        Watched watched;
        auto const expected = trained(config), found = trained(config, with_graphs(watched));
        EXPECT_EQ(found.hash, expected.hash) << config.model.name;
        EXPECT_EQ(found.loss, expected.loss) << config.model.name;
        EXPECT_GE(watched.captures, 2) << "gradients of full batches, updates";
        EXPECT_GT(watched.replays, 2 * watched.captures) << config.model.name;
        EXPECT_TRUE(watched.said.empty()) << watched.said.front();
    }
}

// Full batches and updates in the first unit; each of the last batches is too rare in three epochs.
TEST(StepGraphs, EveryNumberOfRowsIsWarmedUpForItself) {
    Watched watched;
    trained(trial_config("logistic"), with_graphs(watched));
    EXPECT_EQ(watched.captures, 2);
    EXPECT_EQ(watched.warm_ups, 3 + 3 + 2 * 3) << "gradients, updates, and three batches each of 2 and 3 rows";
}

TEST(StepGraphs, AReplayThatIsWrongIsFoundAndDoesNoHarm) {
    auto const config = cases()[1];
    auto const expected = trained(config);
    Watched watched;
    auto const workspace = with_graphs(watched);
    watched.harm = [&] { workspace->impl().gradient(8).add_(1e-3); };
    auto const found = trained(config, workspace);
    EXPECT_EQ(found.hash, expected.hash);
    EXPECT_EQ(found.loss, expected.loss);
    EXPECT_EQ(watched.replays, 2) << "one check each of gradients and updates";
    EXPECT_EQ(watched.said,
              (std::vector<std::string>{
                  "mlp trains without CUDA graphs (gradients: the first replay was wrong: the gradient differs)",
                  "mlp trains without CUDA graphs (updates: the first replay was wrong: the gradient differs)"}));
}

TEST(StepGraphs, AReplayThatThrowsDoesNoHarm) {
    auto const config = cases()[0];
    Watched watched;
    watched.harm = [] { throw Error("launch failed"); };
    EXPECT_EQ(trained(config, with_graphs(watched)).hash, trained(config).hash);
    ASSERT_EQ(watched.said.size(), 2U);
    EXPECT_NE(watched.said[0].find("launch failed"), std::string::npos);
}

// A graph that has frozen its seed repeats the masks of the step it was captured in.
TEST(StepGraphs, AFrozenSeedIsFound) {
    Watched watched;
    auto const workspace = std::make_shared<Workspace>("cpu", 1);
    struct Freezing final : GraphCapturer {
        Freezing(Watched& w, Workspace& s) : watched(w), workspace(s) {}
        void warm_up(std::function<void()> const& work) override { work(); }
        std::unique_ptr<Graph> capture(std::function<void()> const& work) override {
            auto const seed = workspace.impl().noise.key();
            return std::make_unique<FakeGraph>(watched, [this, seed, work] {
                workspace.impl().noise.seed(seed);
                work();
            });
        }
        Watched& watched;
        Workspace& workspace;
    };
    workspace->impl().graphs = std::make_unique<StepGraphs>(std::make_unique<Freezing>(watched, *workspace), Agreement::bits,
                                                            [&](std::string const& text) { watched.said.push_back(text); });
    EXPECT_EQ(trained(cases()[0], workspace).hash, trained(cases()[0]).hash);
    ASSERT_EQ(watched.said.size(), 1U);
    EXPECT_EQ(watched.said[0],
              "mlp trains without CUDA graphs (gradients: the first replay was wrong: the gradient differs)");
}

TEST(StepGraphs, RoundingMayDifferWhereAtomicsAreAllowed) {
    Watched watched;
    auto const workspace = with_graphs(watched, Agreement::rounding);
    watched.harm = [&] { workspace->impl().gradient(8).mul_(1 + 1e-6); };
    trained(cases()[0], workspace);
    EXPECT_TRUE(watched.said.empty());
    watched.harm = [&] { workspace->impl().gradient(8).add_(1.0); };
    trained(cases()[2], workspace);
    EXPECT_FALSE(watched.said.empty());
}

TEST(StepGraphs, ModelsThatTakeTurnsKeepTheirGraphs) {
    Watched watched;
    auto const workspace = with_graphs(watched);
    Trial a(trial_config("logistic"), digits(28), workspace), b(trial_config("lenet"), digits(28), workspace);
    auto const shard = random_shard(a.manifest, 28, 1);
    AlignedBlock of_a(a->state->layout().bytes), of_b(b->state->layout().bytes);
    a->state->initialise(of_a.bytes(), 42, TrialId(0));
    b->state->initialise(of_b.bytes(), 42, TrialId(1));
    auto const train = [&](Trial& trial, AlignedBlock& state, int epoch) {
        trial->state->bind(state.bytes());
        trial->training->train_unit(*source(shard), unit(0, epoch, 0), {});
        return watched.captures;
    };
    EXPECT_EQ(train(a, of_a, 0), 2);
    EXPECT_EQ(train(b, of_b, 0), 4) << "its gradient needs a larger buffer";
    train(a, of_a, 1);
    EXPECT_EQ(train(a, of_a, 2), 6) << "so the first one's has moved";
    EXPECT_EQ(train(b, of_b, 1), 6);
    EXPECT_EQ(train(a, of_a, 3), 6);
}

TEST(StepGraphs, AModelThatIsGoneLeavesNoGraph) {
    Watched watched;
    auto const workspace = with_graphs(watched);
    trained(cases()[0], workspace);
    EXPECT_EQ(watched.captures, 2);
    EXPECT_EQ(workspace->impl().graphs->cache.graphs(), 0U);
}

TEST(StepGraphs, OwnModelsAndHooksAndSumsDoWithout) {
    Watched watched;
    auto const workspace = with_graphs(watched);
    trained(example(), workspace);
    auto const config = with_optimizer("mlp", Json::object({{"batch_norm", true}}), OptimizerKind::sgd);
    Trial trial(config, digits(30), workspace);
    auto const shard = source(random_shard(trial.manifest, 30, 1));
    AlignedBlock state(trial->state->layout().bytes);
    trial->state->initialise(state.bytes(), 42, TrialId(0));
    trial->state->bind(state.bytes());
    trial->training->begin_pass(*shard, unit(0, 0, 0), 7);
    GradientReady const ready = [](std::size_t, std::size_t) {};
    trial->training->next_gradient(ready, {});
    trial->training->sum_with([](std::span<double>) {});
    trial->training->next_gradient({}, {});
    EXPECT_EQ(watched.captures, 0);
    EXPECT_EQ(watched.said,
              (std::vector<std::string>{
                  "plugin trains without CUDA graphs (a network of your own may compute on the host between kernels)",
                  "mlp trains without CUDA graphs (gradients are handed over while others are computed)",
                  "mlp trains without CUDA graphs (batch norm adds up over the trainers on the host)"}));
}

// The learning rate in memory of the device: the same kernels, and for the two without one the same to rounding.
TEST(Optimizer, ALearningRateInMemoryDoesTheSame) {
    for (auto const kind :
         {OptimizerKind::sgd, OptimizerKind::adam, OptimizerKind::adamw, OptimizerKind::rmsprop, OptimizerKind::adagrad})
        for (double const momentum : {0.0, 0.9}) {
            OptimizerConfig config;
            config.kind = kind;
            config.weight_decay = 0.01;
            config.lr_decay = 0.1;
            config.momentum = momentum;
            config.centered = kind == OptimizerKind::rmsprop;
            auto const run = [&](Optimizer::Rate rate) {
                auto const parameters = at::arange(1, 65, at::TensorOptions(at::kFloat)).div_(64);
                auto const gradient = parameters.sin().sub_(0.4);
                std::vector<at::Tensor> slots;
                for (int i = 0; i < 3; ++i) slots.push_back(at::zeros({64}, at::TensorOptions(at::kFloat)));
                if (kind == OptimizerKind::sgd) slots.resize(momentum == 0 ? 0 : 1);
                Optimizer optimizer(config, at::kCPU, rate);
                optimizer.bind(parameters, gradient, slots, 48);
                for (int step = 1; step <= 5; ++step) optimizer.update(0.125 / step, step);
                return parameters;
            };
            auto const expected = run(Optimizer::Rate::argument), found = run(Optimizer::Rate::on_device);
            EXPECT_LT(expected.sub(found).abs().max().item<double>(), 1e-6) << static_cast<int>(kind) << " " << momentum;
            EXPECT_GT(expected.sub(found.mul(0)).abs().max().item<double>(), 0.1);
        }
}

}  // namespace step_graphs_test
}  // namespace hopscotch::testing
