// SPDX-License-Identifier: Apache-2.0
// On a GPU: captured steps have the bits of steps that are launched kernel by kernel, the same in every training, and are close to
// a CPU's.
#include <gtest/gtest.h>

#include <cmath>

#include "model/step_cases.hpp"
#include "model/workspace.hpp"

namespace hopscotch::testing {
namespace {

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
        if (auto& graphs = out->impl().graphs)
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
    out.push_back(with_optimizer("vit", Json::object({{"patch", 4}, {"depth", 2}, {"width", 16}, {"heads", 2}, {"dropout", 0.1}}), OptimizerKind::adamw));
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

TEST_F(GpuStep, GraphsAreKeptForFullBatchesAndUpdates) {
    auto const shared = workspace({});
    Trial trial(trial_config("lenet"), digits(61), shared);
    auto const shard = random_shard(trial.manifest, 61, 1);
    AlignedBlock state(trial->layout().bytes);
    trial->initialise(state.bytes(), 42, TrialId(3));
    trial->bind(state.bytes());
    trial->train_unit(*source(shard), unit(3, 0, 0), {});
    EXPECT_EQ(shared->impl().graphs->cache.graphs(), 2U);
    EXPECT_TRUE(said_.empty()) << said_.front();
}

TEST_F(GpuStep, FastModeCapturesToo) {
    for (auto const& config : gpu_cases()) EXPECT_TRUE(std::isfinite(trained(config, workspace({.deterministic = false})).loss));
    EXPECT_TRUE(said_.empty()) << said_.front();
}

TEST_F(GpuStep, IsCloseToACpu) {
    for (auto config : gpu_cases()) {
        if (config.model.arguments.find("dropout") != nullptr) continue;  // other generators
        if (config.train.precision == Precision::bf16) continue;
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
    AlignedBlock state(other->layout().bytes);
    other->initialise(state.bytes(), 42, TrialId(0));
    other->bind(state.bytes());
    EXPECT_EQ(trained(config, shared).hash, alone.hash);
    auto const before = other.hash(state);
    auto const shard = source(random_shard(other.manifest, 30, 1));
    Evaluation sums(other.manifest.task, other.manifest.outputs);
    other->evaluate(*shard, {0, 1}, sums);  // without a new bind
    EXPECT_EQ(other.hash(state), before);
    EXPECT_NEAR(sums.loss() / 30, std::log(10), 1);
}

}  // namespace
}  // namespace hopscotch::testing
