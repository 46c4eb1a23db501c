// SPDX-License-Identifier: Apache-2.0
// The losses that are not written as one operator of torch: equal to torch's to the bit, and no step waits for the device.
#include "tensor/step/loss.hpp"

#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "core/rng.hpp"
#include "device_waits.hpp"

namespace hopscotch {
namespace loss_test {

TrainConfig smoothed(std::int64_t classes, double smoothing) {
    TrainConfig train;
    train.of_loss.label_smoothing = smoothing;
    Rng rng(3);
    for (std::int64_t i = 0; i < classes; ++i) train.of_loss.class_weights.push_back(0.1 + rng.uniform());
    return train;
}

struct Sizes {
    std::int64_t rows, classes;
};
constexpr Sizes k_sizes[] = {{1, 2}, {7, 10}, {64, 3}, {33, 1000}};

TEST(Loss, SmoothedAndWeightedHasTorchsBits) {
    at::manual_seed(1);
    for (auto const& [rows, classes] : k_sizes) {
        for (double const smoothing : {0.1, 0.9}) {
            auto const train = smoothed(classes, smoothing);
            auto const outputs = at::randn({rows, classes}), labels = at::randint(classes, {rows}, at::kLong);
            auto const weights = at::tensor(train.of_loss.class_weights, at::kDouble).to(at::kFloat);
            auto const leaf = outputs.detach().clone().requires_grad_();
            auto const expected =
                at::cross_entropy_loss(leaf, labels, weights, at::Reduction::Mean, -100, train.of_loss.label_smoothing);
            expected.backward();
            auto const found = Loss(train, at::kCPU).mean(outputs, labels);
            EXPECT_TRUE(at::equal(found.loss, expected.detach())) << rows << " x " << classes;
            EXPECT_TRUE(at::equal(found.gradient, leaf.grad())) << rows << " x " << classes;
        }
    }
}

TEST(Loss, NoneWaitsForTheDevice) {
    at::manual_seed(1);
    auto const labels = at::randint(5, {8}, at::kLong);
    auto const outputs = at::randn({8, 5}), targets = at::randn({8, 5});
    for (double const smoothing : {0.0, 0.1}) {
        for (bool const weighted : {false, true}) {
            auto train = smoothed(5, smoothing);
            if (!weighted) train.of_loss.class_weights.clear();
            Loss const loss(train, at::kCPU);
            EXPECT_EQ(testing::device_waits([&] { loss.mean(outputs, labels); }), std::set<std::string>{})
                << smoothing << weighted;
        }
    }
    for (auto const kind : {LossKind::mse, LossKind::huber, LossKind::bce_with_logits}) {
        TrainConfig train;
        train.loss = kind;
        Loss const loss(train, at::kCPU);
        EXPECT_EQ(testing::device_waits([&] { loss.mean(outputs, targets); }), std::set<std::string>{})
            << static_cast<int>(kind);
    }
    EXPECT_FALSE(testing::device_waits([&] { outputs.sum().item<float>(); }).empty()) << "the test can fail";
}

}  // namespace loss_test
}  // namespace hopscotch
