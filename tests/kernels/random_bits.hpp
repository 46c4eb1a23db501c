// SPDX-License-Identifier: Apache-2.0
// Made-up memory for kernels. Each array ends where a page begins that may not be touched, so a thread that goes beyond
// crashes.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

#include "core/rng.hpp"
#include "long_suite.hpp"
#include "tensor/gpu/norm_element.hpp"

namespace hopscotch::testing {

inline int random_cases(int few) {
#if defined(__SANITIZE_THREAD__)
    return few / 10;  // with threads for fibers a case takes a hundred times as long
#else
    return long_suite() ? 1000 : few;
#endif
}

// For arrays that are as long at their beginning as they will ever be.
template <class T>
struct GuardedAllocator {
    using value_type = T;
    GuardedAllocator() = default;
    template <class U>
    GuardedAllocator(GuardedAllocator<U> const&) {}

    T* allocate(std::size_t n) {
        auto const bytes = n * sizeof(T), pages = pages_of(bytes);
        auto* const begin =
            static_cast<char*>(mmap(nullptr, pages + page(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        if (begin == MAP_FAILED || mprotect(begin + pages, page(), PROT_NONE) != 0) throw std::bad_alloc();
        return reinterpret_cast<T*>(begin + pages - bytes);
    }
    void deallocate(T* at, std::size_t n) {
        auto const bytes = n * sizeof(T), pages = pages_of(bytes);
        munmap(reinterpret_cast<char*>(at) + bytes - pages, pages + page());
    }
    bool operator==(GuardedAllocator const&) const { return true; }

private:
    static std::size_t page() { return static_cast<std::size_t>(getpagesize()); }
    static std::size_t pages_of(std::size_t bytes) { return (bytes + page() - 1) / page() * page(); }
};
template <class T>
using Array = std::vector<T, GuardedAllocator<T>>;

inline Array<float> random_floats(std::size_t size, Rng& rng) {
    Array<float> out(size);
    for (auto& each : out) each = static_cast<float>(rng.normal());
    return out;
}

template <class T>
Array<T> random_numbers(std::size_t size, std::uint32_t below, Rng& rng) {
    Array<T> out(size);
    for (auto& each : out) each = static_cast<T>(rng.below(below));
    return out;
}

// Of a matrix of this type.
inline Array<std::uint16_t> random_matrix(std::size_t size, FloatType type, Rng& rng) {
    auto const floats = random_floats(size, rng);
    Array<std::uint16_t> out(size * (type == FloatType::float32 ? 2 : 1));
    if (type == FloatType::float32 && size > 0) std::memcpy(out.data(), floats.data(), size * sizeof(float));
    for (std::size_t i = 0; type == FloatType::bfloat16 && i < size; ++i) {
        Bf16 narrowed;
        narrow(floats[i], narrowed);
        out[i] = narrowed.bits;
    }
    return out;
}

template <class T>
bool same_bits(Array<T> const& a, Array<T> const& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

}  // namespace hopscotch::testing
