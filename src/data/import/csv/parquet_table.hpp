// SPDX-License-Identifier: Apache-2.0
// A Parquet table becomes CSV text, which the importer reads as any other. Another program reads the file: Python with
// pyarrow, in a process of its own, which also describes each column. Private to the importer.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace hopscotch {

extern char const* const k_parquet_script;  // python3 -I -c SCRIPT SOURCE.parquet OUT.csv TOLD.json WISHES

// Index: of a pandas frame, which stores it as a column. Other: no cell of a table (lists, structs, bytes).
enum class ParquetKind { number, category, date, index, other, other_index };

struct ParquetColumn {
    std::string name, type;  // "zip", "string"
    ParquetKind kind = ParquetKind::number;
    std::int64_t empty = 0, words = 0, blanks = 0;  // texts: empty; such as NA; with blanks around them
};

struct ParquetTable {
    std::vector<ParquetColumn> columns;  // in their order
    std::int64_t rows = 0;
    std::string by;  // "pyarrow 26.0.1"
};

struct ParquetWishes {
    char delimiter = ',';
    std::vector<std::string> targets;  // columns whose true and false are 1 and 0, by name or index
    std::string python;                // empty: HOPSCOTCH_PYTHON, or python3 of PATH
    double silent_s = 300;             // Python is killed if it writes nothing for that time
    std::function<void()> poll;        // called now and then; its exception ends the program
};

// Local. Makes the file `out` in a folder without others. Python has some batches of rows in memory. Throws DataError that
// names the source.
ParquetTable parquet_to_csv(std::filesystem::path const& source, std::filesystem::path const& out,
                            ParquetWishes const& wishes);

}  // namespace hopscotch
