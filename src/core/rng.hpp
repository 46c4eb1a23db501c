// SPDX-License-Identifier: Apache-2.0
// Randomness is addressed, not consumed: a stream belongs to (seed, purpose, where), so a draw depends neither on the
// trainer nor on the order of the work. Philox4x32-10 (Salmon et al., SC'11), whose published vectors are a test. The
// distributions of <random> are not used, because they differ between standard libraries.
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>

namespace hopscotch {

enum class Purpose : std::uint64_t {
    import_shuffle = 1,
    initialisation,
    shuffle,
    dropout,
    augmentation,
    search,
    synthetic,
    homes,
    schedule
};

// One 64-bit key for a stream, from the address. Example: stream_key(42, Purpose::shuffle, {trial, epoch, shard}).
std::uint64_t stream_key(std::uint64_t seed, Purpose purpose, std::initializer_list<std::int64_t> address);

// One Philox block: four 32-bit words from a counter and a key.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

class Rng {
public:
    explicit Rng(std::uint64_t key) : key_{static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)} {}

    std::uint32_t next_u32();
    void skip(std::uint64_t words);  // of 32 bits
    std::uint64_t next_u64();
    double uniform();                      // [0, 1), 53 bits; takes 2 words
    double normal();                       // N(0, 1), Box-Muller; takes 4 words
    std::uint32_t below(std::uint32_t n);  // 0..n-1 without bias (Lemire 2019); n > 0

    // Fisher-Yates.
    template <class T>
    void shuffle(std::span<T> items) {
        for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(static_cast<std::uint32_t>(i))]);
    }

private:
    std::array<std::uint32_t, 2> key_;
    std::uint64_t block_ = 0;
    std::array<std::uint32_t, 4> words_{};
    int used_ = 4;
};

}  // namespace hopscotch
