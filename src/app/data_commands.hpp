// SPDX-License-Identifier: Apache-2.0
// What `hopscotch data import | inspect | verify` say: results to standard output, exit codes as return values. Bad input is
// thrown (ConfigError, DataError).
#pragma once
#include <filesystem>

#include "data/import/import_options.hpp"

namespace hopscotch {

// What was imported into the directory, how fast, and what was left out. Returns the exit code.
int report_import(std::filesystem::path const& directory, ImportReport const& report, double seconds);

// What a dataset directory holds, as a table.
int inspect_dataset(std::filesystem::path const& directory);

// Reads everything; 1 if anything is wrong, each failure on a line of its own.
int verify_dataset(std::filesystem::path const& directory);

}  // namespace hopscotch
