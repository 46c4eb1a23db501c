// SPDX-License-Identifier: Apache-2.0
#include <ucontext.h>

#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

#include "core/rng.hpp"
#include "cuda_runtime_api.h"

namespace hopscotch::testing {
namespace {

[[noreturn]] void fail(char const* why) {
    std::fprintf(stderr, "kernel on the host: %s\n", why);
    std::abort();
}

std::vector<unsigned> shuffled(unsigned size, Rng& rng) {
    std::vector<unsigned> out(size);
    std::iota(out.begin(), out.end(), 0U);
    rng.shuffle(std::span(out));
    return out;
}

uint3 place_of(unsigned index, dim3 const& size) {
    return {index % size.x, index / size.x % size.y, index / size.x / size.y};
}
unsigned count_of(dim3 const& size) { return size.x * size.y * size.z; }

#if defined(__SANITIZE_THREAD__)
thread_local std::barrier<>* barrier_of_block = nullptr;

void run_block(dim3 threads, std::function<void()> const& kernel, Rng&) {
    std::barrier<> barrier(count_of(threads));
    std::vector<std::jthread> running;
    for (unsigned i = 0; i < count_of(threads); ++i)
        running.emplace_back([&, i, block = blockIdx, grid = gridDim] {
            barrier_of_block = &barrier;
            threadIdx = place_of(i, threads);
            blockIdx = block;
            blockDim = threads;
            gridDim = grid;
            kernel();
            barrier.arrive_and_drop();
        });
}

void wait_for_block() { barrier_of_block->arrive_and_wait(); }
#else
constexpr std::size_t k_stack_bytes = 64 * 1024;

struct Fiber {
    enum class State { begins, waits, ended };
    ucontext_t context{};
    std::unique_ptr<char[]> stack = std::make_unique<char[]>(k_stack_bytes);
    State state = State::begins;
};

ucontext_t block_context;
Fiber* running = nullptr;
std::function<void()> const* kernel_of_block = nullptr;

void fiber_main() {
    (*kernel_of_block)();
    running->state = Fiber::State::ended;
}

// Until its next barrier, or its end.
void run_on(Fiber& fiber) {
    running = &fiber;
    if (fiber.state == Fiber::State::begins) {
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.get();
        fiber.context.uc_stack.ss_size = k_stack_bytes;
        fiber.context.uc_link = &block_context;
        makecontext(&fiber.context, fiber_main, 0);
    }
    swapcontext(&block_context, &fiber.context);
}

void run_block(dim3 threads, std::function<void()> const& kernel, Rng& rng) {
    static std::vector<Fiber> fibers;
    auto const count = count_of(threads);
    while (fibers.size() < count) fibers.emplace_back();
    for (unsigned i = 0; i < count; ++i) fibers[i].state = Fiber::State::begins;
    kernel_of_block = &kernel;
    for (;;) {
        unsigned ended = 0;
        for (auto const i : shuffled(count, rng)) {
            threadIdx = place_of(i, threads);
            run_on(fibers[i]);
            ended += fibers[i].state == Fiber::State::ended ? 1 : 0;
        }
        if (ended == count) return;
        if (ended > 0) fail("some threads of a block wait at a barrier, and others have ended");
    }
}

void wait_for_block() {
    auto& fiber = *running;
    fiber.state = Fiber::State::waits;
    swapcontext(&fiber.context, &block_context);
}
#endif

}  // namespace

void run_kernel(dim3 blocks, dim3 threads, std::function<void()> const& kernel) {
    static Rng rng(1);
    if (count_of(blocks) == 0 || count_of(threads) == 0 || count_of(threads) > 1024) fail("a launch of a wrong size");
    blockDim = threads;
    gridDim = blocks;
    for (auto const i : shuffled(count_of(blocks), rng)) {
        blockIdx = place_of(i, blocks);
        run_block(threads, kernel, rng);
    }
}

}  // namespace hopscotch::testing

void __syncthreads() { hopscotch::testing::wait_for_block(); }
