// SPDX-License-Identifier: Apache-2.0
// `hopscotch data import csv | inspect | verify`: results to standard output, exit codes as return values. Bad input is
// thrown (ConfigError, DataError).
#pragma once
#include <filesystem>

#include "data/csv_import.hpp"

namespace hopscotch {

int import_csv(ImportCsvOptions const& options);

// What a dataset directory holds, as a table.
int inspect_dataset(std::filesystem::path const& directory);

// Reads everything; 1 if anything is wrong, each failure on a line of its own.
int verify_dataset(std::filesystem::path const& directory);

}  // namespace hopscotch
