// SPDX-License-Identifier: Apache-2.0
// Made-up memory for kernels. Each array is an allocation of its own, exactly as long as it must be, so that ASan sees a
// thread that goes beyond.
#pragma once
#include <cstdint>
#include <cstring>
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

inline std::vector<float> random_floats(std::size_t size, Rng& rng) {
    std::vector<float> out(size);
    for (auto& each : out) each = static_cast<float>(rng.normal());
    return out;
}

template <class T>
std::vector<T> random_numbers(std::size_t size, std::uint32_t below, Rng& rng) {
    std::vector<T> out(size);
    for (auto& each : out) each = static_cast<T>(rng.below(below));
    return out;
}

// Of a matrix of this type.
inline std::vector<std::uint16_t> random_matrix(std::size_t size, FloatType type, Rng& rng) {
    auto const floats = random_floats(size, rng);
    std::vector<std::uint16_t> out(size * (type == FloatType::float32 ? 2 : 1));
    if (type == FloatType::float32 && size > 0) std::memcpy(out.data(), floats.data(), size * sizeof(float));
    for (std::size_t i = 0; type == FloatType::bfloat16 && i < size; ++i) {
        Bf16 narrowed;
        narrow(floats[i], narrowed);
        out[i] = narrowed.bits;
    }
    return out;
}

template <class T>
bool same_bits(std::vector<T> const& a, std::vector<T> const& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

}  // namespace hopscotch::testing
