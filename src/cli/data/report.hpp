// SPDX-License-Identifier: Apache-2.0
// The results of `hopscotch data import | inspect | verify`, on standard output. The functions return the exit code, and
// throw ConfigError or DataError for bad input.
#pragma once
#include <filesystem>

#include "data/import/import_options.hpp"

namespace hopscotch {

// Contents of the new dataset, speed of the import, and rows and files that were left out.
int report_import(std::filesystem::path const& directory, ImportReport const& report, double seconds);

// Contents of a dataset directory, as a table.
int inspect_dataset(std::filesystem::path const& directory);

// Reads every row. Each failure is printed on a line of its own; then the exit code is 1.
int verify_dataset(std::filesystem::path const& directory);

}  // namespace hopscotch
