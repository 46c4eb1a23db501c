// SPDX-License-Identifier: Apache-2.0
// On a GPU: captured steps have the bits of steps that are launched kernel by kernel, the same in every training, and are
// close to a CPU's.
#include <gtest/gtest.h>

#include <ATen/ops/empty.h>

#include <cmath>
#include <map>
#include <thread>

#include "model/state/layout.hpp"
#include "model/step_cases.hpp"
#include "tensor/feed/workspace_impl.hpp"
#include "tensor/gpu/step_graphs.hpp"

namespace hopscotch::testing {
namespace gpu_step_test {

class GpuStep : public ::testing::Test {
protected:
    void SetUp() override {
        try {
            device_ = resolve_device("cuda", 0);
        } catch (ConfigError const& error) {
            GTEST_SKIP() << error.what();
        }
    }
    std::shared_ptr<Workspace> workspace(GpuMode mode) const {
        auto out = std::make_shared<Workspace>(device_, 1, mode);
        auto* const said = &said_;
        if (auto& graphs = out->impl().gpu.graphs)
            graphs->cache = GraphCache([said](std::string const& text) { said->push_back(text); });
        return out;
    }

    std::string device_;
    mutable std::vector<std::string> said_;
};

std::vector<TrialConfig> gpu_cases() {
    auto out = cases();
    out.push_back(with_optimizer("resnet20", Json::object({{"width", 4}}), OptimizerKind::sgd));
    out.push_back(with_optimizer("cnn", Json::object({{"channels", Json(Json::Array{4, 8})}}), OptimizerKind::adam));
    out.push_back(with_optimizer("vit",
                                 Json::object({{"patch", 4}, {"depth", 2}, {"width", 16}, {"heads", 2}, {"dropout", 0.1}}),
                                 OptimizerKind::adamw));
    return out;
}

TEST_F(GpuStep, CapturedStepsHaveTheBitsOfOthers) {
    for (auto const& config : gpu_cases()) {
        auto const expected = trained(config, workspace({.graphs = false}));
        for (int i = 0; i < 2; ++i) {
            auto const found = trained(config, workspace({}));
            EXPECT_EQ(found.hash, expected.hash) << config.model.name;
            EXPECT_EQ(found.loss, expected.loss) << config.model.name;
        }
        EXPECT_TRUE(said_.empty()) << said_.front();
    }
}

// Two units on 40 full batches of 7 rows and one of 3.
Trained long_units(TrialConfig const& config, std::shared_ptr<Workspace> const& workspace) {
    Trial trial(config, digits(283), workspace);
    auto const shard = source(random_shard(trial.manifest, 283, 1));
    AlignedBlock state(trial->state->layout().bytes);
    trial->state->initialise(state.bytes(), 42, TrialId(3));
    Trained out;
    for (int epoch = 0; epoch < 2; ++epoch) {
        trial->state->bind(state.bytes());
        out.loss += trial->training->train_unit(*shard, unit(3, epoch, 0), {}).loss;
    }
    out.hash = trial.hash(state);
    return out;
}

TEST_F(GpuStep, SeveralStepsAtOnceHaveTheBitsOfOthers) {
    for (auto const& config : gpu_cases()) {
        auto const expected = long_units(config, workspace({.graphs = false})), found = long_units(config, workspace({}));
        EXPECT_EQ(found.hash, expected.hash) << config.model.name;
        EXPECT_EQ(found.loss, expected.loss) << config.model.name;
        EXPECT_TRUE(said_.empty()) << said_.front();
    }
}

// Trials that differ in their learning rate share graphs: one step, several steps at once, and from its fourth time on,
// which the second trial brings, the last batch of 3 rows.
TEST_F(GpuStep, TrialsOfOneStructureShareTheirGraphs) {
    auto const shared = workspace({});
    std::map<double, std::size_t> const graphs{{0.01, 2}, {0.03, 3}, {0.1, 3}};
    for (auto const& [lr, expected] : graphs) {
        auto config = trial_config("lenet");
        config.train.optimizer.lr = lr;
        EXPECT_EQ(long_units(config, shared).hash, long_units(config, workspace({.graphs = false})).hash) << lr;
        EXPECT_EQ(shared->impl().gpu.graphs->cache.graphs(), expected) << lr;
    }
    EXPECT_TRUE(said_.empty()) << said_.front();
}

// Two trainers of one process, each with a stream of its own.
TEST_F(GpuStep, TrainersBesideEachOtherHaveTheBitsOfOneByItself) {
    auto const config = gpu_cases().front();
    auto const expected = long_units(config, workspace({}));
    std::vector<Trained> found(2);
    {
        std::vector<std::jthread> trainers;
        for (auto& each : found)
            trainers.emplace_back([&each, &config, own = workspace({})] { each = long_units(config, own); });
    }
    for (auto const& each : found) EXPECT_EQ(each.hash, expected.hash);
    EXPECT_TRUE(said_.empty()) << said_.front();
}

TEST_F(GpuStep, FastModeCapturesToo) {
    for (auto const& config : gpu_cases())
        EXPECT_TRUE(std::isfinite(trained(config, workspace({.deterministic = false})).loss));
    EXPECT_TRUE(said_.empty()) << said_.front();
}

TEST_F(GpuStep, IsCloseToACpu) {
    for (auto config : gpu_cases()) {
        if (config.model.arguments.find("dropout") != nullptr) continue;  // other generators
        if (config.train.arithmetic.precision == Precision::bf16) continue;
        auto const cpu = trained(config).loss, gpu = trained(config, workspace({})).loss;
        EXPECT_NEAR(gpu, cpu, 1e-2 * cpu) << config.model.name;
    }
}

// Two models in one workspace, which share its block of the device.
TEST_F(GpuStep, ModelsTakeTurns) {
    auto const shared = workspace({});
    auto const config = trial_config("lenet");
    auto const alone = trained(config, workspace({}));
    Trial other(trial_config("mlp"), digits(61), shared);
    AlignedBlock state(other->state->layout().bytes);
    other->state->initialise(state.bytes(), 42, TrialId(0));
    other->state->bind(state.bytes());
    EXPECT_EQ(trained(config, shared).hash, alone.hash);
    auto const before = other.hash(state);
    auto const shard = source(random_shard(other.manifest, 30, 1));
    Evaluation sums(other.manifest.task, other.manifest.outputs);
    other->evaluation->evaluate(*shard, {0, 1}, sums);  // without a new bind
    EXPECT_EQ(other.hash(state), before);
    EXPECT_NEAR(sums.loss() / 30, std::log(10), 1);
}

TEST_F(GpuStep, AStateThatIsNotFiniteIsSeen) {
    auto config = trial_config("resnet18", Json::object({{"stem", Json("cifar")}, {"width", Json(4)}}));
    for (auto const lr : {1e-3, 1e30}) {
        config.train.optimizer.lr = lr;
        Trial trial(config, plain_manifest({3, 32, 32}, 10, 60, Task::classification), workspace({}));
        AlignedBlock state(trial->state->layout().bytes);
        trial->state->initialise(state.bytes(), 42, TrialId(0));
        trial->state->bind(state.bytes());
        auto const shard = source(random_shard(trial.manifest, 60, 1));
        trial->training->train_unit(*shard, unit(0, 0, 0), {});
        EXPECT_EQ(trial->state->finite(), all_finite(state.bytes(), trial->state->layout())) << lr;
        EXPECT_EQ(trial->state->finite(), lr < 1) << lr;
    }
}

// What is left beside the ballast is too little for a batch; without it, it is enough, and what it took is known from then
// on.
TEST_F(GpuStep, ABatchThatDoesNotFitFailsWithNumbers) {
    auto const shared = workspace({});
    auto config = with_optimizer("resnet18", Json::object({{"stem", "cifar"}}), OptimizerKind::sgd);
    config.train.batch_size = 1024;
    Trial trial(config, plain_manifest({3, 32, 32}, 10, 1024, Task::classification), shared);
    auto const shard = source(random_shard(trial.manifest, 1024, 1));
    AlignedBlock state(trial->state->layout().bytes);
    trial->state->initialise(state.bytes(), 42, TrialId(0));
    trial->state->bind(state.bytes());
    {
        auto const bytes = device_memory(device_)->free - (std::int64_t{1} << 31);
        auto const ballast = at::empty({bytes}, at::TensorOptions(at::Device(device_)).dtype(at::kByte));
        try {
            trial->training->train_unit(*shard, unit(0, 0, 0), {});
            FAIL() << "2 GB are enough for 1024 rows of ResNet-18";
        } catch (DoesNotFit const& error) {
            EXPECT_NE(std::string(error.what()).find("needs at least"), std::string::npos) << error.what();
            EXPECT_NE(std::string(error.what()).find("at batch size 1024; torch says: Tried to allocate "),
                      std::string::npos)
                << error.what();
            EXPECT_EQ(error.why(), DoesNotFit::Why::others);
        }
    }
    trial->state->bind(state.bytes());
    EXPECT_GT(trial->training->train_unit(*shard, unit(0, 0, 0), {}).rows, 0);
}

}  // namespace gpu_step_test
}  // namespace hopscotch::testing
