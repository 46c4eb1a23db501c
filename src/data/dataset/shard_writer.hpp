// SPDX-License-Identifier: Apache-2.0
// Writes one shard file in pieces, so that it never has to be in memory as a whole. Readable with h5py.
#pragma once
#include <span>

#include "data/dataset/hdf5_file.hpp"
#include "data/dataset/manifest.hpp"

namespace hopscotch {

class ShardWriter {
public:
    // Task, shape, type and outputs are the manifest's; the number of rows is fixed from the start (contiguous layout).
    ShardWriter(std::filesystem::path path, Manifest const& manifest, std::int64_t rows);

    // Features: whole rows of the manifest's type. Labels: one a row; targets: `outputs` a row.
    void append(ByteView features, std::span<std::int64_t const> labels);
    void append(ByteView features, std::span<float const> targets);

    // Throws Error unless all rows have been appended. Closes and hashes the file.
    ShardFile finish();

private:
    void append_rows(ByteView features, ByteView labels, std::size_t rows);

    std::filesystem::path path_;
    std::size_t row_bytes_, outputs_;
    std::int64_t rows_, written_ = 0;
    Task task_;
    Hdf5File file_;
};

}  // namespace hopscotch
