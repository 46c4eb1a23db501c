// SPDX-License-Identifier: Apache-2.0
// xxHash: xxh3 for states (18 to 35 GB/s), xxh64 for data files (as the tool xxhsum -H1). Not cryptographic.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/byte_view.hpp"

namespace hopscotch {

std::uint64_t xxh3(ByteView bytes, std::uint64_t seed = 0);
std::uint64_t xxh64(ByteView bytes);

// xxh64 of a stream; a file hashed piece by piece gives the value of xxh64 over the whole.
class Xxh64Stream {
public:
    Xxh64Stream();
    ~Xxh64Stream();
    Xxh64Stream(Xxh64Stream const&) = delete;
    Xxh64Stream& operator=(Xxh64Stream const&) = delete;
    void update(ByteView bytes);
    std::uint64_t digest() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

// xxh3 of a stream: of a state that need not be in memory as a whole.
class Xxh3Stream {
public:
    explicit Xxh3Stream(std::uint64_t seed = 0);
    ~Xxh3Stream();
    Xxh3Stream(Xxh3Stream const&) = delete;
    Xxh3Stream& operator=(Xxh3Stream const&) = delete;
    void update(ByteView bytes);
    std::uint64_t digest() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

// Sixteen lower-case hex digits, the form in every file; from_hex throws Error on anything else.
std::string to_hex(std::uint64_t value);
std::uint64_t from_hex(std::string_view text);

}  // namespace hopscotch
