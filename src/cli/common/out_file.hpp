// SPDX-License-Identifier: Apache-2.0
// A file that an option names, before the work for it begins.
#pragma once
#include <string>

namespace hopscotch {

// Files are written under another name and renamed, which would replace even a device. Throws ConfigError for a path that is
// empty, is not a regular file, or cannot be written. kind: "CSV file".
void check_out_file(std::string const& path, std::string const& kind, std::string const& option = "--out");

}  // namespace hopscotch
