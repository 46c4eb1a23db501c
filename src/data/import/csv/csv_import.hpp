// SPDX-License-Identifier: Apache-2.0
// Imports CSV files, and Parquet as CSV, as a dataset directory. Streams: the files are read three times (column types;
// labels and categories; values) and no pass keeps more than 24 bytes a row, names of rows and one shard in memory.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/import/import_options.hpp"

namespace hopscotch {

enum class CsvHeader { automatic, present, absent };
enum class MissingValues { error, mean, drop };

// The role of a column, where the file alone does not tell it.
enum class ColumnType { number, category, date, dropped };

// The option that names the column: the column is not a feature, but names the rows.
inline constexpr std::string_view k_id_option = "id";

struct ColumnChoice {
    std::string option;  // that chose it: "drop", k_id_option
    std::string column;  // by name, else by index from 0
    ColumnType type = ColumnType::number;
};

// Facts about sources that were not texts (Parquet): TypedSources fills them in.
struct CsvTypes {
    std::vector<std::filesystem::path> texts;           // of the sources: those that were made from such files
    std::vector<std::optional<ColumnType>> of_columns;  // none: as if the text were all
    std::vector<std::string> decisions;
    std::string by;  // the program that made the texts
};

struct ImportCsvOptions : ImportOptions {
    // sources: one or several files with the same columns, read in this order
    std::vector<std::string> label;  // columns by name, else by index from 0; empty: the last. Several: several targets
    CsvHeader header = CsvHeader::automatic;  // automatic: names occur nowhere below; asks where that is not clear
    char delimiter = ',';                     // between two cells
    Task task = Task::classification;         // regression: labels are numbers to predict; multilabel: 0 or 1 each
    std::string shape;                        // of a row, "1x8x8" (channels x height x width); empty: flat
    // is_missing(): refuse, or the training rows' mean (no category), or drop the row
    MissingValues missing = MissingValues::error;
    std::int64_t hash_buckets = 0;      // 0: a category becomes one-hot; n: one feature, its hash below n
    std::vector<ColumnChoice> columns;  // the others are numbers, or categories if they have texts
    CsvTypes typed;
};

// Throws ConfigError for options that do not fit (each other or the file), DataError "file:line: ..." for bad cells.
// After an exception nothing remains on disk.
ImportReport import_csv_files(ImportCsvOptions const& options);

}  // namespace hopscotch
