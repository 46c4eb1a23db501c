// SPDX-License-Identifier: Apache-2.0
// One of MNIST's idx files, gzip-compressed or not: a header of sizes, then bytes. Private to the importer.
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/unique_handle.hpp"

namespace hopscotch {

struct GzipClose {
    static void* null() { return nullptr; }
    void operator()(void* file) noexcept;
};

class IdxReader {
public:
    // Throws DataError naming the file: it cannot be opened, is not an idx file, or has no bytes.
    explicit IdxReader(std::filesystem::path path);

    std::vector<std::int64_t> const& sizes() const { return sizes_; }  // the first one counts the items
    std::filesystem::path const& path() const { return path_; }

    // The next bytes. Throws DataError for a file that ends before.
    void read(std::span<std::uint8_t> out);

    // Throws DataError if there is anything left.
    void expect_end();

private:
    std::size_t read_some(std::span<std::uint8_t> out);
    std::uint32_t read_u32();
    [[noreturn]] void fail(std::string const& problem) const;

    std::filesystem::path path_;
    UniqueHandle<void*, GzipClose> file_;
    std::vector<std::int64_t> sizes_;
};

}  // namespace hopscotch
