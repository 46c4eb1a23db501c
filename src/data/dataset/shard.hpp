// SPDX-License-Identifier: Apache-2.0
// One HDF5 file of rows in memory. data/dataset/hdf5_file.cpp is the only file that includes hdf5.h.
#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

#include "core/byte_view.hpp"
#include "data/dataset/manifest.hpp"

namespace hopscotch {

struct Shard {
    std::int64_t rows = 0;
    std::vector<std::byte> features;   // [rows, shape...] of the manifest's type
    std::vector<std::int64_t> labels;  // has_labels(task): [rows]
    std::vector<float> targets;        // else: [rows, outputs]
};

// Throws DataError naming the file, and the row where a label is out of range: missing, truncated, other shape or type.
Shard read_shard(std::filesystem::path const& directory, ShardFile const& file, Manifest const& manifest);

// Opens the file and checks datasets, shapes and types, but reads no rows. Throws DataError. For the roll call.
void check_shard(std::filesystem::path const& directory, ShardFile const& file, Manifest const& manifest);

}  // namespace hopscotch
