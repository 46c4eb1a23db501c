// SPDX-License-Identifier: Apache-2.0
// The numbers that captured steps read from memory: the kernel's arithmetic against torch's optimizers, and what is written
// when.
#include "tensor/gpu/step_numbers.hpp"
#include "model/gpu/update_numbers.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "model/host_step_device.hpp"
#include "model/state/layout.hpp"
#include "model/step_cases.hpp"
#include "tensor/step/optimizer.hpp"

namespace hopscotch::testing {
namespace step_numbers_test {

constexpr std::int64_t k_size = 67, k_decayed = 48;  // an odd size

struct Tensors {
    at::Tensor parameters = at::arange(1, k_size + 1, at::TensorOptions(at::kFloat)).div_(64);
    at::Tensor gradient = parameters.sin().sub_(0.4);
    std::vector<at::Tensor> slots;
    at::Tensor averaged = parameters.clone();
};

Tensors tensors(TrainConfig const& train) {
    Tensors out;
    for (auto const& kind : slot_kinds(train))
        if (kind != k_ema_slot) out.slots.push_back(at::zeros({k_size}, at::TensorOptions(at::kFloat)));
    return out;
}

float* floats(at::Tensor const& tensor) { return tensor.data_ptr<float>(); }

FlatUpdate flat(TrainConfig const& train, Tensors const& t, StepNumbers const& numbers) {
    FlatUpdate out;
    auto const kinds = slot_kinds(train);
    for (std::size_t i = 0; i < t.slots.size(); ++i) out.*place_of_slot(kinds[i]) = floats(t.slots[i]);
    out.rule = rule_of(train.optimizer.kind);
    out.nesterov = train.optimizer.nesterov;
    out.parameters = floats(t.parameters);
    out.gradient = floats(t.gradient);
    out.averaged = floats(t.averaged);
    out.size = k_size;
    out.decayed = k_decayed;
    out.block = numbers.block();
    return out;
}

std::vector<TrainConfig> optimizers() {
    std::vector<TrainConfig> out;
    for (auto const kind :
         {OptimizerKind::sgd, OptimizerKind::adam, OptimizerKind::adamw, OptimizerKind::rmsprop, OptimizerKind::adagrad})
        for (double const momentum : {0.0, 0.9})
            for (bool const variant : {false, true}) {
                TrainConfig train;
                train.ema = variant ? 0.9 : 0.3;
                train.optimizer.kind = kind;
                train.optimizer.weight_decay = variant ? 0.01 : 0.0;
                train.optimizer.lr_decay = 0.1;
                train.optimizer.momentum = momentum;
                train.optimizer.nesterov = variant && momentum > 0;
                train.optimizer.centered = variant;
                out.push_back(train);
            }
    return out;
}

double size(at::Tensor const& values) { return values.abs().max().item<double>(); }
double distance(at::Tensor const& a, at::Tensor const& b) { return size(a.sub(b)); }

TEST(StepNumbers, TheUpdateOfTheKernelIsTorchs) {
    for (auto const& train : optimizers()) {
        auto const& config = train.optimizer;
        auto const expected = tensors(train), found = tensors(train);
        Optimizer torch(config);
        torch.bind(expected.parameters, expected.gradient, expected.slots, k_decayed);
        StepNumbers numbers(std::make_unique<HostStepDevice>(), at::kCPU);
        numbers.load(update_numbers(train));
        for (int step = 1; step <= 5; ++step) {
            auto const lr = 0.125 / step;
            torch.update(lr, step);
            expected.averaged.lerp_(expected.parameters, 1 - train.ema);
            auto const entry = step_entry(config, lr, step);
            numbers.launch(0, std::span(&entry, 1));
            numbers.device().update(flat(train, found, numbers));
        }
        auto const what = ::testing::Message() << static_cast<int>(config.kind) << " momentum " << config.momentum
                                               << " decay " << config.weight_decay;
        EXPECT_LT(distance(expected.parameters, found.parameters), 1e-6) << what;
        EXPECT_LT(distance(expected.averaged, found.averaged), 1e-6) << what;
        for (std::size_t i = 0; i < expected.slots.size(); ++i)
            EXPECT_LT(distance(expected.slots[i], found.slots[i]), 1e-6 * std::max(1.0, size(expected.slots[i])))
                << what << " slot " << i;
        EXPECT_GT(distance(found.parameters, tensors(train).parameters), 0.05) << what;
    }
}

// The stream is behind the host: another trial's numbers are brought in while launches of the first are still waiting.
TEST(StepNumbers, ALaunchThatWaitsKeepsItsNumbers) {
    auto const run = [](HostStepDevice::When when) {
        auto device = std::make_unique<HostStepDevice>(when);
        auto& late = *device;
        StepNumbers numbers(std::move(device), at::kCPU);
        std::vector<Tensors> all;
        for (double const lr : {0.1, 0.2}) {
            TrainConfig train;
            train.optimizer.momentum = 0.9;
            train.optimizer.weight_decay = lr / 10;
            all.push_back(tensors(train));
            std::vector<StepEntry> entries{step_entry(train.optimizer, lr, 1), step_entry(train.optimizer, lr / 2, 2)};
            numbers.load(update_numbers(train));
            numbers.launch(0, entries);
            entries.assign(2, {});  // the caller's own again
            for (int i = 0; i < 2; ++i) {
                numbers.device().update(flat(train, all.back(), numbers));
                numbers.advance();
            }
        }
        late.finish();
        return all;
    };
    auto const expected = run(HostStepDevice::When::at_once), found = run(HostStepDevice::When::late);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(distance(expected[i].parameters, found[i].parameters), 0) << i;
        EXPECT_EQ(distance(expected[i].slots[0], found[i].slots[0]), 0) << i;
    }
    EXPECT_GT(distance(found[0].parameters, found[1].parameters), 0.01);
}

TEST(StepNumbers, WhatIsThereIsNotWrittenAgain) {
    auto device = std::make_unique<HostStepDevice>();
    auto& seen = *device;
    StepNumbers numbers(std::move(device), at::kCPU);
    TrainConfig train;
    numbers.load(update_numbers(train));
    auto const once = seen.launches();
    EXPECT_EQ(once, 1);
    train.optimizer.lr = 7;  // comes with each launch
    numbers.load(update_numbers(train));
    EXPECT_EQ(seen.launches(), once);
    train.optimizer.beta2 = 0.99;
    numbers.load(update_numbers(train));
    EXPECT_EQ(seen.launches(), once + 1);
    EXPECT_FLOAT_EQ(numbers.block()->numbers.beta2, 0.99F);
    AnswerGather gather;
    numbers.gather_from(gather, 7);
    auto const with_gather = seen.launches();
    numbers.gather_from(gather, 7);
    EXPECT_EQ(seen.launches(), with_gather);
    gather.width = 3;
    numbers.gather_from(gather, 7);
    EXPECT_GT(seen.launches(), with_gather);
    EXPECT_EQ(numbers.block()->gather.width, 3U);
    EXPECT_EQ(numbers.block()->stride, 7U);
}

TEST(StepNumbers, ALaunchHasNoMoreStepsThanItsBlock) {
    StepNumbers numbers(std::make_unique<HostStepDevice>(), at::kCPU);
    std::vector<StepEntry> const entries(StepLaunch::k_most + 1);
    EXPECT_THROW(numbers.launch(0, entries), Error);
    numbers.launch(3, std::span(entries).first(StepLaunch::k_most));
    EXPECT_EQ(numbers.block()->launch.batch, 3U);
}

}  // namespace step_numbers_test
}  // namespace hopscotch::testing
