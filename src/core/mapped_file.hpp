// SPDX-License-Identifier: Apache-2.0
// A part of a file, mapped for reading. All processes of a host that map a file share the kernel's one copy of its pages.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "core/byte_view.hpp"

namespace hopscotch {

class MappedFile {
public:
    // Reads the part ahead. The file must not be cut short: touching a page beyond its end kills the process with SIGBUS.
    // Throws DataError if the file does not hold the part, or cannot be mapped.
    MappedFile(std::filesystem::path const& path, std::int64_t offset, std::size_t bytes);
    ~MappedFile();
    MappedFile(MappedFile const&) = delete;
    MappedFile& operator=(MappedFile const&) = delete;

    ByteView bytes() const { return part_; }

private:
    void* pages_ = nullptr;
    std::size_t length_ = 0;  // of the pages
    ByteView part_;
};

}  // namespace hopscotch
