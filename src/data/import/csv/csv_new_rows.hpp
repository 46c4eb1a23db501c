// SPDX-License-Identifier: Apache-2.0
// New rows of a CSV file, in the columns of a table that was imported (Manifest::provenance).
#pragma once
#include <functional>
#include <memory>
#include <optional>

#include "data/import/csv/csv_import.hpp"
#include "data/import/new_rows.hpp"

namespace hopscotch {

struct CsvNewRowsOptions {
    std::filesystem::path source;
    std::string id;  // column to copy through, by name, else by index from 0; empty: the record's number
    // Of cells and of whole columns: error or mean. None: cells as at the import (drop: error), columns error.
    std::optional<MissingValues> missing;
    bool unseen_as_none = false;      // a category that the training data did not have is none, else an error
    std::function<void()> poll;       // may be empty; called now and then while rows are opened; its exception ends that
    std::optional<char> delimiter{};  // none: as at the import
};

// Columns are found by name, in any order; others are ignored. Without a header they are found by place. Throws ConfigError
// for columns that are not there (all at once), DataError if `trained` does not describe a CSV table. Copies in TMPDIR (of a
// pipe, of Parquet) are removed before the function returns.
std::unique_ptr<NewRowSource> new_csv_rows(CsvNewRowsOptions const& options, Manifest const& trained);

}  // namespace hopscotch
