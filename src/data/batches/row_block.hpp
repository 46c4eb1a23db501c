// SPDX-License-Identifier: Apache-2.0
// Rows as one block of bytes, as they go from one trainer to another: the features of all of them, then their labels or
// targets. Three rows of 4 bytes and a class:  aaaabbbbcccc | label a, label b, label c (8 bytes each)
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/byte_view.hpp"

namespace hopscotch {

struct Manifest;
struct PickedRows;
struct Shard;

// Bytes of a row with its label or targets, as stored.
std::size_t stored_row_bytes(Manifest const& manifest);

// into: as many bytes as the rows have.
void pack_rows(PickedRows const& picked, Manifest const& manifest, MutableBytes into);

// Makes room in `shard` for this many rows, with undefined contents.
void resize_rows(Shard& shard, Manifest const& manifest, std::int64_t rows);

// Unpacks a block into the rows first, first + 1 ... of `shard`, which has room for them. Throws DataError if the block is
// not a whole number of rows.
void unpack_rows(ByteView block, Manifest const& manifest, Shard& shard, std::int64_t first);

}  // namespace hopscotch
