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
        case ParquetKind::index:
        case ParquetKind::other_index: return ColumnType::dropped;
        case ParquetKind::number:
        case ParquetKind::other: break;
    }
    return std::nullopt;
}

// A column without any value.
bool is_null(ParquetColumn const& column) { return column.type == "null"; }

// Both are compatible: a file whose column is all null goes with any other file.
bool agree(ParquetColumn const& a, ParquetColumn const& b) {
    return a.name != b.name || a.kind == b.kind || is_null(a) || is_null(b);
}

// used: named by the user. Without that, the index of a pandas frame is left out.
void require_cells_of(fs::path const& source, ParquetColumn const& column, bool used, std::string const& cure) {
    if (column.kind == ParquetKind::other || (used && column.kind == ParquetKind::other_index))
        throw DataError(
            fmt::format("{}: column '{}' is {} (a row needs one number, text or date); write it as one of these{}",
                        source.string(), column.name, column.type, cure));
}

// Facts that cells of a CSV text cannot express. A name of a row may be NA.
std::vector<std::string> losses(ParquetColumn const& column, bool is_id) {
    std::vector<std::string> out;
    auto const say = [&](std::int64_t count, std::string const& what) {
        if (count > 0) out.push_back(fmt::format("column '{}': {}", column.name, what));
    };
    auto const empty = is_id ? 0 : column.empty, words = is_id ? 0 : column.words;
    say(empty, fmt::format("{} missing, as null does", counted(empty, "empty text counts as", "empty texts count as")));
    say(words, fmt::format("{} missing, as in a CSV",
                           counted(words, "text such as NA, ? or NULL counts as", "texts such as NA, ? or NULL count as")));
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
    if (tables_.front() && index < tables_.front()->columns.size())
        require_cells_of(sources_.front(), tables_.front()->columns[index], true, "");
}

// In the earlier files.
void TypedSources::check_agreement(std::size_t source, std::size_t index) const {
    auto const& column = tables_[source]->columns[index];
    for (std::size_t before = 0; before < source; ++before) {
        auto const& other = tables_[before];
        if (other && index < other->columns.size() && !agree(other->columns[index], column))
            throw DataError(fmt::format("{}: column '{}' is {} ({} in {}); write both with one type, or choose --type",
                                        sources_[source].string(), column.name, column.type, other->columns[index].type,
                                        sources_[before].string()));
    }
}

void TypedSources::tell(CsvTypes& typed, std::size_t source, Choices const& choices) const {
    auto const& [columns, rows, by] = *tables_[source];
    typed.by = by;
    typed.texts.push_back(paths_[source]);
    typed.decisions.push_back(fmt::format("{}: Parquet, {}, read through {}", sources_[source].filename().string(),
                                          counted(rows, "row", "rows"), by));
    typed.of_columns.resize(std::max(typed.of_columns.size(), columns.size()));
    for (std::size_t i = 0; i < columns.size(); ++i) {
        auto const choice = i < choices.all.size() ? choices.all[i] : std::nullopt;
        bool const is_id = i < choices.ids.size() && choices.ids[i];
        if (!typed.of_columns[i]) typed.of_columns[i] = type_of(columns[i].kind);
        if (choice == ColumnType::dropped && !is_id) continue;
        require_cells_of(sources_[source], columns[i], choice.has_value(),
                         is_id ? ", or choose another --id"
                               : fmt::format(", or leave it out with --drop {}", columns[i].name));
        if (!choice) check_agreement(source, i);
        for (auto& loss : losses(columns[i], is_id)) typed.decisions.push_back(std::move(loss));
    }
}

void TypedSources::remove_files() {
    std::error_code ignored;
    if (folder_) fs::remove_all(folder_->path(), ignored);
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
    auto const names = names_of(**first, options.delimiter);
    auto of_ids = options;
    std::erase_if(of_ids.columns, [](auto const& choice) { return choice.option != k_id_option; });
    Choices const choices{chosen_types(options, names), chosen_types(of_ids, names)};
    for (std::size_t source = 0; source < tables_.size(); ++source)
        if (tables_[source]) tell(options.typed, source, choices);
    return options;
}

}  // namespace hopscotch
