// SPDX-License-Identifier: Apache-2.0
#include "cli/common/out_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/error.hpp"

namespace hopscotch {

void check_out_file(std::string const& path, std::string const& kind, std::string const& option) {
    namespace fs = std::filesystem;
    std::error_code ignored;
    auto const there = fs::status(path, ignored);
    bool const other = fs::exists(there) && !fs::is_regular_file(there);
    if (path.empty() || other)
        throw ConfigError(fmt::format("{} \"{}\": {}; name the {} to write", option, path,
                                      path.empty()              ? "is empty"
                                      : fs::is_directory(there) ? "is a directory"
                                                                : "is not a regular file",
                                      kind));
    auto const folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
    if (::access(folder.c_str(), W_OK | X_OK) != 0)
        throw ConfigError(
            fmt::format("{} {}: cannot be written ({}); name a file in a folder that exists and can be written", option,
                        path, std::strerror(errno)));
}

}  // namespace hopscotch
