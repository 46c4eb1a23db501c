// SPDX-License-Identifier: Apache-2.0
// Imports CSV files as a dataset directory. Streams: the files are read three times (column types; labels and categories;
// values) and no pass keeps more than 16 bytes a row and one shard in memory.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/manifest.hpp"

namespace hopscotch {

enum class CsvHeader { automatic, present, absent };
enum class MissingValues { error, mean, drop };

struct ImportCsvOptions {
    std::vector<std::filesystem::path> sources;  // one or several files with the same columns, read in this order
    std::filesystem::path out;                   // dataset directory to make; may exist if it is empty
    std::int64_t shards = 1;  // training shards, and as many validation shards; best a multiple of the trainers
    double valid = 0.2;       // fraction of the rows kept for validation, of each class; between 0 and 1
    std::string label;        // column by name, else by index from 0; empty: the last column
    CsvHeader header = CsvHeader::automatic;  // automatic: a text in line 1 above a column of numbers
    std::uint64_t seed = 0;                   // of the split and the shuffle
    Task task = Task::classification;         // regression: the label is a number to be predicted
    std::string shape;                        // of a row, "1x8x8" (channels x height x width); empty: flat
    MissingValues missing =
        MissingValues::error;  // empty, NA, NaN, ?: refuse, or the training rows' mean (no category), or drop the row
};

struct ImportReport {
    Manifest manifest;
    std::int64_t dropped_rows = 0;  // for missing values
};

// Throws ConfigError for options that do not fit (each other or the file), DataError "file:line: ..." for bad cells.
// Whatever it throws, nothing remains on disk.
ImportReport import_csv_files(ImportCsvOptions const& options);

// "1x8x8" -> {1, 8, 8}. Throws ConfigError.
std::vector<std::int64_t> parse_shape(std::string const& text);

}  // namespace hopscotch
