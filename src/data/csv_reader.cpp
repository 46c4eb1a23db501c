// SPDX-License-Identifier: Apache-2.0
#include "data/csv_reader.hpp"

#include <fmt/format.h>

#include "core/error.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_longest_record = 64 << 20;  // a quote that is never closed must not swallow the memory

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

}  // namespace

CsvReader::CsvReader(std::filesystem::path path) : path_(std::move(path)), buffer_(1 << 20) {
    in_.rdbuf()->pubsetbuf(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    in_.open(path_, std::ios::binary);
    if (!in_ || std::filesystem::is_directory(path_))
        throw DataError(fmt::format("{}: cannot be read; check the path and its permissions", path_.string()));
    char mark[3] = {};
    in_.read(mark, 3);
    if (in_.gcount() < 3 || std::string_view(mark, 3) != "\xEF\xBB\xBF") {
        in_.clear();
        in_.seekg(0);
    }
}

std::string CsvReader::place() const { return fmt::format("{}:{}", path_.string(), line_); }

bool CsvReader::read_line() {
    std::string line;
    if (record_.empty() ? !std::getline(in_, record_) : !std::getline(in_, line)) return false;
    record_ += line;
    ++next_line_;
    return true;
}

// A record is complete when its quotes are: a cell that begins with a quote goes on until the next single quote.
bool CsvReader::record_complete() {
    for (; looked_at_ < record_.size(); ++looked_at_) {
        if (record_[looked_at_] != '"') continue;
        if (in_quotes_) {
            in_quotes_ = false;  // a doubled quote opens it again with its second half
        } else {
            auto before = looked_at_;
            while (before > 0 && (record_[before - 1] == ' ' || record_[before - 1] == '\t')) --before;
            auto const doubled = looked_at_ > 0 && record_[looked_at_ - 1] == '"';
            in_quotes_ = doubled || before == 0 || record_[before - 1] == ',';
        }
    }
    return !in_quotes_;
}

bool CsvReader::next(std::vector<std::string_view>& cells) {
    do {
        record_.clear();
        in_quotes_ = false;
        looked_at_ = 0;
        line_ = next_line_;
        if (!read_line()) return false;
        // Nearly all lines have no quotes; find() is many times faster than looking at each character.
        if (record_.find('"') != record_.npos)
            while (!record_complete()) {
                record_ += '\n';
                if (record_.size() > k_longest_record || !read_line())
                    throw DataError(fmt::format(
                        "{}: a quote (\") that opens in this record is never closed; close it, or double it inside a cell",
                        place()));
            }
        if (!record_.empty() && record_.back() == '\r') record_.pop_back();
    } while (trimmed(record_).empty());
    split(cells);
    ++records_;
    return true;
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
    auto const comma = std::min(record_.find(',', at), record_.size());
    if (!trimmed(std::string_view(record_).substr(at, comma - at)).empty())
        throw DataError(fmt::format("{}: text behind a closing quote (\") in cell {}; double the quotes inside a cell",
                                    place(), record_.substr(begin, end - begin)));
    at = comma;
    return std::string_view(record_).substr(begin, end - begin);
}

void CsvReader::split(std::vector<std::string_view>& cells) {
    cells.clear();
    std::string_view const record = record_;
    for (std::size_t at = 0;; ++at) {
        auto start = at;
        while (start < record.size() && (record[start] == ' ' || record[start] == '\t')) ++start;
        if (start < record.size() && record[start] == '"') {
            at = start;
            cells.push_back(trimmed(quoted_cell(at)));
        } else {
            auto const comma = std::min(record.find(',', at), record.size());
            cells.push_back(trimmed(record.substr(at, comma - at)));
            at = comma;
        }
        if (at >= record.size()) return;
    }
}

}  // namespace hopscotch
