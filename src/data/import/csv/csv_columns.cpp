// SPDX-License-Identifier: Apache-2.0
// The type of each column: a label, a number, a category. The end of pass one.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>

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
    if (table.header.header && found != names.end()) return static_cast<std::size_t>(found - names.begin());
    std::size_t index = 0;
    auto const* end = wanted.data() + wanted.size();
    if (auto const [stop, code] = std::from_chars(wanted.data(), end, index);
        code == std::errc{} && stop == end && index < names.size())
        return index;
    constexpr std::size_t k_most_listed = 100;
    auto const listed = names.size() <= k_most_listed && table.header.header;
    auto const near = table.header.header ? nearest(wanted, names) : "";
    throw ConfigError(
        fmt::format("--{} {}: no such column ({} has {}); {}", option, wanted, options.sources.front().string(),
                    listed ? fmt::format("{}", fmt::join(names, ", "))
                           : fmt::format("{} columns{}", names.size(), table.header.header ? "" : " and no header"),
                    near.empty() ? "give a column's name, or its index from 0" : fmt::format("did you mean {}?", near)));
}

std::size_t last_kept(CsvTable const& table) {
    auto last = table.columns.size() - 1;
    while (last > 0 && table.chosen[last] == ColumnType::dropped) --last;
    return last;
}

void set_labels(ImportCsvOptions const& options, CsvTable& table) {
    if (options.label.empty()) table.labels = {last_kept(table)};
    for (auto const& label : options.label) table.labels.push_back(find_column(options, table, "label", label));
    for (auto const i : table.labels) {
        if (table.columns[i].kind == ColumnKind::label)
            throw ConfigError(fmt::format("--label {}: named twice; name each column once", table.columns[i].name));
        table.columns[i].kind = ColumnKind::label;
    }
    auto const dropped = std::ranges::count(table.chosen, std::optional(ColumnType::dropped));
    if (table.labels.size() + static_cast<std::size_t>(dropped) >= table.columns.size())
        throw ConfigError(fmt::format("--label: every column {}is a label (a row needs features too); name fewer",
                                      dropped > 0 ? "that is kept " : ""));
}

ColumnKind kind_of(ColumnType type, ImportCsvOptions const& options) {
    switch (type) {
        case ColumnType::number: return ColumnKind::number;
        case ColumnType::date: return ColumnKind::date;
        case ColumnType::dropped: return ColumnKind::dropped;
        case ColumnType::category: break;
    }
    return options.hash_buckets > 0 ? ColumnKind::hashed : ColumnKind::one_hot;
}

void set_kinds(ImportCsvOptions const& options, CsvTable& table) {
    std::map<std::size_t, ColumnChoice const*> choices;
    for (auto const& choice : options.columns) {
        auto const& [option, name, type] = choice;
        auto const index = find_column(options, table, option, name);
        if (auto const [before, is_new] = choices.emplace(index, &choice); !is_new && before->second->type != type)
            throw ConfigError(fmt::format("--{} {} and --{} {}: the same column (it can be one thing only); choose one",
                                          before->second->option, before->second->column, option, name));
        auto& column = table.columns[index];
        bool const label = column.kind == ColumnKind::label;
        if (label && (type != ColumnType::category || options.task != Task::classification))
            throw ConfigError(fmt::format("--{} {}: is a label; name a feature", option, name));
        if (!label) column.kind = kind_of(type, options);
        if (option == k_id_option) table.id = index;
    }
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        auto& column = table.columns[i];
        auto const type = table.chosen[i].value_or(table.types[i].texts > 0 ? ColumnType::category : ColumnType::number);
        if (column.kind == ColumnKind::number) column.kind = kind_of(type, options);
        if (column.kind == ColumnKind::hashed) column.hash_seed = xxh3(std::as_bytes(std::span(column.name)));
        bool const number = column.kind == ColumnKind::number || column.kind == ColumnKind::date;
        if (number && options.shape.empty())  // the elements of a picture or a series have one scale
            column.offset = table.types[i].range.offset();
    }
}

void refuse_equal_names(ImportCsvOptions const& options, CsvTable const& table) {
    std::map<std::string_view, std::size_t> places;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        auto const& name = table.columns[i].name;
        if (auto const [found, is_new] = places.emplace(name, i); !is_new)
            throw DataError(fmt::format("{}: columns {} and {} (from 0) have the same name, '{}'; rename one of them",
                                        options.sources.front().string(), found->second, i, name));
    }
}

// With --missing mean a hole is filled with a fraction, which a byte cannot hold.
FeatureType feature_type(ImportCsvOptions const& options, CsvTable const& table) {
    for (std::size_t i = 0; i < table.types.size(); ++i) {
        auto const kind = table.columns[i].kind;
        auto const& types = table.types[i];
        bool const byte = types.bytes && types.missing == 0 && types.texts == 0;
        if ((kind == ColumnKind::number && !byte) || kind == ColumnKind::date) return FeatureType::float32;
        if (kind == ColumnKind::hashed && options.hash_buckets > k_byte_values) return FeatureType::float32;
    }
    return FeatureType::uint8;
}

// Reports all columns at once, not one by one.
void check_missing(ImportCsvOptions const& options, CsvTable const& table) {
    std::string problems;
    bool label = false;
    for (std::size_t i = 0; i < table.types.size(); ++i) {
        auto const& column = table.columns[i];
        auto const& types = table.types[i];
        bool const is_label = column.kind == ColumnKind::label;
        bool const fits = column.kind == ColumnKind::hashed || (options.missing == MissingValues::mean && !is_label);
        if (types.missing == 0 || column.kind == ColumnKind::dropped || fits) continue;
        label = label || is_label;
        problems += fmt::format("{}{}: {} '{}' has no value here ({} missing in all)", problems.empty() ? "" : "\n",
                                types.first.at(Odd::gap).place, is_label ? "label" : "column", column.name, types.missing);
    }
    if (problems.empty()) return;
    throw DataError(fmt::format("{}; fill {} in, or choose {}--missing drop", problems,
                                problems.find('\n') == problems.npos ? "it" : "them", label ? "" : "--missing mean or "));
}

// A few odd cells in a column of numbers are mistakes, or numbers that are written for people.
void check_odd_texts(CsvColumn const& column, ColumnTypes const& types) {
    auto const all = types.numbers + types.texts;
    auto const say = [&](FirstCell const& odd, std::string const& found, std::string const& cure) {
        throw DataError(fmt::format("{}: '{}' in column '{}' {}; {}, or choose --type {}=category{}", odd.place, odd.cell,
                                    column.name, found, cure, column.name,
                                    column.kind == ColumnKind::label ? "" : fmt::format(" or --drop {}", column.name)));
    };
    auto const rarely = [&](std::int64_t odd) { return odd > 0 && odd * 10 < all; };
    if (rarely(types.texts))
        say(types.first.at(Odd::text),
            fmt::format("is not a number ({} of {} cells are, {} not)", types.numbers, all, types.texts), "correct it");
    if (column.kind != ColumnKind::label && types.dressed > 0 && (all - types.numbers - types.dressed) * 10 < all)
        say(types.first.at(Odd::dressed),
            fmt::format("is written for people ({} of {} cells are numbers like it)", types.numbers + types.dressed, all),
            "write plain numbers");
}

void check_target(ImportCsvOptions const& options, ColumnTypes const& types) {
    auto const multilabel = options.task == Task::multilabel;
    auto const odd = [&](Odd kind) { return types.first.at(kind); };
    if (types.texts > 0)
        throw DataError(fmt::format("{}: target '{}' is not a number ({}); correct it or choose another --label",
                                    odd(Odd::text).place, odd(Odd::text).cell,
                                    multilabel ? "--multilabel predicts 0 or 1" : "--regression predicts numbers"));
    if (multilabel && !types.binary)
        throw DataError(fmt::format(
            "{}: target '{}' is neither 0 nor 1 (--multilabel); correct it, choose another --label or --regression",
            odd(Odd::not_binary).place, odd(Odd::not_binary).cell));
}

void check_column(ImportCsvOptions const& options, CsvTable const& table, std::size_t index) {
    auto const& column = table.columns[index];
    auto const& types = table.types[index];
    bool const is_target = column.kind == ColumnKind::label && options.task != Task::classification;
    bool const is_number = column.kind == ColumnKind::number || column.kind == ColumnKind::date;
    if (types.numbers + types.texts == 0)
        throw DataError(fmt::format("{}: column '{}' has no value in any row{}; remove the column, or choose --drop {}",
                                    options.sources.front().string(), column.name,
                                    options.missing == MissingValues::drop ? " that is kept" : "", column.name));
    if (is_target) check_target(options, types);
    if (!is_target && !is_number && !table.chosen[index]) check_odd_texts(column, types);
    if (is_number && types.texts > 0)
        throw DataError(fmt::format("{}: '{}' in column '{}' is not {}; correct it, or choose another --type",
                                    types.first.at(Odd::text).place, types.first.at(Odd::text).cell, column.name,
                                    column.kind == ColumnKind::date ? "a date such as 2024-05-31T12:30:00" : "a number"));
    if ((is_target || is_number) && types.first.contains(Odd::huge))
        throw DataError(fmt::format("{}: '{}' in column '{}' is not a finite float32 number; correct it",
                                    types.first.at(Odd::huge).place, types.first.at(Odd::huge).cell, column.name));
}

}  // namespace

void set_columns(ImportCsvOptions const& options, CsvTable& table) {
    refuse_equal_names(options, table);
    set_labels(options, table);
    set_kinds(options, table);
    for (std::size_t i = 0; i < table.columns.size(); ++i)
        if (table.columns[i].kind != ColumnKind::dropped) check_column(options, table, i);
    check_missing(options, table);
    table.type = feature_type(options, table);
}

std::vector<std::string> CsvTable::feature_names() const {
    std::vector<std::string> out;
    for (auto const& column : columns) {
        if (is_one_feature(column.kind)) out.push_back(column.name);
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
        if (is_one_feature(column.kind)) out.push_back(hashed ? hash_buckets : 0);
    }
    return some ? out : std::vector<std::int64_t>{};
}

}  // namespace hopscotch
