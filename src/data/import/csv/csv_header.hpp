// SPDX-License-Identifier: Apache-2.0
// Is the first record of a table its header? Private to the importer.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "data/import/csv/csv_columns.hpp"
#include "data/import/csv/csv_import.hpp"

namespace hopscotch {

struct HeaderDecision {
    bool header = false;
    std::string why;  // in words, for the account of the import
};

// Names do not occur again in the records below; values do. Sees the first record, then all others, and compares.
class HeaderSearch {
public:
    HeaderSearch() = default;
    explicit HeaderSearch(std::vector<std::string> first);

    // A record below the first. True if it is equal to the first, cell by cell: such a record is not evidence.
    bool see(Cells const& record);

    // `types` are of the records below the first. Throws ConfigError, which asks for --header, where the evidence is not
    // clear.
    HeaderDecision decide(ImportCsvOptions const& options, std::vector<ColumnTypes> const& types) const;

private:
    bool names_a_column(ImportCsvOptions const& options) const;
    bool is_a_sequence() const;
    HeaderDecision decide_numbers(ImportCsvOptions const& options) const;

    std::vector<std::string> first_;
    std::vector<CellKind> kinds_;
    std::vector<double> numbers_;  // 0 for a text
    std::vector<char> occurs_;     // below, in the same column
};

}  // namespace hopscotch
