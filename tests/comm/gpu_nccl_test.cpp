// SPDX-License-Identifier: Apache-2.0
// NCCL itself: a group of one rank on a real GPU (two ranks on one GPU are refused by NCCL).
#include <gtest/gtest.h>

#include <vector>

#include "comm/nccl_group.hpp"
#include "core/error.hpp"

#ifdef HOPSCOTCH_CUDA
#include <cuda_runtime_api.h>
#endif

namespace hopscotch {
namespace gpu_nccl_test {

#ifdef HOPSCOTCH_CUDA
class GpuNccl : public ::testing::Test {
protected:
    void SetUp() override {
        int gpus = 0;
        auto const code = cudaGetDeviceCount(&gpus);
        if (code != cudaSuccess || gpus == 0) GTEST_SKIP() << "no GPU: " << cudaGetErrorString(code);
        ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&device_), k_floats * sizeof(float)), cudaSuccess);
        ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    }
    void TearDown() override {
        if (stream_ != nullptr) cudaStreamDestroy(stream_);
        cudaFree(device_);
    }
    void upload(std::vector<float> const& values) {
        ASSERT_EQ(cudaMemcpyAsync(device_, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice, stream_),
                  cudaSuccess);
    }
    std::vector<float> download() {
        std::vector<float> out(k_floats);
        EXPECT_EQ(cudaMemcpyAsync(out.data(), device_, out.size() * sizeof(float), cudaMemcpyDeviceToHost, stream_),
                  cudaSuccess);
        EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
        return out;
    }

    static constexpr std::size_t k_floats = 1 << 20;
    float* device_ = nullptr;
    cudaStream_t stream_ = nullptr;
};

TEST_F(GpuNccl, OneRankAddsUpItsShare) {
    auto const calls = make_nccl("cuda:0");
    NcclGroup::Terms terms;
    terms.members = "rank 1 (here)";
    NcclGroup group(calls, terms);
    group.bring_up(calls->make_id());
    std::vector<float> values(k_floats);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 1000);
    float factor = 1;
    upload(values);
    for (double const share : {1.0, 0.5, 0.5, 0.25, 1.0}) {
        for (std::size_t const first : {k_floats / 2, std::size_t{0}})
            group.sum({device_ + first, k_floats / 2, stream_}, share, "a step");
        group.end_step();
        factor *= static_cast<float>(share);
    }
    group.settle();
    auto const found = download();
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], factor * values[i]) << i;
}

TEST_F(GpuNccl, AGroupThatNobodyJoinsGivesUp) {
    auto const calls = make_nccl("cuda:0");
    NcclGroup::Terms terms;
    terms.ranks = 2;
    terms.deadline_s = 3;
    NcclGroup group(calls, terms);
    EXPECT_THROW(group.bring_up(calls->make_id()), CommError);
}
#else
TEST(GpuNccl, OneRankAddsUpItsShare) { GTEST_SKIP() << "this is a CPU build"; }
#endif

}  // namespace gpu_nccl_test
}  // namespace hopscotch
