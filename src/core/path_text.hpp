// SPDX-License-Identifier: Apache-2.0
// Paths as people write them, before a file is touched: "~" for the home directory, and names that no file can have.
#pragma once
#include <string>
#include <string_view>

namespace hopscotch {

// made: files are made there, and files beside them with longer names.
enum class PathUse { found, made };

// Why the system would refuse the path: a name or the whole path is too long. Empty: the system accepts the path.
std::string too_long(std::string_view path, PathUse use);

struct HomePath {
    std::string path, problem;  // problem: empty, or why the path has no meaning
};

// "~" and "~/x" are in $HOME, as for a shell. "~anna" is refused: "./~anna" is a file of that name. Other paths stay.
HomePath with_home(std::string_view path);

}  // namespace hopscotch
