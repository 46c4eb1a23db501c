// SPDX-License-Identifier: Apache-2.0
#include "data/csv_scan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "core/json_reader.hpp"

namespace hopscotch {
namespace {

bool is_missing(std::string_view cell) {
    return cell.empty() || cell == "?" || cell == "NA" || cell == "NaN" || cell == "nan" || cell == "NAN";
}

struct ColumnTypes {
    std::int64_t numbers = 0, texts = 0, missing = 0;
    std::string first_text, first_text_place, first_missing_place, first_huge, first_huge_place;
    bool bytes = true;  // every number so far is an integer 0..255
};

// The first pass. The first record of a file may be its header, so these are held back until the others have been seen.
class TypeScan {
public:
    explicit TypeScan(ImportCsvOptions const& options) : options_(options) {
        for_each_record(options, false, [&](CsvReader const& at, Cells const& record) {
            if (first_.empty()) start(record);
            if (options.header != CsvHeader::absent && at.records() == 1)
                held_.push_back({{record.begin(), record.end()}, at.place()});
            else
                observe(record, [&] { return at.place(); });
        });
        if (first_.empty()) throw DataError(fmt::format("{}: the file is empty", options.sources.front().string()));
        first_is_header_ =
            options.header == CsvHeader::present || (options.header == CsvHeader::automatic && looks_like_header());
        if (first_is_header_) return;
        for (auto const& record : held_)
            observe(Cells(record.cells.begin(), record.cells.end()), [&] { return record.place; });
    }

    bool first_is_header() const { return first_is_header_; }
    std::vector<std::string> const& first() const { return first_; }
    std::vector<ColumnTypes> const& types() const { return types_; }

private:
    struct Held {
        std::vector<std::string> cells;
        std::string place;
    };

    void start(Cells const& record) {
        first_.assign(record.begin(), record.end());
        types_.resize(record.size());
    }

    bool looks_like_header() const {
        for (std::size_t i = 0; i < first_.size(); ++i) {
            double unused;
            if (types_[i].numbers > 0 && types_[i].texts == 0 && read_cell(first_[i], unused) == CellKind::text) return true;
        }
        return false;
    }

    template <class Place>
    void observe(Cells const& record, Place place) {
        if (is_dropped(options_, record)) return;
        for (std::size_t i = 0; i < record.size(); ++i) {
            double value = 0;
            auto& column = types_[i];
            switch (read_cell(record[i], value)) {
                case CellKind::missing:
                    if (column.missing++ == 0) column.first_missing_place = place();
                    break;
                case CellKind::text:
                    if (column.texts++ > 0) break;
                    column.first_text = record[i];
                    column.first_text_place = place();
                    break;
                case CellKind::number:
                    ++column.numbers;
                    column.bytes = column.bytes && value >= 0 && value <= 255 && value == std::floor(value);
                    if (std::abs(value) <= std::numeric_limits<float>::max() || !column.first_huge.empty()) break;
                    column.first_huge = record[i];
                    column.first_huge_place = place();
            }
        }
    }

    ImportCsvOptions const& options_;
    std::vector<std::string> first_;
    std::vector<Held> held_;
    std::vector<ColumnTypes> types_;
    bool first_is_header_ = false;
};

std::size_t label_column(ImportCsvOptions const& options, CsvTable const& table) {
    if (options.label.empty()) return table.columns.size() - 1;
    std::vector<std::string> names;
    for (auto const& column : table.columns) names.push_back(column.name);
    auto const found = std::find(names.begin(), names.end(), options.label);
    if (table.header && found != names.end()) return static_cast<std::size_t>(found - names.begin());
    std::size_t index = 0;
    auto const* end = options.label.data() + options.label.size();
    if (auto const [stop, code] = std::from_chars(options.label.data(), end, index);
        code == std::errc{} && stop == end && index < names.size())
        return index;
    auto const near = table.header ? nearest(options.label, names) : "";
    throw ConfigError(fmt::format(
        "--label {}: no such column ({} has {}) {}", options.label, options.sources.front().string(),
        table.header ? fmt::format("{}", fmt::join(names, ", ")) : fmt::format("{} columns and no header", names.size()),
        near.empty() ? "give a column's name, or its index from 0" : fmt::format("did you mean {}?", near)));
}

// With --missing mean a hole is filled with a fraction, which a byte cannot hold.
FeatureType feature_type(std::vector<ColumnTypes> const& types, std::size_t label) {
    for (std::size_t i = 0; i < types.size(); ++i)
        if (i != label && types[i].texts == 0 && (!types[i].bytes || types[i].missing > 0)) return FeatureType::float32;
    return FeatureType::uint8;
}

void check_missing(ImportCsvOptions const& options, CsvTable const& table, std::size_t i, ColumnTypes const& types) {
    if (types.missing == 0 || (options.missing == MissingValues::mean && i != table.label)) return;
    auto const is_label = i == table.label;
    throw DataError(fmt::format("{}: {} '{}' has no value here ({} missing in all) fill it in, or choose {}--missing drop",
                                types.first_missing_place, is_label ? "label" : "column", table.columns[i].name,
                                types.missing, is_label ? "" : "--missing mean or "));
}

void check_columns(ImportCsvOptions const& options, CsvTable const& table, std::vector<ColumnTypes> const& types) {
    auto const targets = options.task == Task::regression;
    for (std::size_t i = 0; i < types.size(); ++i) {
        auto const& name = table.columns[i].name;
        if (types[i].numbers + types[i].texts == 0)
            throw DataError(fmt::format("{}: column '{}' has no value in any row{}; remove the column",
                                        options.sources.front().string(), name,
                                        options.missing == MissingValues::drop ? " that is kept" : ""));
        check_missing(options, table, i, types[i]);
        auto const number = i == table.label ? targets : types[i].texts == 0;
        if (number && !types[i].first_huge.empty())
            throw DataError(fmt::format("{}: '{}' in column '{}' is not a finite float32 number; correct it",
                                        types[i].first_huge_place, types[i].first_huge, name));
        if (i == table.label && targets && types[i].texts > 0)
            throw DataError(fmt::format(
                "{}: target '{}' is not a number (--regression predicts numbers) correct it or choose another --label",
                types[i].first_text_place, types[i].first_text));
    }
}

}  // namespace

CellKind read_cell(std::string_view cell, double& value) {
    if (is_missing(cell)) return CellKind::missing;
    if (cell.front() == '+' && cell.size() > 1 && cell[1] != '-') cell.remove_prefix(1);
    auto const [end, code] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (end != cell.data() + cell.size() || code == std::errc::invalid_argument) return CellKind::text;
    if (code == std::errc::result_out_of_range) value = std::strtod(std::string(cell).c_str(), nullptr);  // 0 or infinity
    return CellKind::number;
}

bool is_dropped(ImportCsvOptions const& options, Cells const& cells) {
    return options.missing == MissingValues::drop && std::any_of(cells.begin(), cells.end(), is_missing);
}

void for_each_record(ImportCsvOptions const& options, bool header,
                     std::function<void(CsvReader const&, Cells const&)> const& visit) {
    std::vector<std::string> first;
    for (auto const& source : options.sources) {
        CsvReader reader(source);
        Cells cells;
        for (bool at_start = true; reader.next(cells); at_start = false) {
            if (first.empty()) first.assign(cells.begin(), cells.end());
            if (cells.size() != first.size())
                throw DataError(fmt::format("{}: {} cells (the first record of {} has {}) add or remove cells",
                                            reader.place(), cells.size(), options.sources.front().string(), first.size()));
            if (!at_start || !header)
                visit(reader, cells);
            else if (!std::equal(cells.begin(), cells.end(), first.begin()))
                throw DataError(
                    fmt::format("{}: the header differs from that of {}; import files with the same columns only",
                                reader.place(), options.sources.front().string()));
        }
    }
}

CsvTable scan_csv(ImportCsvOptions const& options) {
    TypeScan const scan(options);
    CsvTable table;
    table.header = scan.first_is_header();
    auto const& types = scan.types();
    if (types.size() < 2)
        throw DataError(fmt::format("{}: only one column (a row needs features and a label) cells are separated by commas",
                                    options.sources.front().string()));
    for (std::size_t i = 0; i < types.size(); ++i)
        table.columns.push_back({table.header ? scan.first()[i] : fmt::format("column {}", i),
                                 types[i].texts > 0,
                                 {},
                                 types[i].missing,
                                 types[i].first_text,
                                 types[i].first_text_place});
    table.label = label_column(options, table);
    check_columns(options, table, types);
    table.type = feature_type(types, table.label);
    scan_labels(options, table);
    return table;
}

std::vector<std::string> CsvTable::feature_names() const {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (i == label) continue;
        if (!columns[i].categorical) out.push_back(columns[i].name);
        for (auto const& category : columns[i].categories) out.push_back(columns[i].name + "=" + category);
    }
    return out;
}

}  // namespace hopscotch
