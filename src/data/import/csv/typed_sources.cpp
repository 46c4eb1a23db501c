// SPDX-License-Identifier: Apache-2.0
#include "data/import/csv/typed_sources.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/counted.hpp"
#include "core/error.hpp"
#include "data/import/csv/csv_scan.hpp"
#include "data/import/readable_sources.hpp"

namespace hopscotch {
namespace {

namespace fs = std::filesystem;

// As the importer reads the header of the text.
std::vector<std::string> names_of(ParquetTable const& table, char delimiter) {
    std::vector<std::string> out;
    for (auto const& column : table.columns) {
        auto const* const blanks = delimiter == '\t' ? " " : " \t";
        auto const begin = column.name.find_first_not_of(blanks);
        out.push_back(
            begin == column.name.npos ? "" : column.name.substr(begin, column.name.find_last_not_of(blanks) + 1 - begin));
    }
    return out;
}

std::optional<ColumnType> type_of(ParquetKind kind) {
    switch (kind) {
        case ParquetKind::category: return ColumnType::category;
        case ParquetKind::date: return ColumnType::date;
        case ParquetKind::index: return ColumnType::dropped;
        case ParquetKind::number:
        case ParquetKind::other: break;
    }
    return std::nullopt;
}

// A column without any value.
bool is_null(ParquetColumn const& column) { return column.type == "null"; }

// Both say nothing against each other: a file whose column is all null goes with any other file.
bool agree(ParquetColumn const& a, ParquetColumn const& b) {
    return a.name != b.name || a.kind == b.kind || is_null(a) || is_null(b);
}

// What cells of a CSV text cannot say.
std::vector<std::string> losses(ParquetColumn const& column) {
    std::vector<std::string> out;
    auto const say = [&](std::int64_t count, std::string const& what) {
        if (count > 0) out.push_back(fmt::format("column '{}': {}", column.name, what));
    };
    say(column.empty,
        fmt::format("{} missing, as null does", counted(column.empty, "empty text counts as", "empty texts count as")));
    say(column.words, fmt::format("{} missing, as in a CSV", counted(column.words, "text such as NA, ? or NULL counts as",
                                                                     "texts such as NA, ? or NULL count as")));
    say(column.blanks, counted(column.blanks, "text loses the blanks around it", "texts lose the blanks around them"));
    return out;
}

}  // namespace

TypedSources::TypedSources(std::vector<fs::path> sources, ParquetWishes const& wishes) : sources_(std::move(sources)) {
    for (auto const& source : sources_) {
        paths_.push_back(source);
        tables_.emplace_back();
        if (!is_parquet(source)) continue;
        if (!folder_) folder_.emplace();
        // Of the same name, which the dataset records; two sources may have it.
        auto const out = folder_->path() / fmt::format("{}", paths_.size()) / source.filename();
        fs::create_directory(out.parent_path());
        tables_.back() = parquet_to_csv(source, out, wishes);
        paths_.back() = out;
    }
}

std::string TypedSources::by_source(std::string message) const {
    return with_names_of(sources_, paths_, std::move(message));
}

void TypedSources::require_cells(std::size_t index) const {
    if (!tables_.front() || index >= tables_.front()->columns.size()) return;
    if (auto const& column = tables_.front()->columns[index]; column.kind == ParquetKind::other)
        throw DataError(fmt::format("{}: column '{}' is {} (a row needs one number, text or date); write it as one of these",
                                    sources_.front().string(), column.name, column.type));
}

void TypedSources::check_column(std::size_t source, std::size_t index, bool chosen) const {
    auto const& column = tables_[source]->columns[index];
    if (column.kind == ParquetKind::other)
        throw DataError(
            fmt::format("{}: column '{}' is {} (a row needs one number, text or date); write it as one of these, or leave "
                        "it out with --drop {}",
                        sources_[source].string(), column.name, column.type, column.name));
    for (std::size_t before = 0; before < source && !chosen; ++before) {
        auto const& other = tables_[before];
        if (other && index < other->columns.size() && !agree(other->columns[index], column))
            throw DataError(fmt::format("{}: column '{}' is {} ({} in {}); write both with one type, or choose --type",
                                        sources_[source].string(), column.name, column.type, other->columns[index].type,
                                        sources_[before].string()));
    }
}

// chosen: by the user.
void TypedSources::tell(CsvTypes& typed, std::size_t source, std::vector<std::optional<ColumnType>> const& chosen) const {
    auto const& [columns, rows, by] = *tables_[source];
    typed.by = by;
    typed.texts.push_back(paths_[source]);
    typed.decisions.push_back(fmt::format("{}: Parquet, {}, read through {}", sources_[source].filename().string(),
                                          counted(rows, "row", "rows"), by));
    typed.of_columns.resize(std::max(typed.of_columns.size(), columns.size()));
    for (std::size_t i = 0; i < columns.size(); ++i) {
        auto const choice = i < chosen.size() ? chosen[i] : std::nullopt;
        if (!typed.of_columns[i]) typed.of_columns[i] = type_of(columns[i].kind);
        if (choice == ColumnType::dropped) continue;
        check_column(source, i, choice.has_value());
        for (auto& loss : losses(columns[i])) typed.decisions.push_back(std::move(loss));
    }
}

ImportCsvOptions TypedSources::options(ImportCsvOptions options) const {
    auto const first = std::ranges::find_if(tables_, [](auto const& table) { return table.has_value(); });
    options.sources = paths_;
    if (first == tables_.end()) return options;
    auto const& named = sources_[static_cast<std::size_t>(first - tables_.begin())];
    if (options.header == CsvHeader::absent)
        throw ConfigError(
            fmt::format("--header no: {} is Parquet (whose columns have names); leave the option out", named.string()));
    options.header = CsvHeader::present;
    auto const chosen = chosen_types(options, names_of(**first, options.delimiter));
    for (std::size_t source = 0; source < tables_.size(); ++source)
        if (tables_[source]) tell(options.typed, source, chosen);
    return options;
}

}  // namespace hopscotch
