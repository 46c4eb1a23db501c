// SPDX-License-Identifier: Apache-2.0
// The account of an import: everything that the passes decided, in words.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/counted.hpp"
#include "data/import/csv/csv_scan.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_most_named = 10;  // columns in a sentence

std::string label_decision(ImportCsvOptions const& options, CsvTable const& table) {
    std::string names;
    for (auto const i : table.labels) names += fmt::format("{}'{}'", names.empty() ? "" : ", ", table.columns[i].name);
    if (options.task != Task::classification)
        return fmt::format("{} {}", table.labels.size() == 1 ? "target" : "targets", names);
    auto const how = table.class_names.empty() ? "the integers from 0 up" : "named and ordered by what the cells say";
    return fmt::format("label {}: {} classes, {}", names, table.class_count, how);
}

std::string kinds_decision(CsvTable const& table) {
    std::int64_t numbers = 0, dates = 0, categories = 0, dropped = 0;
    for (auto const& column : table.columns) {
        numbers += column.kind == ColumnKind::number ? 1 : 0;
        dates += column.kind == ColumnKind::date ? 1 : 0;
        categories += column.kind == ColumnKind::one_hot || column.kind == ColumnKind::hashed ? 1 : 0;
        dropped += column.kind == ColumnKind::dropped ? 1 : 0;
    }
    std::string out = counted(numbers, "column of numbers", "columns of numbers");
    if (dates > 0) out += ", " + counted(dates, "date", "dates");
    if (categories > 0) out += ", " + counted(categories, "category", "categories");
    if (dropped > 0) out += ", " + counted(dropped, "column dropped", "columns dropped");
    return out + fmt::format(": {} features", table.feature_names().size());
}

std::string category_decision(CsvColumn const& column, ColumnTypes const& types) {
    std::string out = column.kind == ColumnKind::hashed ? "category, hashed"
                                                        : fmt::format("category, {} values", column.categories.size());
    if (types.numbers > 0)
        out += fmt::format(" ({} of {} cells are numbers; '{}', {}, is the first that is not)", types.numbers,
                           types.numbers + types.texts, types.first.at(Odd::text).cell, types.first.at(Odd::text).place);
    else if (types.dates > 0 && types.dates == types.texts)
        out += fmt::format(" (all are dates: --date {} makes numbers of them)", column.name);
    return out;
}

std::string number_decision(CsvColumn const& column, ColumnTypes const& types) {
    std::string out;
    auto const add = [&](std::string const& text) { out += (out.empty() ? "" : "; ") + text; };
    if (column.kind == ColumnKind::date) add("days since 1970-01-01 (UTC)");
    if (column.offset != 0) add(fmt::format("{:.0f} is subtracted, as float32 has 24 bits", column.offset));
    if (auto const loss = types.range.loss(column.offset); !loss.empty() && column.kind != ColumnKind::label) add(loss);
    if (auto const code = types.first.find(Odd::code); code != types.first.end())
        add(fmt::format("numbers, though '{}' ({}) has a zero in front: --type {}=category keeps it", code->second.cell,
                        code->second.place, column.name));
    if (types.range.constant()) add("the same number in every row");
    return out;
}

std::string missing_decision(ImportCsvOptions const& options, CsvColumn const& column, ColumnTypes const& types) {
    if (types.missing == 0 || options.missing == MissingValues::drop) return "";
    auto const becomes = column.kind == ColumnKind::hashed    ? "are a category of their own"
                         : column.kind == ColumnKind::one_hot ? "are not a category"
                                                              : "become the mean of the training rows";
    return fmt::format("{} {}", counted(types.missing, "missing cell", "missing cells"), becomes);
}

std::string column_decision(ImportCsvOptions const& options, CsvColumn const& column, ColumnTypes const& types) {
    bool const category = column.kind == ColumnKind::one_hot || column.kind == ColumnKind::hashed;
    bool const class_label = column.kind == ColumnKind::label && options.task == Task::classification;
    if (class_label || column.kind == ColumnKind::dropped) return "";
    auto out = category ? category_decision(column, types) : number_decision(column, types);
    auto const missing = missing_decision(options, column, types);
    if (!out.empty() && !missing.empty()) out += "; ";
    return out + missing;
}

// The decisions that follow from the types of a Parquet file.
void add_known(ImportCsvOptions const& options, CsvTable const& table, std::vector<std::string>& out) {
    out.insert(out.end(), options.typed.decisions.begin(), options.typed.decisions.end());
    auto const known = [&](ColumnType type, auto const& became) {
        std::vector<std::string> names;
        for (std::size_t i = 0; i < std::min(options.typed.of_columns.size(), table.columns.size()); ++i)
            if (options.typed.of_columns[i] == type && became(table.columns[i].kind) && table.chosen[i] == type)
                names.push_back("'" + table.columns[i].name + "'");
        auto const more = names.size() > k_most_named ? fmt::format(" and {} more", names.size() - k_most_named) : "";
        names.resize(std::min(names.size(), k_most_named));
        return fmt::format("{}{}", fmt::join(names, ", "), more);
    };
    auto const category = [](ColumnKind kind) { return kind == ColumnKind::one_hot || kind == ColumnKind::hashed; };
    if (auto const names = known(ColumnType::category, category); !names.empty())
        out.push_back(fmt::format("texts and booleans of Parquet are categories, whatever their cells: {}", names));
    if (auto const names = known(ColumnType::date, [](auto kind) { return kind == ColumnKind::date; }); !names.empty())
        out.push_back(fmt::format("dates of Parquet are dates: {}", names));
    if (auto const names = known(ColumnType::dropped, [](auto kind) { return kind == ColumnKind::dropped; }); !names.empty())
        out.push_back(fmt::format("the index of a pandas frame is not a feature: {} (--type keeps it)", names));
}

}  // namespace

std::vector<std::string> csv_decisions(ImportCsvOptions const& options, CsvTable const& table) {
    std::vector<std::string> out;
    out.push_back(fmt::format("{} ({})", table.header.header ? "header" : "no header", table.header.why));
    out.push_back(label_decision(options, table));
    out.push_back(kinds_decision(table));
    add_known(options, table, out);
    for (std::size_t i = 0; i < table.columns.size(); ++i)
        if (auto const text = column_decision(options, table.columns[i], table.types[i]); !text.empty())
            out.push_back(fmt::format("column '{}': {}", table.columns[i].name, text));
    if (table.id)
        out.push_back(fmt::format("column '{}' names the rows, and is not a feature", table.columns[*table.id].name));
    if (table.dropped > 0)
        out.push_back(counted(table.dropped, "row with a missing cell is left out", "rows with missing cells are left out"));
    return out;
}

}  // namespace hopscotch
