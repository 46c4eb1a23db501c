// SPDX-License-Identifier: Apache-2.0
// What each column is: a label, a number, a category. The end of pass one.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/json_reader.hpp"
#include "data/import/csv/csv_scan.hpp"

namespace hopscotch {
namespace {

constexpr std::int64_t k_byte_values = 256;

std::size_t find_column(ImportCsvOptions const& options, CsvTable const& table, std::string_view option,
                        std::string const& wanted) {
    std::vector<std::string> names;
    for (auto const& column : table.columns) names.push_back(column.name);
    auto const found = std::find(names.begin(), names.end(), wanted);
    if (table.header && found != names.end()) return static_cast<std::size_t>(found - names.begin());
    std::size_t index = 0;
    auto const* end = wanted.data() + wanted.size();
    if (auto const [stop, code] = std::from_chars(wanted.data(), end, index);
        code == std::errc{} && stop == end && index < names.size())
        return index;
    constexpr std::size_t k_most_listed = 100;
    auto const listed = names.size() <= k_most_listed && table.header;
    auto const near = table.header ? nearest(wanted, names) : "";
    throw ConfigError(
        fmt::format("--{} {}: no such column ({} has {}); {}", option, wanted, options.sources.front().string(),
                    listed ? fmt::format("{}", fmt::join(names, ", "))
                           : fmt::format("{} columns{}", names.size(), table.header ? "" : " and no header"),
                    near.empty() ? "give a column's name, or its index from 0" : fmt::format("did you mean {}?", near)));
}

void set_labels(ImportCsvOptions const& options, CsvTable& table) {
    if (options.label.empty()) table.labels = {table.columns.size() - 1};
    for (auto const& label : options.label) table.labels.push_back(find_column(options, table, "label", label));
    for (auto const i : table.labels) {
        if (table.columns[i].kind == ColumnKind::label)
            throw ConfigError(fmt::format("--label {}: named twice; name each column once", table.columns[i].name));
        table.columns[i].kind = ColumnKind::label;
    }
    if (table.labels.size() == table.columns.size())
        throw ConfigError("--label: every column is a label (a row needs features too); name fewer");
}

void set_categories(ImportCsvOptions const& options, CsvTable& table, std::vector<ColumnTypes> const& types) {
    for (auto const& name : options.categorical) {
        auto& column = table.columns[find_column(options, table, "categorical", name)];
        if (column.kind == ColumnKind::label)
            throw ConfigError(fmt::format("--categorical {}: is a label; name a feature", name));
        column.kind = ColumnKind::hashed;
    }
    for (std::size_t i = 0; i < types.size(); ++i) {
        auto& column = table.columns[i];
        if (column.kind == ColumnKind::number && types[i].texts > 0)
            column.kind = options.hash_buckets > 0 ? ColumnKind::hashed : ColumnKind::one_hot;
        if (column.kind == ColumnKind::hashed) column.hash_seed = xxh3(std::as_bytes(std::span(column.name)));
        column.missing = types[i].missing;
        column.first_text = types[i].first_text;
        column.first_text_place = types[i].first_text_place;
    }
}

// With --missing mean a hole is filled with a fraction, which a byte cannot hold.
FeatureType feature_type(ImportCsvOptions const& options, CsvTable const& table, std::vector<ColumnTypes> const& types) {
    for (std::size_t i = 0; i < types.size(); ++i) {
        auto const kind = table.columns[i].kind;
        if (kind == ColumnKind::number && (!types[i].bytes || types[i].missing > 0)) return FeatureType::float32;
        if (kind == ColumnKind::hashed && options.hash_buckets > k_byte_values) return FeatureType::float32;
    }
    return FeatureType::uint8;
}

void check_missing(ImportCsvOptions const& options, CsvColumn const& column, ColumnTypes const& types) {
    auto const is_label = column.kind == ColumnKind::label;
    if (types.missing == 0 || column.kind == ColumnKind::hashed || (options.missing == MissingValues::mean && !is_label))
        return;
    throw DataError(fmt::format("{}: {} '{}' has no value here ({} missing in all); fill it in, or choose {}--missing drop",
                                types.first_missing_place, is_label ? "label" : "column", column.name, types.missing,
                                is_label ? "" : "--missing mean or "));
}

void check_target(ImportCsvOptions const& options, ColumnTypes const& types) {
    auto const multilabel = options.task == Task::multilabel;
    if (types.texts > 0)
        throw DataError(fmt::format("{}: target '{}' is not a number ({}); correct it or choose another --label",
                                    types.first_text_place, types.first_text,
                                    multilabel ? "--multilabel predicts 0 or 1" : "--regression predicts numbers"));
    if (multilabel && !types.first_not_binary.empty())
        throw DataError(fmt::format(
            "{}: target '{}' is neither 0 nor 1 (--multilabel); correct it, choose another --label or --regression",
            types.first_not_binary_place, types.first_not_binary));
}

void check_column(ImportCsvOptions const& options, CsvColumn const& column, ColumnTypes const& types) {
    auto const is_target = column.kind == ColumnKind::label && options.task != Task::classification;
    if (types.numbers + types.texts == 0)
        throw DataError(fmt::format("{}: column '{}' has no value in any row{}; remove the column",
                                    options.sources.front().string(), column.name,
                                    options.missing == MissingValues::drop ? " that is kept" : ""));
    check_missing(options, column, types);
    if ((is_target || column.kind == ColumnKind::number) && !types.first_huge.empty())
        throw DataError(fmt::format("{}: '{}' in column '{}' is not a finite float32 number; correct it",
                                    types.first_huge_place, types.first_huge, column.name));
    if (is_target) check_target(options, types);
}

}  // namespace

void set_columns(ImportCsvOptions const& options, CsvTable& table, std::vector<ColumnTypes> const& types) {
    set_labels(options, table);
    set_categories(options, table, types);
    for (std::size_t i = 0; i < types.size(); ++i) check_column(options, table.columns[i], types[i]);
    table.type = feature_type(options, table, types);
}

std::vector<std::string> CsvTable::feature_names() const {
    std::vector<std::string> out;
    for (auto const& column : columns) {
        if (column.kind == ColumnKind::number || column.kind == ColumnKind::hashed) out.push_back(column.name);
        for (auto const& category : column.categories) out.push_back(column.name + "=" + category);
    }
    return out;
}

std::vector<std::int64_t> CsvTable::feature_categories(std::int64_t hash_buckets) const {
    std::vector<std::int64_t> out;
    bool some = false;
    for (auto const& column : columns) {
        auto const hashed = column.kind == ColumnKind::hashed;
        some = some || hashed;
        if (column.kind == ColumnKind::number || hashed) out.push_back(hashed ? hash_buckets : 0);
    }
    return some ? out : std::vector<std::int64_t>{};
}

}  // namespace hopscotch
