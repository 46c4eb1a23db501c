// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "core/error.hpp"
#include "tensor/gpu/launch_kernel.hpp"
#include "tensor/gpu/step_kernels.hpp"

namespace hopscotch {
namespace {

constexpr std::uint32_t k_threads = 256, k_elements_of_a_thread = 4, k_most_pieces = 64, k_most_blocks = 2048;
constexpr std::size_t k_most_written = 1024;  // StepDevice::k_most_written: the arguments of a kernel may have 4 KB

struct Written {
    unsigned char values[k_most_written];
};

__global__ void write_values(unsigned char* to, Written const from, std::uint32_t count) {
    for (auto i = threadIdx.x; i < count; i += blockDim.x) to[i] = from.values[i];
}

__global__ void gather_due_features(StepBlock const* const block, GatherSize const size) {
    auto const g = due_batch(*block, size.rows).features;
    auto const position = blockIdx.x;
    float* const out = g.out + static_cast<std::size_t>(position) * g.row_size;
    for (auto element = blockIdx.y * blockDim.x + threadIdx.x; element < g.row_size; element += gridDim.y * blockDim.x)
        out[element] = feature_at(g, position, element);
}

__global__ void gather_due_answers(StepBlock const* const block, GatherSize const size) {
    auto const g = due_batch(*block, size.rows);
    auto const at = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    auto const position = static_cast<std::uint32_t>(at / g.width);
    if (position < size.rows) write_answer(g, position, static_cast<std::uint32_t>(at % g.width));
}

__global__ void update_all(FlatUpdate const update) {
    auto const now = due_update(*update.block);
    auto const stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
    for (auto i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < update.size; i += stride)
        update_element(update, i, now);
}

__global__ void advance_step(StepBlock* block) { ++block->launch.step; }

std::uint32_t pieces(std::size_t n, std::uint32_t size) { return static_cast<std::uint32_t>((n + size - 1) / size); }

}  // namespace

void launch_write(void* to, ByteView values, cudaStream_t stream) {
    require(values.size() <= k_most_written, "too many bytes for the arguments of a kernel");
    Written written;
    std::memcpy(written.values, values.data(), values.size());
    launch_kernel("launching the write of a step's numbers", write_values, LaunchShape{1, 128, stream},
                  static_cast<unsigned char*>(to), written, static_cast<std::uint32_t>(values.size()));
}

// As launch_gather: a block for each row, several for a long one.
void launch_due_gather(StepBlock const* block, GatherSize const& size, cudaStream_t stream) {
    if (size.rows == 0) return;
    auto const threads = std::min(k_threads, 32 * pieces(size.row_size, 32));
    auto const blocks = std::min(k_most_pieces, pieces(size.row_size, threads * k_elements_of_a_thread));
    launch_kernel("launching the gather of a step's features", gather_due_features,
                  LaunchShape{dim3(size.rows, blocks), threads, stream}, block, size);
    auto const answers = static_cast<std::size_t>(size.rows) * size.answers;
    launch_kernel("launching the gather of a step's answers", gather_due_answers,
                  LaunchShape{pieces(answers, k_threads), k_threads, stream}, block, size);
}

void launch_update(FlatUpdate const& update, cudaStream_t stream) {
    if (update.size == 0) return;
    auto const blocks = std::min(k_most_blocks, pieces(update.size, k_threads));
    launch_kernel("launching the update", update_all, LaunchShape{blocks, k_threads, stream}, update);
}

void launch_advance(StepBlock* block, cudaStream_t stream) {
    launch_kernel("launching the step counter", advance_step, LaunchShape{1, 1, stream}, block);
}

}  // namespace hopscotch
