// SPDX-License-Identifier: Apache-2.0
// Labels and categories (pass two), and the values themselves (pass three).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "data/import/csv/csv_scan.hpp"
#include "data/import/dataset_writer.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_most_csv_classes = 65536;

struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

// The different labels in the order in which they turn up, and where each was first seen.
class LabelTexts {
public:
    std::uint32_t id(std::string_view text, CsvReader const& at) {
        if (auto const found = ids_.find(text); found != ids_.end()) return found->second;
        if (texts_.size() == k_most_csv_classes)
            throw DataError(fmt::format("{}: more than {} different labels; choose another --label, or --regression",
                                        at.place(), k_most_csv_classes));
        texts_.emplace_back(text);
        places_.push_back(at.place());
        return ids_.emplace(text, static_cast<std::uint32_t>(texts_.size() - 1)).first->second;
    }
    std::vector<std::string> const& texts() const { return texts_; }
    std::string const& place(std::size_t id) const { return places_[id]; }

private:
    std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>> ids_;
    std::vector<std::string> texts_, places_;
};

struct ColumnClasses {
    std::vector<std::uint32_t> of_id;  // label id -> class
    std::size_t count = 0;
    std::vector<std::string> names;
};

ColumnClasses sorted_texts(std::vector<std::string> const& texts) {
    ColumnClasses out;
    out.names = texts;
    std::sort(out.names.begin(), out.names.end());
    out.count = texts.size();
    for (auto const& text : texts)
        out.of_id.push_back(
            static_cast<std::uint32_t>(std::lower_bound(out.names.begin(), out.names.end(), text) - out.names.begin()));
    return out;
}

// Integers 0..n-1 are their own classes; other integers are classes in ascending order ("3" and "3.0" are one).
ColumnClasses sorted_integers(std::vector<WideInteger> const& values) {
    std::set<WideInteger> const different(values.begin(), values.end());
    std::vector<WideInteger> const sorted(different.begin(), different.end());
    ColumnClasses out;
    out.count = sorted.size();
    for (auto value : values)
        out.of_id.push_back(
            static_cast<std::uint32_t>(std::lower_bound(sorted.begin(), sorted.end(), value) - sorted.begin()));
    if (sorted.front() == 0 && sorted.back() == static_cast<WideInteger>(sorted.size() - 1)) return out;
    for (auto value : sorted)
        out.names.push_back(value < 0 ? std::to_string(static_cast<std::int64_t>(value))
                                      : std::to_string(static_cast<std::uint64_t>(value)));
    return out;
}

bool is_fraction(std::string_view text) {
    double value = 0;
    return read_cell(text, value) == CellKind::number && (value != std::floor(value) || !std::isfinite(value));
}

// Texts, codes (02134 is not 2134) and integers of more than 64 bits are classes by their letters.
ColumnClasses classes_of(LabelTexts const& labels, std::string const& column, bool by_letters) {
    auto const& texts = labels.texts();
    double unused;
    if (by_letters ||
        std::ranges::any_of(texts, [&](auto const& text) { return read_cell(text, unused) != CellKind::number; }))
        return sorted_texts(texts);
    if (auto const odd = std::ranges::find_if(texts, is_fraction); odd != texts.end())
        throw DataError(
            fmt::format("{}: label '{}' in column '{}' is not an integer (a class); use --regression to predict numbers, or "
                        "choose another --label",
                        labels.place(static_cast<std::size_t>(odd - texts.begin())), *odd, column));
    std::vector<WideInteger> values;
    for (auto const& text : texts) {
        auto const value = exact_integer(text);
        if (!value || is_code(text)) return sorted_texts(texts);
        values.push_back(*value);
    }
    return sorted_integers(values);
}

using Categories = std::vector<std::set<std::string, std::less<>>>;

[[noreturn]] void throw_too_many_values(CsvColumn const& column, ColumnTypes const& types) {
    auto const& odd = types.first.at(Odd::text);
    throw DataError(fmt::format(
        "{}: '{}' in column '{}' is not a number, and with more than {} different values the column is not a category; {}",
        odd.place, odd.cell, column.name, k_most_categories,
        types.dates == types.texts ? fmt::format("choose --date {}", column.name)
                                   : fmt::format("choose --drop {} or --hash-buckets", column.name)));
}

void see_categories(CsvTable const& table, Cells const& record, Categories& seen) {
    for (std::size_t i = 0; i < record.size(); ++i) {
        auto const& column = table.columns[i];
        if (column.kind != ColumnKind::one_hot || seen[i].contains(record[i]) || is_missing(record[i])) continue;
        seen[i].emplace(record[i]);
        if (seen[i].size() > k_most_categories) throw_too_many_values(column, table.types[i]);
    }
}

void one_hot(CsvColumn const& column, std::string_view cell, CsvReader const& at, std::vector<float>& out) {
    auto const first = out.size();
    out.resize(first + column.categories.size(), 0.0F);
    if (is_missing(cell)) return;
    auto const found = std::lower_bound(column.categories.begin(), column.categories.end(), cell);
    if (found == column.categories.end() || *found != cell)
        throw DataError(at.place() + ": the file was changed while it was imported; try again");
    out[first + static_cast<std::size_t>(found - column.categories.begin())] = 1.0F;
}

double number(CsvColumn const& column, std::string_view cell, CsvReader const& at) {
    double value = 0;
    auto const kind = read_value(column, cell, value);
    if (kind == CellKind::text) throw DataError(at.place() + ": the file was changed while it was imported; try again");
    return kind == CellKind::missing ? k_missing : value;
}

// Refuses a table whose targets are all constant. One constant target among several is only reported.
void refuse_constant_targets(ImportCsvOptions const& options, CsvTable const& table) {
    auto const constant = [&](std::size_t column) { return table.types[column].range.constant(); };
    if (!std::ranges::all_of(table.labels, constant)) return;
    auto const first = table.labels.front();
    throw DataError(fmt::format("{}: every row has the target {} in column '{}'; choose another --label",
                                options.sources.front().string(), table.types[first].range.low, table.columns[first].name));
}

}  // namespace

float hashed_category(CsvColumn const& column, std::string_view cell, std::int64_t buckets) {
    if (is_missing(cell)) return 0.0F;
    auto const hash = xxh3(std::as_bytes(std::span(cell)), column.hash_seed);
    return static_cast<float>(1 + hash % static_cast<std::uint64_t>(buckets - 1));
}

void scan_labels(ImportCsvOptions const& options, CsvTable& table) {
    LabelTexts labels;
    Categories seen(table.columns.size());
    for_each_record(options, table.header.header, [&](CsvReader const& at, Cells const& record) {
        if (is_dropped(options, table.chosen, record)) {
            ++table.dropped;
            return;
        }
        table.classes.push_back(options.task == Task::classification ? labels.id(record[table.labels[0]], at) : 0);
        see_categories(table, record, seen);
    });
    for (std::size_t i = 0; i < seen.size(); ++i) table.columns[i].categories.assign(seen[i].begin(), seen[i].end());
    if (table.classes.empty())
        throw DataError(fmt::format("{}: no rows{}; add at least one", options.sources.front().string(),
                                    table.dropped > 0 ? " are left (--missing drop)" : ""));
    if (options.task == Task::regression) refuse_constant_targets(options, table);
    if (options.task != Task::classification) return;
    auto const& label = table.columns[table.labels[0]].name;
    auto classes = classes_of(labels, label, table.chosen[table.labels[0]].has_value());
    if (classes.count < 2)
        throw DataError(fmt::format("{}: every row has the label '{}' in column '{}'; choose another --label",
                                    labels.place(0), labels.texts()[0], label));
    for (auto& id : table.classes) id = classes.of_id[id];
    table.class_count = classes.count;
    table.class_names = std::move(classes.names);
}

RowsReader::RowsReader(ImportCsvOptions const& options, CsvTable const& table)
    : options_(options), table_(table), rounding_(table.columns.size()) {}

// Targets are rounded when they are standardised. Cells of up to seven characters have at most six digits and a sign or
// point: float32 keeps those apart.
double RowsReader::number(std::size_t i, Cells const& record, CsvReader const& at) {
    auto const value = hopscotch::number(table_.columns[i], record[i], at);
    constexpr std::size_t k_safe = 7;
    auto const kind = table_.columns[i].kind;
    bool const exact = kind == ColumnKind::label || (table_.types[i].range.integers && kind != ColumnKind::date);
    if (!exact && record[i].size() > k_safe && !std::isnan(value)) rounding_[i].see(value);
    return value;
}

void RowsReader::read_features(CsvReader const& at, Cells const& record) {
    features_.clear();
    for (std::size_t i = 0; i < record.size(); ++i) {
        auto const& column = table_.columns[i];
        switch (column.kind) {
            case ColumnKind::label:
            case ColumnKind::dropped: break;
            case ColumnKind::number:
            case ColumnKind::date: features_.push_back(static_cast<float>(number(i, record, at))); break;
            case ColumnKind::hashed: features_.push_back(hashed_category(column, record[i], options_.hash_buckets)); break;
            case ColumnKind::one_hot: one_hot(column, record[i], at, features_);
        }
    }
}

void RowsReader::read(std::function<void(std::span<float const>, std::span<double const>)> const& row) {
    std::vector<double> labels;
    std::size_t index = 0;
    for_each_record(options_, table_.header.header, [&](CsvReader const& at, Cells const& record) {
        ++record_;
        if (is_dropped(options_, table_.chosen, record)) return;
        if (index == table_.classes.size())
            throw DataError(at.place() + ": the file was changed while it was imported; try again");
        read_features(at, record);
        labels.clear();
        if (options_.task == Task::classification)
            labels.push_back(table_.classes[index]);
        else
            for (auto const i : table_.labels) labels.push_back(number(i, record, at));
        ++index;
        if (table_.id) name_ = record[*table_.id];
        row(features_, labels);
    });
    if (index < table_.classes.size())
        throw DataError(options_.sources.back().string() + ": the file was changed while it was imported; try again");
}

std::vector<std::string> RowsReader::decisions() const {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < rounding_.size(); ++i)
        if (auto const lost = rounding_[i].lost(); lost > 0)
            out.push_back(
                fmt::format("column '{}': about {:.2g} % of its different values become equal to another one "
                            "(float32 has 24 bits)",
                            table_.columns[i].name, 100 * lost));
    return out;
}

}  // namespace hopscotch
