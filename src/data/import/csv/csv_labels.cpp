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
ColumnClasses sorted_numbers(std::vector<double> const& values) {
    std::set<double> const different(values.begin(), values.end());
    std::vector<double> const sorted(different.begin(), different.end());
    ColumnClasses out;
    out.count = sorted.size();
    for (auto value : values)
        out.of_id.push_back(
            static_cast<std::uint32_t>(std::lower_bound(sorted.begin(), sorted.end(), value) - sorted.begin()));
    if (sorted.front() == 0 && sorted.back() == static_cast<double>(sorted.size() - 1)) return out;
    for (auto value : sorted) out.names.push_back(fmt::format("{:.0f}", value));
    return out;
}

ColumnClasses classes_of(LabelTexts const& labels, std::string const& column) {
    std::vector<double> values;
    for (auto const& text : labels.texts()) {
        double value;
        if (read_cell(text, value) != CellKind::number) return sorted_texts(labels.texts());
        values.push_back(value);
    }
    for (std::size_t id = 0; id < values.size(); ++id)
        if (values[id] != std::floor(values[id]) || std::abs(values[id]) > 0x1p53)
            throw DataError(fmt::format(
                "{}: label '{}' in column '{}' is not an integer (a class); use --regression to predict numbers, or "
                "choose another --label",
                labels.place(id), labels.texts()[id], column));
    return sorted_numbers(values);
}

using Categories = std::vector<std::set<std::string, std::less<>>>;

void see_categories(CsvTable const& table, Cells const& record, Categories& seen) {
    for (std::size_t i = 0; i < record.size(); ++i) {
        auto const& column = table.columns[i];
        double unused;
        if (column.kind != ColumnKind::one_hot || seen[i].contains(record[i]) ||
            read_cell(record[i], unused) == CellKind::missing)
            continue;
        seen[i].emplace(record[i]);
        if (seen[i].size() > k_most_categories)
            throw DataError(fmt::format(
                "{}: '{}' in column '{}' is not a number, and with more than {} different values the column is no category; "
                "correct the cell, remove the column, or choose --hash-buckets",
                column.first_text_place, column.first_text, column.name, k_most_categories));
    }
}

void one_hot(CsvColumn const& column, std::string_view cell, CsvReader const& at, std::vector<float>& out) {
    auto const first = out.size();
    out.resize(first + column.categories.size(), 0.0F);
    double unused;
    if (read_cell(cell, unused) == CellKind::missing) return;
    auto const found = std::lower_bound(column.categories.begin(), column.categories.end(), cell);
    if (found == column.categories.end() || *found != cell)
        throw DataError(at.place() + ": the file was changed while it was imported; try again");
    out[first + static_cast<std::size_t>(found - column.categories.begin())] = 1.0F;
}

float number(std::string_view cell, CsvReader const& at) {
    double value = 0;
    auto const kind = read_cell(cell, value);
    if (kind == CellKind::text) throw DataError(at.place() + ": the file was changed while it was imported; try again");
    return kind == CellKind::missing ? k_missing : static_cast<float>(value);
}

void read_features(ImportCsvOptions const& options, CsvTable const& table, CsvReader const& at, Cells const& record,
                   std::vector<float>& out) {
    out.clear();
    for (std::size_t i = 0; i < record.size(); ++i) {
        switch (table.columns[i].kind) {
            case ColumnKind::label: break;
            case ColumnKind::number: out.push_back(number(record[i], at)); break;
            case ColumnKind::hashed:
                out.push_back(hashed_category(table.columns[i], record[i], options.hash_buckets));
                break;
            case ColumnKind::one_hot: one_hot(table.columns[i], record[i], at, out);
        }
    }
}

}  // namespace

float hashed_category(CsvColumn const& column, std::string_view cell, std::int64_t buckets) {
    double unused;
    if (read_cell(cell, unused) == CellKind::missing) return 0.0F;
    auto const hash = xxh3(std::as_bytes(std::span(cell)), column.hash_seed);
    return static_cast<float>(1 + hash % static_cast<std::uint64_t>(buckets - 1));
}

void scan_labels(ImportCsvOptions const& options, CsvTable& table) {
    LabelTexts labels;
    Categories seen(table.columns.size());
    for_each_record(options, table.header, [&](CsvReader const& at, Cells const& record) {
        if (is_dropped(options, record)) {
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
    if (options.task != Task::classification) return;
    auto const& label = table.columns[table.labels[0]].name;
    auto classes = classes_of(labels, label);
    if (classes.count < 2)
        throw DataError(fmt::format("{}: every row has the label '{}' in column '{}'; choose another --label",
                                    labels.place(0), labels.texts()[0], label));
    for (auto& id : table.classes) id = classes.of_id[id];
    table.class_count = classes.count;
    table.class_names = std::move(classes.names);
}

void read_rows(ImportCsvOptions const& options, CsvTable const& table,
               std::function<void(std::span<float const>, std::span<double const>)> const& row) {
    std::vector<float> features;
    std::vector<double> labels;
    std::size_t index = 0;
    for_each_record(options, table.header, [&](CsvReader const& at, Cells const& record) {
        if (is_dropped(options, record)) return;
        if (index == table.classes.size())
            throw DataError(at.place() + ": the file was changed while it was imported; try again");
        read_features(options, table, at, record, features);
        labels.clear();
        if (options.task == Task::classification)
            labels.push_back(table.classes[index]);
        else
            for (auto const i : table.labels) labels.push_back(number(record[i], at));
        ++index;
        row(features, labels);
    });
    if (index < table.classes.size())
        throw DataError(options.sources.back().string() + ": the file was changed while it was imported; try again");
}

}  // namespace hopscotch
