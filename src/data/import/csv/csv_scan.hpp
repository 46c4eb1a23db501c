// SPDX-License-Identifier: Apache-2.0
// The three passes over CSV files. The first two find the columns (header, types, categories) and each row's label; the
// third turns records into numbers. Private to the importer.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/import/csv/csv_import.hpp"
#include "data/import/csv/csv_reader.hpp"

namespace hopscotch {

inline constexpr std::size_t k_most_categories = 1000;  // of a text column: beyond, it is an id or free text
// A million columns take 4 s and 0.6 GB. A table with more columns is probably transposed.
inline constexpr std::size_t k_most_csv_features = 1 << 20;

// The findings of the first pass in a column.
struct ColumnTypes {
    std::int64_t numbers = 0, texts = 0, missing = 0;
    std::string first_text, first_text_place, first_missing_place, first_huge, first_huge_place;
    std::string first_not_binary, first_not_binary_place;  // a number that is neither 0 nor 1
    bool bytes = true;                                     // every number so far is an integer 0..255
};

enum class ColumnKind { number, one_hot, hashed, label };

struct CsvColumn {
    std::string name;  // of the header, or "column 3"
    ColumnKind kind = ColumnKind::number;
    std::uint64_t hash_seed = 0;          // of hashed: xxh3 of the name
    std::vector<std::string> categories;  // of one_hot: sorted
    std::int64_t missing = 0;
    std::string first_text, first_text_place;  // why it is categorical
};

struct CsvTable {
    bool header = false;
    std::vector<CsvColumn> columns;
    std::vector<std::size_t> labels;  // columns, as the options order them
    FeatureType type = FeatureType::float32;
    std::int64_t dropped = 0;
    std::vector<std::uint32_t> classes;  // of each row that is kept; regression: all 0
    std::size_t class_count = 1;
    std::vector<std::string> class_names;  // empty if the labels were 0..n-1

    std::vector<std::string> feature_names() const;  // "p0", or "colour=red" for one of the columns of a category
    std::vector<std::int64_t> feature_categories(std::int64_t hash_buckets) const;  // of the manifest
};

enum class CellKind { number, text, missing };

// A number may be anything that from_chars reads, with a leading '+' too.
CellKind read_cell(std::string_view cell, double& value);

// One of n - 1 ids from 1 up; 0 is "missing". Name and text are hashed, so that equal texts of two columns differ.
float hashed_category(CsvColumn const& column, std::string_view cell, std::int64_t buckets);

using Cells = std::vector<std::string_view>;

// Calls visit for each record behind the header, of all sources in turn. Throws DataError for ragged records.
void for_each_record(ImportCsvOptions const& options, bool header,
                     std::function<void(CsvReader const&, Cells const&)> const& visit);

// Passes one and two. Throws ConfigError, DataError.
CsvTable scan_csv(ImportCsvOptions const& options);

// The end of pass one, after the cells: names and kinds of the columns. Throws ConfigError for columns that options name and
// that are not there, DataError naming the cell that does not fit.
void set_columns(ImportCsvOptions const& options, CsvTable& table, std::vector<ColumnTypes> const& types);

// Fills in dropped, classes, class_count, class_names and the categories of a table whose columns are known.
void scan_labels(ImportCsvOptions const& options, CsvTable& table);

// Pass three: each row that is kept as numbers (missing: NaN; of a category: 0), with its class or its targets.
void read_rows(ImportCsvOptions const& options, CsvTable const& table,
               std::function<void(std::span<float const>, std::span<double const>)> const& row);

// Whether `missing` says to leave this record out.
bool is_dropped(ImportCsvOptions const& options, Cells const& cells);

}  // namespace hopscotch
