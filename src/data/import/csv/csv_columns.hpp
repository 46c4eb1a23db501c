// SPDX-License-Identifier: Apache-2.0
// A column of a table: the kind of its cells, and the features made of it. Private to the importer.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/import/csv/csv_cells.hpp"
#include "data/import/csv/csv_import.hpp"
#include "data/import/csv/csv_reader.hpp"
#include "data/import/number_range.hpp"

namespace hopscotch {

// Cells of which a message names the first. Huge: no finite float32. Code: see is_code().
enum class Odd { text, dressed, gap, huge, code, not_binary };

struct FirstCell {
    std::string cell, place;
};

// The findings of the first pass in a column.
struct ColumnTypes {
    std::int64_t numbers = 0, texts = 0, missing = 0;
    std::int64_t dressed = 0, dates = 0;  // of the texts: numbers for people, with the unit of the first of them; dates
    std::string unit;
    bool bytes = true, binary = true;  // every number so far is an integer 0..255; is 0 or 1
    NumberRange range;                 // of the numbers
    std::map<Odd, FirstCell> first;

    void observe(std::optional<ColumnType> chosen, std::string_view cell, CsvReader const& at);

private:
    void observe_number(std::string_view cell, double value, CsvReader const& at);
    void observe_text(std::string_view cell, CsvReader const& at);
};

enum class ColumnKind { number, date, one_hot, hashed, label, dropped };
inline bool is_one_feature(ColumnKind kind) {
    return kind == ColumnKind::number || kind == ColumnKind::date || kind == ColumnKind::hashed;
}

struct CsvColumn {
    std::string name;  // of the header, or "column 3"
    ColumnKind kind = ColumnKind::number;
    std::uint64_t hash_seed = 0;          // of hashed: xxh3 of the name
    std::vector<std::string> categories;  // of one_hot: sorted
    double offset = 0;                    // of numbers and dates: an integer that is subtracted from each
};

// A number or a date, less the column's offset, which is exact for 64-bit integers. Text: the cell is neither.
CellKind read_value(CsvColumn const& column, std::string_view cell, double& value);

}  // namespace hopscotch
