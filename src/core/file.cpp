// SPDX-License-Identifier: Apache-2.0
#include "core/file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "core/error.hpp"

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

}  // namespace hopscotch
