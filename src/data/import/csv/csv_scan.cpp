// SPDX-License-Identifier: Apache-2.0
#include "data/import/csv/csv_scan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/error.hpp"

namespace hopscotch {
namespace {

bool is_missing(std::string_view cell) {
    return cell.empty() || cell == "?" || cell == "NA" || cell == "NaN" || cell == "nan" || cell == "NAN";
}

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
        if (record.size() > k_most_csv_features)
            throw DataError(fmt::format("{}: {} columns (at most {}); remove columns, or import an npy array",
                                        options_.sources.front().string(), record.size(), k_most_csv_features));
        first_.assign(record.begin(), record.end());
        types_.resize(record.size());
    }

    // A text above a column of numbers, or a name that was given for a column.
    bool looks_like_header() const {
        auto const named = [&](std::vector<std::string> const& columns) {
            return std::any_of(columns.begin(), columns.end(), [&](auto const& name) {
                double unused;
                return read_cell(name, unused) == CellKind::text &&
                       std::find(first_.begin(), first_.end(), name) != first_.end();
            });
        };
        if (named(options_.label) || named(options_.categorical)) return true;
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
                case CellKind::number: observe_number(column, record[i], value, place);
            }
        }
    }

    template <class Place>
    static void observe_number(ColumnTypes& column, std::string_view cell, double value, Place place) {
        ++column.numbers;
        column.bytes = column.bytes && value >= 0 && value <= 255 && value == std::floor(value);
        if (value != 0 && value != 1 && column.first_not_binary.empty()) {
            column.first_not_binary = cell;
            column.first_not_binary_place = place();
        }
        if (!(std::abs(value) <= std::numeric_limits<float>::max()) && column.first_huge.empty()) {
            column.first_huge = cell;
            column.first_huge_place = place();
        }
    }

    ImportCsvOptions const& options_;
    std::vector<std::string> first_;
    std::vector<Held> held_;
    std::vector<ColumnTypes> types_;
    bool first_is_header_ = false;
};

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
                throw DataError(fmt::format("{}: {} cells (the first record of {} has {}); add or remove cells",
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
        throw DataError(fmt::format("{}: only one column (a row needs features and a label); separate the cells by commas",
                                    options.sources.front().string()));
    table.columns.resize(types.size());
    for (std::size_t i = 0; i < types.size(); ++i)
        table.columns[i].name = table.header ? scan.first()[i] : fmt::format("column {}", i);
    set_columns(options, table, types);
    scan_labels(options, table);
    if (auto const features = table.feature_names().size(); features > k_most_csv_features)
        throw DataError(
            fmt::format("{}: {} features (at most {}; a text column is one for each of its values); choose "
                        "--hash-buckets",
                        options.sources.front().string(), features, k_most_csv_features));
    return table;
}

}  // namespace hopscotch
