// SPDX-License-Identifier: Apache-2.0
// Reading a whole file, as text or for its hash, for all modules.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

namespace hopscotch {

// Throws DataError that names the file. file: a directory, a device or a pipe is refused, since reading it would give
// nothing or never end; file_or_pipe: a pipe is read to its end.
enum class ReadFrom { file, file_or_pipe };
std::string read_whole(std::filesystem::path const& path, ReadFrom from = ReadFrom::file);

// xxh64 over the file's bytes. Throws DataError if it cannot be read.
std::uint64_t hash_file(std::filesystem::path const& path);

}  // namespace hopscotch
