// SPDX-License-Identifier: Apache-2.0
// Event-timed work, on a CPU and, where there is one, on a GPU.
#include "model/gpu/device_timer.hpp"

#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "model/gpu/device.hpp"

namespace hopscotch {
namespace device_timer_test {

TEST(DeviceTimer, CountsTheWorkBetweenStartAndStop) {
    auto const timer = make_device_timer("cpu");
    auto const begin = monotonic_s();
    timer->hold_back(1000);
    timer->start();
    auto const started = monotonic_s();
    while (monotonic_s() - started < 1e-3) {
    }
    timer->stop();
    EXPECT_GE(timer->seconds(), 1e-3);
    EXPECT_LE(timer->seconds(), monotonic_s() - begin);
    auto const seconds = timer->seconds();
    while (monotonic_s() - started < 5e-3) {
    }
    EXPECT_EQ(timer->seconds(), seconds) << "it has stopped";
}

// The device waits first, so the host's launches, which take longer than the kernels, do not count.
TEST(DeviceTimer, OfAGpuLeavesOutTheTimeInWhichItWaits) {
    std::string device;
    try {
        device = resolve_device("cuda", 0);
    } catch (ConfigError const& error) {
        GTEST_SKIP() << error.what();
    }
    auto a = at::ones({64, 64}, at::TensorOptions(at::Device(device)));
    a = at::matmul(a, a);  // the library is loaded
    auto const timer = make_device_timer(device);
    auto const begin = monotonic_s();
    timer->hold_back(0.2);
    timer->start();
    for (int i = 0; i < 100; ++i) a = at::matmul(a, a).mul(0);
    timer->stop();
    EXPECT_GT(timer->seconds(), 0);
    EXPECT_LT(timer->seconds(), 0.1);
    EXPECT_GT(monotonic_s() - begin, 0.05);
}

}  // namespace device_timer_test
}  // namespace hopscotch
