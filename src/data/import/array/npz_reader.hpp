// SPDX-License-Identifier: Apache-2.0
// The members of a npz: a zip archive, stored or deflated, zip64 too (APPNOTE.TXT of PKWARE, sections 4.3 and 4.5.3). Zlib,
// which HDF5 brings along on every cluster, does the work; libzip would be one more package for these few lines.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/import/array/npy_reader.hpp"

namespace hopscotch {

inline constexpr std::uint32_t k_zip_stored = 0, k_zip_deflated = 8;

struct NpzMember {
    std::string name;  // without .npy
    std::uint32_t method = 0, crc = 0;
    std::uint64_t packed = 0, size = 0, header_at = 0;
    bool encrypted = false;
};

[[noreturn]] void damaged_zip(std::string const& name, std::string_view why);  // throws DataError

// The .npy members. Throws DataError: not a zip archive, truncated, members that are encrypted or packed in another way.
std::vector<NpzMember> read_npz_directory(std::filesystem::path const& path);

// Throws DataError if the member is not at the place that the directory names. Reading throws DataError if the contents do
// not have the size and checksum that the directory names.
std::unique_ptr<ByteStream> open_npz_member(std::filesystem::path const& path, NpzMember const& member);

}  // namespace hopscotch
