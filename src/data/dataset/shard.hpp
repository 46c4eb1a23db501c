// SPDX-License-Identifier: Apache-2.0
// The rows of one shard file.
#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

#include "core/byte_view.hpp"
#include "data/dataset/manifest.hpp"
#include "data/dataset/row_bytes.hpp"

namespace hopscotch {

struct Shard {
    std::int64_t rows = 0;
    RowBytes features;                 // [rows, shape...] of the manifest's type
    std::vector<std::int64_t> labels;  // has_labels(task): [rows]
    std::vector<float> targets;        // else: [rows, outputs]
};

// Throws DataError with the name of the file, which is missing, truncated, or has another shape or type. If a label is out
// of range, the error names its row.
Shard read_shard(std::filesystem::path const& directory, ShardFile const& file, Manifest const& manifest);

// The same, for rows that all trainers need: the features stay in the file, which is mapped, so that the processes of a host
// share the kernel's copy. A file whose features are not one block of this machine's byte order is read.
Shard map_shard(std::filesystem::path const& directory, ShardFile const& file, Manifest const& manifest);

// Call it before a whole file is read, hashed or copied: throws DataError if the file is far longer than its rows. A file of
// holes may have any length.
void check_length(std::filesystem::path const& path, ShardFile const& file, Manifest const& manifest);

// For the roll call: opens the file and checks datasets, shapes and types, but reads no rows. Throws DataError.
void check_shard(std::filesystem::path const& directory, ShardFile const& file, Manifest const& manifest);

}  // namespace hopscotch
