// SPDX-License-Identifier: Apache-2.0
#include "core/file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <span>
#include <sstream>
#include <vector>

#include "core/error.hpp"
#include "core/hash.hpp"

namespace hopscotch {

std::string read_whole(std::filesystem::path const& path, ReadFrom from) {
    std::error_code refused;  // what is not there: ifstream says why
    auto const status = std::filesystem::status(path, refused);
    bool const readable = is_regular_file(status) || (from == ReadFrom::file_or_pipe && !is_directory(status));
    if (exists(status) && !readable) throw DataError(fmt::format("{}: cannot be read (it is not a file)", path.string()));
    std::ifstream in(path, std::ios::binary);
    if (!in) throw DataError(fmt::format("{}: cannot be read ({})", path.string(), std::strerror(errno)));
    std::ostringstream text;
    text << in.rdbuf();
    return std::move(text).str();
}

std::uint64_t hash_file(std::filesystem::path const& path) {
    std::ifstream in(path, std::ios::binary);
    std::vector<char> buffer(1 << 20);
    Xxh64Stream hash;
    while (in) {
        in.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
        hash.update(std::as_bytes(std::span(buffer.data(), static_cast<std::size_t>(in.gcount()))));
    }
    if (!in.eof()) throw DataError(fmt::format("{}: cannot be read; check the disk and its permissions", path.string()));
    return hash.digest();
}

}  // namespace hopscotch
