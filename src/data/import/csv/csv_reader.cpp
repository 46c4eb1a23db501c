// SPDX-License-Identifier: Apache-2.0
#include "data/import/csv/csv_reader.hpp"

#include <fmt/format.h>

#include "core/characters.hpp"
#include "core/error.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_longest_record = 64 << 20;  // a quote that is never closed must not swallow the memory
constexpr std::size_t k_looked_at = 64 << 10;       // of the file, to find out its line ends

// Files of other kinds, by their first bytes.
std::string_view other_kind(std::string_view start) {
    constexpr std::pair<std::string_view, std::string_view> kinds[] = {
        {"\xFF\xFE", "is UTF-16; save it as UTF-8, or choose --encoding UTF-16"},
        {"\xFE\xFF", "is UTF-16; save it as UTF-8, or choose --encoding UTF-16"},
        {"PK\x03\x04", "is a spreadsheet or a zip archive; save it as CSV text"},
        {"PAR1", "begins as a Parquet file and does not end as one (it is cut off, or no Parquet); copy it again"},
        {"\x89HDF", "is an HDF5 file; use 'hopscotch data import h5'"},
        {"\x93NUMPY", "is a NumPy array; use 'hopscotch data import npy'"},
        {"BZh", "is compressed (bzip2); unpack it first"},
        {"\xFD"
         "7zXZ",
         "is compressed (xz); unpack it first"},
        {"\x28\xB5\x2F\xFD", "is compressed (zstd); unpack it first"}};
    for (auto const& [bytes, kind] : kinds)
        if (start.starts_with(bytes)) return kind;
    return "";
}

}  // namespace

CsvReader::CsvReader(std::filesystem::path path, char delimiter, CsvPlaces places)
    : path_(std::move(path)), delimiter_(delimiter), places_(places), buffer_(1 << 20), piece_(64 << 10) {
    in_.rdbuf()->pubsetbuf(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    in_.open(path_, std::ios::binary);
    if (!in_ || std::filesystem::is_directory(path_))
        throw DataError(fmt::format("{}: cannot be read; check the path and its permissions", path_.string()));
    std::string start(k_looked_at, '\0');
    in_.read(start.data(), static_cast<std::streamsize>(start.size()));
    start.resize(static_cast<std::size_t>(in_.gcount()));
    if (start.find('\n') == start.npos && start.find('\r') != start.npos) line_end_ = '\r';  // of old Macs
    if (auto const kind = other_kind(start); !kind.empty()) throw DataError(fmt::format("{}: {}", path_.string(), kind));
    in_.clear();
    in_.seekg(start.starts_with("\xEF\xBB\xBF") ? 3 : 0);
}

std::string CsvReader::place() const {
    return places_ == CsvPlaces::rows ? fmt::format("{}: row {}", path_.string(), row_)
                                      : fmt::format("{}:{}", path_.string(), line_);
}

bool CsvReader::is_blank(char c) const { return c == ' ' || (c == '\t' && delimiter_ != '\t'); }

std::string_view CsvReader::trimmed(std::string_view text) const {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

// Piece by piece: a file without line ends (not CSV at all) must not swallow the memory.
bool CsvReader::read_line() {
    auto const begin = record_.size();
    bool more = true;
    while (more) {
        in_.getline(piece_.data(), static_cast<std::streamsize>(piece_.size()), line_end_);
        auto const count = static_cast<std::size_t>(in_.gcount());
        if (count == 0) {
            if (record_.size() == begin) return false;
            break;
        }
        more = in_.fail() && !in_.eof();                  // the piece is full, and its last byte is a terminator
        auto const complete = !in_.fail() && !in_.eof();  // gcount counts the line end
        if (more) in_.clear();
        record_.append(piece_.data(), complete ? count - 1 : count);
        if (record_.size() > k_longest_record)
            throw DataError(fmt::format(
                "{}: a record of more than 64 MiB (a quote that is never closed, or no CSV); check the file", place()));
    }
    if (record_.find('\0', begin) != record_.npos)
        throw DataError(fmt::format("{}: a NUL byte {}", place(),
                                    places_ == CsvPlaces::rows ? "in a text (no cell of a table can have it); take it out"
                                                               : "(UTF-16, or a binary file); save it as UTF-8 text"));
    ++next_line_;
    return true;
}

// A record is complete when its quotes are: a cell that begins with a quote goes on until the next single quote.
bool CsvReader::record_complete() {
    for (; looked_at_ < record_.size(); ++looked_at_) {
        if (record_[looked_at_] != '"') continue;
        if (in_quotes_) {
            in_quotes_ = false;
            reopens_at_ = looked_at_ + 1;  // a doubled quote
        } else {
            auto before = looked_at_;
            while (before > 0 && is_blank(record_[before - 1])) --before;
            in_quotes_ = looked_at_ == reopens_at_ || before == 0 || record_[before - 1] == delimiter_;
        }
    }
    return !in_quotes_;
}

bool CsvReader::next(std::vector<std::string_view>& cells) {
    do {
        record_.clear();
        in_quotes_ = false;
        looked_at_ = reopens_at_ = 0;
        line_ = next_line_;
        row_ = records_ - 1;
        if (!read_line()) return false;
        // Nearly all lines have no quotes; find() is many times faster than looking at each character.
        has_quotes_ = record_.find('"') != record_.npos;
        if (has_quotes_)
            while (!record_complete()) {
                record_ += '\n';
                if (!read_line())
                    throw DataError(fmt::format(
                        "{}: a quote (\") that opens in this record is never closed; close it, or double it inside a cell",
                        place()));
            }
        if (!record_.empty() && record_.back() == '\r') record_.pop_back();
    } while (trimmed(record_).empty());
    check_characters();
    split(cells);
    ++records_;
    return true;
}

// A name with broken characters would be equal to another one, and no program could write it down.
void CsvReader::check_characters() const {
    unsigned char all = 0;
    for (auto const byte : record_) all |= static_cast<unsigned char>(byte);
    if (all < 0x80 || is_utf8(record_)) return;
    throw DataError(fmt::format("{}: text that is not UTF-8; {}save the file as UTF-8", place(),
                                places_ == CsvPlaces::rows ? "" : "choose --encoding latin-1 (or windows-1252, ...), or "));
}

// Takes the quotes off in place: the text of a quoted cell is never longer than its source.
std::string_view CsvReader::quoted_cell(std::size_t& at) {
    auto const begin = at;
    auto end = begin;
    for (++at; at < record_.size(); ++at) {
        if (record_[at] == '"') {
            if (at + 1 >= record_.size() || record_[at + 1] != '"') break;
            ++at;
        }
        record_[end++] = record_[at];
    }
    ++at;
    auto const comma = std::min(record_.find(delimiter_, at), record_.size());
    if (!trimmed(std::string_view(record_).substr(at, comma - at)).empty())
        throw DataError(fmt::format("{}: text behind a closing quote (\") in cell {}; double the quotes inside a cell",
                                    place(), record_.substr(begin, end - begin)));
    at = comma;
    return std::string_view(record_).substr(begin, end - begin);
}

void CsvReader::split(std::vector<std::string_view>& cells) {
    cells.clear();
    std::string_view const record = record_;
    if (!has_quotes_) {
        std::size_t at = 0;
        for (std::size_t end; (end = record.find(delimiter_, at)) != record.npos; at = end + 1)
            cells.push_back(trimmed(record.substr(at, end - at)));
        return cells.push_back(trimmed(record.substr(at)));
    }
    for (std::size_t at = 0;; ++at) {
        auto start = at;
        while (start < record.size() && is_blank(record[start])) ++start;
        if (start < record.size() && record[start] == '"') {
            at = start;
            cells.push_back(trimmed(quoted_cell(at)));
        } else {
            auto const comma = std::min(record.find(delimiter_, at), record.size());
            cells.push_back(trimmed(record.substr(at, comma - at)));
            at = comma;
        }
        if (at >= record.size()) return;
    }
}

}  // namespace hopscotch
