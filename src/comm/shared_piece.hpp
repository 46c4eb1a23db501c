// SPDX-License-Identifier: Apache-2.0
// A piece of shared memory (comm/shared_memory.hpp): its name, which is the same in every process, and the offer of a piece.
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>

namespace hopscotch {

struct SharedPiece {
    std::uint64_t file = 0;               // a random number, written at the beginning of the file as well
    std::uint64_t offset = 0, bytes = 0;  // bytes 0: none

    explicit operator bool() const { return bytes > 0; }
    auto operator<=>(SharedPiece const&) const = default;
};

inline constexpr int k_any_node = -1;

// An owner's offer of a piece, with the place where another process finds the file.
struct PieceOffer {
    SharedPiece piece;
    std::uint64_t host = 0;  // a hash of its name
    std::int32_t process = 0, descriptor = -1;
    std::int32_t node = k_any_node;  // the owner's NUMA node

    explicit operator bool() const { return static_cast<bool>(piece); }
};
template <class A>
void fields(A& a, PieceOffer& m) {
    a(m.piece.file, m.piece.offset, m.piece.bytes, m.host, m.process, m.descriptor, m.node);
}

struct SharedMapping {
    std::byte* data = nullptr;  // page-aligned; unmapped by the caller with munmap(data, piece.bytes)
    SharedPiece piece;
};

}  // namespace hopscotch
