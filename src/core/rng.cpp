// SPDX-License-Identifier: Apache-2.0
#include "core/rng.hpp"

#include <cmath>
#include <numbers>

namespace hopscotch {
namespace {

// The finaliser of splitmix64 (Steele et al. 2014): a bijection in which every input bit reaches every output bit.
std::uint64_t mix(std::uint64_t z) {
    z += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

}  // namespace

std::uint64_t stream_key(std::uint64_t seed, Purpose purpose, std::initializer_list<std::int64_t> address) {
    std::uint64_t key = mix(mix(seed) ^ static_cast<std::uint64_t>(purpose));
    for (auto part : address) key = mix(key ^ static_cast<std::uint64_t>(part));
    return key;
}

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> c, std::array<std::uint32_t, 2> k) {
    for (int round = 0; round < 10; ++round) {
        std::uint64_t const p0 = 0xD2511F53ULL * c[0];
        std::uint64_t const p1 = 0xCD9E8D57ULL * c[2];
        c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k[0], static_cast<std::uint32_t>(p1),
             static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k[1], static_cast<std::uint32_t>(p0)};
        k[0] += 0x9E3779B9U;
        k[1] += 0xBB67AE85U;
    }
    return c;
}

std::uint32_t Rng::next_u32() {
    if (used_ == 4) {
        words_ = philox4x32({static_cast<std::uint32_t>(block_), static_cast<std::uint32_t>(block_ >> 32), 0, 0}, key_);
        ++block_;
        used_ = 0;
    }
    return words_[static_cast<std::size_t>(used_++)];
}

void Rng::skip(std::uint64_t words) {
    auto const left = static_cast<std::uint64_t>(4 - used_);
    if (words < left) {
        used_ += static_cast<int>(words);
        return;
    }
    block_ += (words - left) / 4;
    used_ = 4;
    for (auto rest = (words - left) % 4; rest > 0; --rest) next_u32();
}

std::uint64_t Rng::next_u64() {
    std::uint64_t const high = next_u32();
    return high << 32 | next_u32();
}

double Rng::uniform() { return static_cast<double>(next_u64() >> 11) * 0x1p-53; }

double Rng::normal() {
    double const radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

std::uint32_t Rng::below(std::uint32_t n) {
    std::uint64_t product = static_cast<std::uint64_t>(next_u32()) * n;
    if (auto low = static_cast<std::uint32_t>(product); low < n) {
        std::uint32_t const threshold = (0U - n) % n;
        while (low < threshold) {
            product = static_cast<std::uint64_t>(next_u32()) * n;
            low = static_cast<std::uint32_t>(product);
        }
    }
    return static_cast<std::uint32_t>(product >> 32);
}

}  // namespace hopscotch
