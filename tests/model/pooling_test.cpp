// SPDX-License-Identifier: Apache-2.0
// Pooling for a GPU gives what torch's own gives, and so does its gradient.
#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include "tensor/zoo/vision.hpp"

namespace hopscotch {
namespace pooling_test {

TEST(Pooling, ByProductsEqualsTorchsForEverySize) {
    at::manual_seed(1);            // LibTorch draws other numbers in each process otherwise
    double const rounding = 1e-5;  // a gradient is a sum of up to 49 products of about 1, which may cancel
    for (std::int64_t height : {1, 2, 3, 5, 7, 8, 13, 14, 20})
        for (std::int64_t width : {1, 4, 7, 9, 15})
            for (std::int64_t side : {1, 3, 7}) {
                auto const x = at::randn({2, 3, height, width});
                auto const mine = x.clone().requires_grad_(), torchs = x.clone().requires_grad_();
                auto const a = average_pooled(mine, side), b = at::adaptive_avg_pool2d(torchs, {side, side});
                EXPECT_TRUE(at::allclose(a, b, 1e-5, 1e-6)) << height << "x" << width << " to " << side;
                auto const weights = at::randn(b.sizes());
                a.mul(weights).sum().backward();
                b.mul(weights).sum().backward();
                EXPECT_TRUE(at::allclose(mine.grad(), torchs.grad(), 1e-5, rounding))
                    << height << "x" << width << " to " << side;
            }
}

}  // namespace pooling_test
}  // namespace hopscotch
