// SPDX-License-Identifier: Apache-2.0
// The first two passes over CSV files: what the columns are (header, types, categories) and what each row's label is; and
// the third, which turns records into numbers. Private to the importer.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/csv_import.hpp"
#include "data/csv_reader.hpp"

namespace hopscotch {

inline constexpr std::size_t k_most_categories = 1000;  // of a text column: beyond, it is an id or free text

struct CsvColumn {
    std::string name;                     // of the header, or "column 3"
    bool categorical = false;             // some cell is no number: one-hot
    std::vector<std::string> categories;  // sorted
    std::int64_t missing = 0;
    std::string first_text, first_text_place;  // why it is categorical
};

struct CsvTable {
    bool header = false;
    std::vector<CsvColumn> columns;
    std::size_t label = 0;
    FeatureType type = FeatureType::float32;
    std::int64_t dropped = 0;
    std::vector<std::uint32_t> classes;  // of each row that is kept; regression: all 0
    std::size_t class_count = 1;
    std::vector<std::string> class_names;  // empty if the labels were 0..n-1

    std::vector<std::string> feature_names() const;  // "p0", or "colour=red" for one of the columns of a category
};

enum class CellKind { number, text, missing };

// A number may be anything that from_chars reads, with a leading '+' too.
CellKind read_cell(std::string_view cell, double& value);

using Cells = std::vector<std::string_view>;

// Calls visit for each record behind the header, of all sources in turn. Throws DataError for ragged records.
void for_each_record(ImportCsvOptions const& options, bool header,
                     std::function<void(CsvReader const&, Cells const&)> const& visit);

// Passes one and two. Throws ConfigError, DataError.
CsvTable scan_csv(ImportCsvOptions const& options);

// Fills in dropped, classes, class_count, class_names and the categories of a table whose columns are known.
void scan_labels(ImportCsvOptions const& options, CsvTable& table);

// Pass three: each row that is kept as numbers (missing: NaN), with its class or target.
void read_rows(ImportCsvOptions const& options, CsvTable const& table,
               std::function<void(std::span<float const>, double)> const& row);

// Whether `missing` says to leave this record out.
bool is_dropped(ImportCsvOptions const& options, Cells const& cells);

}  // namespace hopscotch
