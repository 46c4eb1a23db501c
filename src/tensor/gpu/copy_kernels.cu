// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tensor/gpu/copy_kernels.hpp"
#include "tensor/gpu/launch_kernel.hpp"

namespace hopscotch {
namespace {

constexpr std::uint32_t k_copy_threads = 256, k_copies_of_a_thread = 8;
constexpr std::uint32_t k_elements_of_a_block = k_copy_threads * k_copies_of_a_thread;
constexpr std::size_t k_copies_of_a_launch = 84;  // arguments of a kernel have 4 KB

struct Copies {
    TensorCopy copies[k_copies_of_a_launch];
    std::uint32_t first_block[k_copies_of_a_launch + 1];  // of each copy; after the last, those of all
    std::uint32_t size = 0;
};
static_assert(sizeof(Copies) <= 4096);

__global__ void copy_tensors(__grid_constant__ Copies const all) {
    std::uint32_t which = 0;
    for (std::uint32_t step = 64; step > 0; step /= 2)
        if (which + step < all.size && all.first_block[which + step] <= blockIdx.x) which += step;
    auto const& copy = all.copies[which];
    auto const begin = (blockIdx.x - all.first_block[which]) * k_elements_of_a_block;
    for (std::uint32_t k = 0; k < k_copies_of_a_thread; ++k)
        if (auto const at = begin + k * k_copy_threads + threadIdx.x; at < copy.count) copy_element(copy, at);
}

}  // namespace

void launch_copies(std::span<TensorCopy const> copies, cudaStream_t stream) {
    while (!copies.empty()) {
        auto const now = copies.first(std::min(copies.size(), k_copies_of_a_launch));
        copies = copies.subspan(now.size());
        Copies all;
        std::uint32_t blocks = 0;
        for (auto const& copy : now) {
            all.copies[all.size] = copy;
            all.first_block[all.size++] = blocks;
            blocks += (copy.count + k_elements_of_a_block - 1) / k_elements_of_a_block;
        }
        all.first_block[all.size] = blocks;
        if (blocks == 0) continue;
        launch_kernel("launching copies", copy_tensors, LaunchShape{blocks, k_copy_threads, stream}, all);
    }
}

}  // namespace hopscotch
