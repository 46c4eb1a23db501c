// SPDX-License-Identifier: Apache-2.0
// Reads pieces of an open shard's features. Hopscotch writes features as one block, which is read straight from the file
// without a lock. If another program chose another layout or byte order, HDF5 reads them.
#pragma once
#include <filesystem>
#include <optional>

#include "data/dataset/hdf5_file.hpp"
#include "data/dataset/manifest.hpp"

namespace hopscotch {

struct CloseFile {
    static int null() { return -1; }
    void operator()(int file) noexcept;
};

class ShardReader {
public:
    // open: the file at `path`, which is as the manifest says (check_layout). Throws DataError.
    ShardReader(std::filesystem::path path, Hdf5File open, Manifest const& manifest);

    // Rows [first, first + rows) in the manifest's type. From any thread. Throws DataError naming the file and the rows.
    void read(std::int64_t first, std::int64_t rows, MutableBytes out) const;

    std::size_t row_bytes() const { return row_bytes_; }

private:
    std::filesystem::path path_;
    std::size_t row_bytes_;
    std::int64_t offset_ = 0;            // of row 0 in file_
    UniqueHandle<int, CloseFile> file_;  // one of the two is open
    std::optional<Hdf5File> hdf5_;
};

}  // namespace hopscotch
