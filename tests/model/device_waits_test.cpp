// SPDX-License-Identifier: Apache-2.0
// No step of LibTorch's way asks the device for a value: every model of the zoo in fp32 and bf16, every loss with every
// optimizer.
#include "device_waits.hpp"

#include "zoo_cases.hpp"

namespace hopscotch::testing {
namespace device_waits_test {

using Names = std::set<std::string>;

Names waits_of_two_steps(TrialConfig const& config, Manifest const& manifest, Shard const& rows) {
    Trial trial(config, manifest);
    AlignedBlock state(trial->state->layout().bytes);
    trial->state->initialise(state.bytes(), 42, TrialId(3));
    trial->state->bind(state.bytes());
    auto const shard = source(rows);
    trial->training->begin_pass(*shard, unit(3, 0, 0), trial->training->batch_size());
    // The kernel of torch's _fused_adam_ for CPUs reads the number of the step; that for GPUs does not.
    auto const kind = config.train.optimizer.kind;
    bool const reads_its_number = kind == OptimizerKind::adam || kind == OptimizerKind::adamw;
    Names out;
    for (int step = 0; step < 2; ++step) {
        std::int64_t done = 0;
        out.merge(device_waits([&] {
            done = trial->training->next_gradient({}, {});
            if (!reads_its_number) trial->training->update(done);
        }));
        if (reads_its_number) trial->training->update(done);
    }
    trial->training->end_pass();
    return out;
}

class DeviceWaits : public ::testing::TestWithParam<ZooCase> {};

TEST_P(DeviceWaits, none_in_a_step) {
    for (auto const precision : {Precision::fp32, Precision::bf16}) {
        auto config = trial_config(GetParam().model, parse_json_or_throw(GetParam().arguments, "arguments"));
        config.train.arithmetic.precision = precision;
        config.train.of_loss.label_smoothing = 0.1;
        EXPECT_EQ(waits_of_two_steps(config, GetParam().manifest, shard_for(GetParam().manifest)), Names{});
    }
}

INSTANTIATE_TEST_SUITE_P(Models, DeviceWaits, ::testing::ValuesIn(zoo_cases()),
                         [](auto const& each) { return std::string(each.param.model); });

struct LossCase {
    LossKind loss;
    Task task;
    std::int64_t outputs;
};
constexpr LossCase k_losses[] = {{LossKind::cross_entropy, Task::classification, 5},
                                 {LossKind::bce_with_logits, Task::multilabel, 3},
                                 {LossKind::mse, Task::regression, 2},
                                 {LossKind::huber, Task::regression, 2},
                                 {LossKind::mae, Task::regression, 2},
                                 {LossKind::quantile, Task::regression, 2}};
constexpr OptimizerKind k_optimizers[] = {OptimizerKind::sgd, OptimizerKind::adam, OptimizerKind::adamw,
                                          OptimizerKind::rmsprop, OptimizerKind::adagrad};

TEST(DeviceWaitsOf, NoLossWithAnyOptimizer) {
    for (auto const& [loss, task, outputs] : k_losses)
        for (auto const optimizer : k_optimizers) {
            auto config = trial_config("mlp", parse_json_or_throw(R"({"hidden": [6], "batch_norm": true})", "arguments"));
            config.train.loss = loss;
            config.train.optimizer.kind = optimizer;
            config.train.ema = 0.9;
            if (loss == LossKind::cross_entropy) {
                config.train.of_loss.label_smoothing = 0.1;
                config.train.of_loss.class_weights.assign(5, 0.5);
            }
            auto const manifest = plain_manifest({4}, outputs, 20, task);
            auto rows = random_shard(manifest, 20, 1);
            for (auto& target : rows.targets)
                if (task == Task::multilabel) target = target > 0 ? 1.0F : 0.0F;
            EXPECT_EQ(waits_of_two_steps(config, manifest, rows), Names{})
                << static_cast<int>(loss) << " " << static_cast<int>(optimizer);
        }
}

}  // namespace device_waits_test
}  // namespace hopscotch::testing
