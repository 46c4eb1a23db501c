// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tensor/gpu/gather_kernels.hpp"
#include "tensor/gpu/launch_kernel.hpp"

namespace hopscotch {
namespace {

constexpr std::uint32_t k_threads = 256, k_elements_of_a_thread = 4, k_most_pieces = 64;

__global__ void gather_features(FeatureGather const g) {
    auto const position = blockIdx.x;
    float* const out = g.out + static_cast<std::size_t>(position) * g.row_size;
    for (auto element = blockIdx.y * blockDim.x + threadIdx.x; element < g.row_size; element += gridDim.y * blockDim.x)
        out[element] = feature_at(g, position, element);
}

__global__ void gather_answers(AnswerGather const g) {
    auto const at = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    auto const position = static_cast<std::uint32_t>(at / g.width);
    if (position < g.features.count) write_answer(g, position, static_cast<std::uint32_t>(at % g.width));
}

std::uint32_t pieces(std::size_t n, std::uint32_t size) { return static_cast<std::uint32_t>((n + size - 1) / size); }

}  // namespace

// A block for each row, several for a long one: a small batch of large images still fills the device.
void launch_gather(FeatureGather const& gather, cudaStream_t stream) {
    if (gather.count == 0) return;
    auto const threads = std::min(k_threads, 32 * pieces(gather.row_size, 32));
    auto const blocks = std::min(k_most_pieces, pieces(gather.row_size, threads * k_elements_of_a_thread));
    launch_kernel("launching the gather of features", gather_features,
                  LaunchShape{dim3(gather.count, blocks), threads, stream}, gather);
}

void launch_gather(AnswerGather const& gather, cudaStream_t stream) {
    auto const answers = static_cast<std::size_t>(gather.features.count) * gather.width;
    if (answers == 0) return;
    launch_kernel("launching the gather of answers", gather_answers,
                  LaunchShape{pieces(answers, k_threads), k_threads, stream}, gather);
}

}  // namespace hopscotch
