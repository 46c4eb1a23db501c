// SPDX-License-Identifier: Apache-2.0
// The stand-in for CUDA finds what it is there for.
#include <gtest/gtest.h>

#include <cuda_runtime.h>

#include <numeric>
#include <set>
#include <vector>

namespace hopscotch {
namespace run_kernel_test {

constexpr unsigned k_threads = 64;

// Sums the values of a block: right only if every thread waits for the others.
template <bool waits>
void sum_of_block(int const* from, int* to) {
    __shared__ int values[k_threads];
    values[threadIdx.x] = from[blockIdx.x * k_threads + threadIdx.x];
    if (waits) __syncthreads();
    if (threadIdx.x == 0) to[blockIdx.x] = std::accumulate(values, values + k_threads, 0);
    __syncthreads();
}

template <bool waits>
std::set<std::vector<int>> results_of_20() {
    std::set<std::vector<int>> out;
    for (int i = 0; i < 20; ++i) {
        std::vector<int> from(3 * k_threads, i), to(3);
        testing::run_kernel(3, k_threads, [&] { sum_of_block<waits>(from.data(), to.data()); });
        for (auto& each : to) each -= i * static_cast<int>(k_threads);
        out.insert(to);
    }
    return out;
}

TEST(RunKernel, SharesMemoryWithinABlock) {
    EXPECT_EQ(results_of_20<true>(), std::set<std::vector<int>>{std::vector<int>(3)});
}

#if !defined(__SANITIZE_THREAD__)  // which reports the race itself
TEST(RunKernel, AMissingBarrierChangesResults) { EXPECT_GT(results_of_20<false>().size(), 1U); }

TEST(RunKernelDeathTest, ABarrierThatSomeThreadsPassBy) {
    EXPECT_DEATH(testing::run_kernel(1, k_threads,
                                     [] {
                                         if (threadIdx.x > 3) __syncthreads();
                                     }),
                 "some threads of a block wait at a barrier");
    EXPECT_DEATH(testing::run_kernel(1, 1025, [] {}), "a launch of a wrong size");
    EXPECT_DEATH(testing::run_kernel(0, 32, [] {}), "a launch of a wrong size");
}
#endif

TEST(RunKernel, GivesEachThreadItsPlace) {
    std::vector<int> seen(2 * 3 * 4 * 5);
    testing::run_kernel(dim3(2, 3), dim3(4, 5), [&] {
        EXPECT_EQ(gridDim.x * gridDim.y * blockDim.x * blockDim.y, seen.size());
        ++seen[((blockIdx.y * gridDim.x + blockIdx.x) * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x];
    });
    EXPECT_EQ(seen, std::vector<int>(seen.size(), 1));
}

}  // namespace run_kernel_test
}  // namespace hopscotch
