// SPDX-License-Identifier: Apache-2.0
#include "guarded_memory.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

// Before each block a page with its header, after it a page without access:  [header | ... block slack | no access].
// The slack, up to one alignment, holds a pattern that is compared when the block is freed.
namespace {

constexpr std::size_t k_page = 4096, k_least_alignment = 64;
constexpr std::size_t k_reserved = std::size_t{1} << 38;  // addresses, not memory
constexpr int k_pattern = 0xA5;

struct Header {
    std::size_t pages, bytes, slack;
};

std::byte* reserved() {
    static std::byte* const start = [] {
        void* const found = ::mmap(nullptr, k_reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        return found == MAP_FAILED ? nullptr : static_cast<std::byte*>(found);
    }();
    return start;
}

std::byte* next_pages(std::size_t pages) {
    static std::atomic<std::size_t> used{0};
    auto const at = used.fetch_add(pages * k_page);
    auto* const start = reserved();
    return start == nullptr || at + pages * k_page > k_reserved ? nullptr : start + at;
}

std::size_t rounded(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

void release(std::byte* block) {
    auto* const page = block - reinterpret_cast<std::uintptr_t>(block) % k_page - k_page;
    auto const header = *reinterpret_cast<Header const*>(page);
    for (std::size_t i = 0; i < header.slack; ++i) {
        if (block[header.bytes + i] == std::byte{k_pattern}) continue;
        std::fprintf(stderr, "a block of %zu bytes was written past its end, at byte %zu\n", header.bytes, header.bytes + i);
        std::abort();
    }
    // The addresses are never used again, so a use after this stops too.
    ::mmap(page, header.pages * k_page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

bool is_guarded(void const* block) {
    auto const* const at = static_cast<std::byte const*>(block);
    return at >= reserved() && at < reserved() + k_reserved;
}

}  // namespace

extern "C" {

void __libc_free(void* block);

int posix_memalign(void** out, std::size_t alignment, std::size_t bytes) {
    alignment = alignment < k_least_alignment ? k_least_alignment : alignment;
    if (alignment > k_page) return ENOMEM;
    auto const length = rounded(bytes == 0 ? 1 : bytes, alignment);
    auto const body = rounded(length, k_page) / k_page;
    auto* const start = next_pages(body + 2);
    if (start == nullptr || ::mprotect(start, (body + 1) * k_page, PROT_READ | PROT_WRITE) != 0) return ENOMEM;
    *reinterpret_cast<Header*>(start) = {body + 1, bytes, length - bytes};
    auto* const block = start + (body + 1) * k_page - length;
    std::memset(block + bytes, k_pattern, length - bytes);
    *out = block;
    return 0;
}

void free(void* block) {
    if (block == nullptr) return;
    is_guarded(block) ? release(static_cast<std::byte*>(block)) : __libc_free(block);
}

}  // extern "C"

namespace hopscotch::testing {

bool memory_is_guarded() {
    void* block = nullptr;
    bool const guarded = ::posix_memalign(&block, k_least_alignment, 100) == 0 && is_guarded(block);
    std::free(block);
    return guarded;
}

}  // namespace hopscotch::testing
