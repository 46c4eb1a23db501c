// SPDX-License-Identifier: Apache-2.0
// On a GPU: the kernels of batch norm give the bits of the host's loops over the same cut, whose arithmetic
// fused_norm_test.cpp compares with torch's.
#include <gtest/gtest.h>

#include <ATen/Context.h>

#include "model/gpu/device.hpp"
#include "model/norm_cases.hpp"
#include "model/norm_on_host.hpp"

namespace hopscotch::testing {
namespace gpu_norm_test {

class GpuNorm : public ::testing::TestWithParam<at::ScalarType> {
protected:
    void SetUp() override {
        if (resolve_device("auto", 0) == "cpu") GTEST_SKIP() << "this machine shows no GPU, or this is a CPU build";
        at::globalContext().lazyInitDevice(at::kCUDA);
        at::manual_seed(1);
    }
    at::Device device_{at::kCUDA, 0};
};

void expect_bits(NormCase const& which, NormOutputs const& found, NormOutputs const& expected) {
    auto const wanted = expected.named(), all = found.named();
    ASSERT_EQ(all.size(), wanted.size());
    for (std::size_t i = 0; i < all.size(); ++i)
        EXPECT_TRUE(all[i].second.cpu().equal(wanted[i].second)) << which.name() << ": " << all[i].first;
    EXPECT_TRUE(found.batches.cpu().equal(expected.batches)) << which.name();
}

TEST_P(GpuNorm, HasTheBitsOfTheHost) {
    auto const kernels = make_norm_device(device_);
    ASSERT_NE(kernels, nullptr);
    auto cases = norm_cases();
    cases.push_back({{256, 64, 28, 28}, Clip::relu, false});  // pieces on all multiprocessors
    cases.push_back({{128, 256, 14, 14}, Clip::relu, true});
    for (auto const& which : cases) {
        auto const in = norm_inputs(which, GetParam());
        auto const expected = fused_outputs(which, in, HostNormDevice());
        for (int i = 0; i < 2; ++i) expect_bits(which, fused_outputs(which, in, *kernels, device_), expected);
    }
}

TEST_P(GpuNorm, HasTheBitsOfTheHostInEvaluation) {
    auto const kernels = make_norm_device(device_);
    for (auto const& which : norm_cases()) {
        auto const in = norm_inputs(which, GetParam());
        auto const evaluated = [&](NormDevice const& by, at::Device where) {
            auto const there = [&](at::Tensor const& each) { return each.to(at::TensorOptions(where)); };
            auto const added = which.adds ? std::optional<at::Tensor>(there(in.added)) : std::nullopt;
            auto const weight = there(in.weight), bias = there(in.bias), mean = there(in.running_mean),
                       variance = there(in.running_variance), batches = there(in.batches);
            FusedNorm const norm{by, {weight, bias, mean, variance}, batches, added, which.clip};
            return fused_norm_in_evaluation(there(in.x), norm).cpu();
        };
        EXPECT_TRUE(evaluated(*kernels, device_).equal(evaluated(HostNormDevice(), at::kCPU))) << which.name();
    }
}

INSTANTIATE_TEST_SUITE_P(Types, GpuNorm, ::testing::Values(at::kFloat, at::kBFloat16));

}  // namespace gpu_norm_test
}  // namespace hopscotch::testing
