// SPDX-License-Identifier: Apache-2.0
// Splits one CSV file into records (RFC 4180: quotes, doubled quotes, line breaks inside quotes; LF, CRLF or CR; a UTF-8
// byte-order mark), streaming, with memory for one record of at most 64 MiB.
#pragma once
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace hopscotch {

// How place() names a record: by its line, or by its row from 0 below a header (of a text that was made from another file).
enum class CsvPlaces { lines, rows };

class CsvReader {
public:
    // Throws DataError if it cannot be opened.
    explicit CsvReader(std::filesystem::path path, char delimiter = ',', CsvPlaces places = CsvPlaces::lines);

    // The cells of the next record, quotes taken off and outer blanks trimmed; empty lines are skipped. The views last until
    // the next call. False at the end. DataError "file:line: ..." for a quote that is never closed, text after a quote, a
    // NUL, bytes that are not UTF-8.
    bool next(std::vector<std::string_view>& cells);

    std::int64_t line() const { return line_; }  // where the last record began, from 1
    std::string place() const;                   // "file.csv:17", or "file.parquet: row 16"
    std::int64_t records() const { return records_; }

private:
    bool read_line();  // appends to record_; false at the end of the file
    bool record_complete();
    void split(std::vector<std::string_view>& cells);
    std::string_view quoted_cell(std::size_t& at);

    void check_characters() const;
    bool is_blank(char c) const;
    std::string_view trimmed(std::string_view text) const;

    std::filesystem::path path_;
    char delimiter_;
    CsvPlaces places_;
    std::vector<char> buffer_, piece_;
    std::ifstream in_;
    std::string record_;
    char line_end_ = '\n';
    bool has_quotes_ = false;     // the record
    bool in_quotes_ = false;      // at the end of the part that has been parsed
    std::size_t looked_at_ = 0;   // bytes of record_ that have been parsed
    std::size_t reopens_at_ = 0;  // a quote at this byte goes on with the quoted cell before it
    std::int64_t line_ = 0, next_line_ = 1, records_ = 0;
    std::int64_t row_ = -1;  // of the last record, from 0 below a header
};

}  // namespace hopscotch
