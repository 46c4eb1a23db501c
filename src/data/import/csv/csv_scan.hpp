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

#include "data/import/csv/csv_columns.hpp"
#include "data/import/csv/csv_header.hpp"
#include "data/import/csv/csv_import.hpp"
#include "data/import/csv/csv_reader.hpp"

namespace hopscotch {

inline constexpr std::size_t k_most_categories = 1000;  // of a text column: beyond, it is an id or free text
// A million columns take 4 s and 0.6 GB. A table with more columns is probably transposed.
inline constexpr std::size_t k_most_csv_features = 1 << 20;

// The options for each column, found by its name in the first record or by its index.
using ChosenTypes = std::vector<std::optional<ColumnType>>;
ChosenTypes chosen_types(ImportCsvOptions const& options, std::vector<std::string> const& first);

struct CsvTable {
    HeaderDecision header;
    std::vector<CsvColumn> columns;
    std::vector<ColumnTypes> types;  // of each column
    ChosenTypes chosen;
    std::vector<std::size_t> labels;  // columns, as the options order them
    std::optional<std::size_t> id;    // the column that names the rows
    FeatureType type = FeatureType::float32;
    std::int64_t dropped = 0;
    std::vector<std::uint32_t> classes;  // of each row that is kept; regression: all 0
    std::size_t class_count = 1;
    std::vector<std::string> class_names;  // empty if the labels were 0..n-1

    std::vector<std::string> feature_names() const;  // "p0", or "colour=red" for one of the columns of a category
    std::vector<std::int64_t> feature_categories(std::int64_t hash_buckets) const;  // of the manifest
};

// One of n - 1 ids from 1 up; 0 is "missing". Name and text are hashed, so that equal texts of two columns differ.
float hashed_category(CsvColumn const& column, std::string_view cell, std::int64_t buckets);

// Calls visit for each record after the header, of all sources in turn. Throws DataError for ragged records.
void for_each_record(ImportCsvOptions const& options, bool header,
                     std::function<void(CsvReader const&, Cells const&)> const& visit);

// Whether `missing` says to leave this record out.
bool is_dropped(ImportCsvOptions const& options, ChosenTypes const& chosen, Cells const& cells);

// Passes one and two. Throws ConfigError, DataError.
CsvTable scan_csv(ImportCsvOptions const& options);

// The end of pass one, after the cells: kinds and offsets of the columns, whose names and types are known. Throws
// ConfigError for columns that options name and that are not there, DataError naming the cells that do not fit.
void set_columns(ImportCsvOptions const& options, CsvTable& table);

// Fills in dropped, classes, class_count, class_names and the categories of a table whose columns are known.
void scan_labels(ImportCsvOptions const& options, CsvTable& table);

// Pass three: the rows that are kept.
class RowsReader {
public:
    RowsReader(ImportCsvOptions const& options, CsvTable const& table);

    // Each row as numbers (missing: NaN; of a category: 0), with its class or its targets.
    void read(std::function<void(std::span<float const>, std::span<double const>)> const& row);
    std::int64_t record() const { return record_; }  // of the last row: its number in the files, from 0
    std::string_view name() const { return name_; }  // the text of the column `id`
    std::vector<std::string> decisions() const;      // of the rows that have been read: numbers that became equal

private:
    double number(std::size_t i, Cells const& record, CsvReader const& at);
    void read_features(CsvReader const& at, Cells const& record);

    ImportCsvOptions const& options_;
    CsvTable const& table_;
    std::vector<RoundingWatch> rounding_;  // of each column
    std::vector<float> features_;
    std::int64_t record_ = -1;
    std::string_view name_;
};

// The decisions of passes one and two, a sentence each: for people, and for dataset.json.
std::vector<std::string> csv_decisions(ImportCsvOptions const& options, CsvTable const& table);

}  // namespace hopscotch
