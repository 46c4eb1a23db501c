// SPDX-License-Identifier: Apache-2.0
// Which trials share captured graphs: those that differ in nothing but numbers which a step reads from memory.
#include <gtest/gtest.h>

#include <functional>

#include "model/step_cases.hpp"
#include "tensor/step/step.hpp"

namespace hopscotch::testing {
namespace structure_test {

using Change = std::function<void(TrialConfig&)>;

std::string after(Change const& change) {
    auto config = with_optimizer("cnn", Json::object({{"dropout", 0.1}}), OptimizerKind::rmsprop);
    config.train.optimizer.momentum = 0.9;
    config.train.clip.norm = 1;
    config.train.ema = 0.9;
    change(config);
    return step_structure(config, schema_of(digits(30)), "");
}

TEST(Structure, NumbersInMemoryAreNone) {
    auto const base = after([](auto&) {});
    std::vector<Change> const changes{[](auto& c) { c.train.optimizer.lr = 0.5; },
                                      [](auto& c) { c.train.optimizer.weight_decay = 0; },
                                      [](auto& c) { c.train.optimizer.momentum = 0.5; },
                                      [](auto& c) { c.train.optimizer.alpha = 0.5; },
                                      [](auto& c) { c.train.optimizer.beta1 = 0.5; },
                                      [](auto& c) { c.train.optimizer.beta2 = 0.5; },
                                      [](auto& c) { c.train.optimizer.epsilon = 0.5; },
                                      [](auto& c) { c.train.optimizer.lr_decay = 0.5; },
                                      [](auto& c) { c.train.clip.norm = 2; },
                                      [](auto& c) { c.train.ema = 0.5; },
                                      [](auto& c) { c.train.epochs = 3; },
                                      [](auto& c) { c.train.batch_size = 9; },  // the number of rows is a part of the key
                                      [](auto& c) { c.train.schedule.kind = ScheduleKind::step; },
                                      [](auto& c) { c.train.seed_scope = SeedScope::experiment; },
                                      [](auto& c) { c.repeat = 1; }};
    for (std::size_t i = 0; i < changes.size(); ++i) EXPECT_EQ(after(changes[i]), base) << i;
}

TEST(Structure, WhatAGraphFreezesIs) {
    std::vector<Change> const changes{[](auto&) {},
                                      [](auto& c) { c.model.name = "lenet"; },
                                      [](auto& c) { c.model.arguments = Json::object({{"dropout", 0.2}}); },
                                      [](auto& c) { c.model.freeze = {"conv*"}; },
                                      [](auto& c) { c.train.loss = LossKind::mse; },
                                      [](auto& c) { c.train.of_loss.label_smoothing = 0.1; },
                                      [](auto& c) { c.train.of_loss.class_weights = {1, 2}; },
                                      [](auto& c) { c.train.of_loss.huber_delta = 2; },
                                      [](auto& c) { c.train.arithmetic.precision = Precision::bf16; },
                                      [](auto& c) { c.train.arithmetic.channels_last = false; },
                                      [](auto& c) { c.train.clip.norm.reset(); },
                                      [](auto& c) { c.train.clip.value = 1; },
                                      [](auto& c) { c.train.accumulate = 2; },
                                      [](auto& c) { c.train.ema = 0; },
                                      [](auto& c) { c.train.outer_momentum = true; },
                                      [](auto& c) { c.train.optimizer.kind = OptimizerKind::sgd; },
                                      [](auto& c) { c.train.optimizer.momentum = 0; },
                                      [](auto& c) { c.train.optimizer.centered = true; },
                                      [](auto& c) { c.train.optimizer.nesterov = true; },
                                      [](auto& c) { c.train.optimizer.decay_all = false; },
                                      [](auto& c) { c.data.augment = {{AugmentKind::flip, 0.5}}; },
                                      [](auto& c) { c.data.augment = {{AugmentKind::crop, 1, 2}}; },
                                      [](auto& c) { c.data.normalise = false; }};
    std::set<std::string> different;
    for (auto const& change : changes) different.insert(after(change));
    EXPECT_EQ(different.size(), changes.size());
    auto const config = trial_config("mlp");
    auto wide = schema_of(digits(30)), targets = wide;
    wide.shape = {1, 16, 4};  // as many elements
    targets.task = Task::regression;
    EXPECT_NE(step_structure(config, wide, ""), step_structure(config, schema_of(digits(30)), ""));
    EXPECT_NE(step_structure(config, targets, ""), step_structure(config, schema_of(digits(30)), ""));
    EXPECT_NE(step_structure(config, wide, "a file"), step_structure(config, wide, "another"));
}

}  // namespace structure_test
}  // namespace hopscotch::testing
