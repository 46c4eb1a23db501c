// SPDX-License-Identifier: Apache-2.0
// Sources of a CSV import, some of which are Parquet: these become CSV texts in TMPDIR, and their types are known. Private
// to the importer.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/scratch_directory.hpp"
#include "data/import/csv/csv_import.hpp"
#include "data/import/csv/csv_reader.hpp"
#include "data/import/csv/parquet_table.hpp"

namespace hopscotch {

class TypedSources {
public:
    // Throws DataError that names a source.
    TypedSources(std::vector<std::filesystem::path> sources, ParquetWishes const& wishes);

    std::vector<std::filesystem::path> const& paths() const { return paths_; }
    CsvPlaces places(std::size_t source) const { return tables_[source] ? CsvPlaces::rows : CsvPlaces::lines; }
    std::string by_source(std::string message) const;

    // The options of an import of the texts: sources, header, and facts about the columns. Throws ConfigError and DataError
    // for a column (the names of rows, too) that is not a column of a table, unless the options drop it, and for files that
    // differ in types.
    ImportCsvOptions options(ImportCsvOptions options) const;

    // Throws DataError if the column `index` of the first source cannot be a cell of a row.
    void require_cells(std::size_t index) const;

    void remove_files();  // the texts that were made; a reader that has one open can read on

private:
    // By the user, of each column; ids: names rows.
    struct Choices {
        std::vector<std::optional<ColumnType>> all, ids;
    };
    void tell(CsvTypes& typed, std::size_t source, Choices const& choices) const;
    void check_agreement(std::size_t source, std::size_t index) const;

    std::vector<std::filesystem::path> sources_, paths_;
    std::vector<std::optional<ParquetTable>> tables_;  // none: a text
    std::optional<ScratchDirectory> folder_;           // none: all are texts
};

}  // namespace hopscotch
