// SPDX-License-Identifier: Apache-2.0
#include "data/import/csv/csv_scan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/error.hpp"
#include "data/import/csv/csv_delimiter.hpp"

namespace hopscotch {
namespace {

CsvReader open_source(ImportCsvOptions const& options, std::filesystem::path const& source) {
    bool const made = std::ranges::find(options.typed.texts, source) != options.typed.texts.end();
    return CsvReader(source, options.delimiter, made ? CsvPlaces::rows : CsvPlaces::lines);
}

// The first pass. The first record of a file may be its header, so it is looked at when the others have been seen.
class TypeScan {
public:
    explicit TypeScan(ImportCsvOptions const& options) : options_(options) {
        for_each_record(options, false, [&](CsvReader const& at, Cells const& record) { see(at, record); });
        if (first_.empty()) throw DataError(fmt::format("{}: the file is empty", options.sources.front().string()));
        switch (options.header) {
            case CsvHeader::present: header_ = {true, options.typed.by.empty() ? "--header yes" : "of Parquet"}; break;
            case CsvHeader::absent: header_ = {false, "--header no"}; break;
            case CsvHeader::automatic: header_ = search_.decide(options, types_);
        }
        if (!header_.header) observe_held();
        if (!header_.header || second_.empty()) return;
        throw DataError(fmt::format(
            "{}: {}", second_,
            options.typed.by.empty() ? "the header again, as a row (tables joined end to end?); remove the line, or choose "
                                       "--header no"
                                     : "the names of the columns again, as a row (tables joined end to end?); remove it"));
    }

    HeaderDecision const& header() const { return header_; }
    std::vector<std::string> const& first() const { return first_; }
    std::vector<ColumnTypes>& types() { return types_; }

private:
    void see(CsvReader const& at, Cells const& record) {
        if (first_.empty()) return start(at, record);
        if (options_.header == CsvHeader::absent) return observe(record, at);
        if (at.records() == 1) return;  // may be this file's header
        if (!search_.see(record)) return observe(record, at);
        if (repeats_++ == 0) second_ = at.place();
    }

    void start(CsvReader const& at, Cells const& record) {
        if (record.size() > k_most_csv_features)
            throw DataError(
                fmt::format("{}: {} columns (at most {}; a table with that many is probably transposed); remove "
                            "columns, or import an npy array",
                            options_.sources.front().string(), record.size(), k_most_csv_features));
        first_.assign(record.begin(), record.end());
        types_.resize(record.size());
        chosen_ = chosen_types(options_, first_);
        if (options_.header == CsvHeader::absent) return observe(record, at);
        search_ = HeaderSearch(first_);
    }

    void observe(Cells const& record, CsvReader const& at) {
        if (is_dropped(options_, chosen_, record)) return;
        for (std::size_t i = 0; i < record.size(); ++i)
            if (chosen_[i] != ColumnType::dropped) types_[i].observe(chosen_[i], record[i], at);
    }

    // The first record of each file, and those that are equal to the very first.
    void observe_held() {
        if (options_.header == CsvHeader::absent) return;
        for (auto const& source : options_.sources) {
            auto at = open_source(options_, source);
            Cells record;
            if (!at.next(record)) continue;
            observe(record, at);
            for (; repeats_ > 0; --repeats_) observe(record, at);
        }
    }

    ImportCsvOptions const& options_;
    std::vector<std::string> first_;
    ChosenTypes chosen_;
    std::vector<ColumnTypes> types_;
    HeaderSearch search_;
    HeaderDecision header_;
    std::int64_t repeats_ = 0;  // records that are equal to the first
    std::string second_;        // where the first of these stands
};

std::string one_column(ImportCsvOptions const& options, std::string const& first) {
    auto const other = other_delimiter({first}, options.delimiter);
    return fmt::format("{}: only one column (a row needs features and a label); {}", options.sources.front().string(),
                       other.empty() ? "separate the cells by commas, or choose --delimiter" : other);
}

[[noreturn]] void throw_ragged(ImportCsvOptions const& options, std::string const& place, std::size_t cells,
                               std::vector<std::string> const& first) {
    auto const other = other_delimiter({first.begin(), first.end()}, options.delimiter);
    throw DataError(fmt::format("{}: {} cells (the first record of {} has {}); {}", place, cells,
                                options.sources.front().string(), first.size(),
                                other.empty() ? "add or remove cells" : other));
}

// By name, else by index; nowhere: beyond the columns.
std::size_t place_of(ImportCsvOptions const& options, std::vector<std::string> const& first, std::string const& column) {
    auto const found = std::ranges::find(first, column);
    auto index = static_cast<std::size_t>(found - first.begin());
    if (found == first.end() || options.header == CsvHeader::absent)
        std::from_chars(column.data(), column.data() + column.size(), index);
    return index;
}

// The types of a file count if the options name none. A label is a class by its text, or else a number.
void add_known(ImportCsvOptions const& options, std::vector<std::string> const& first, ChosenTypes& out) {
    auto known = options.typed.of_columns;
    known.resize(out.size());
    for (std::size_t i = 0; i < out.size(); ++i)
        if (out[i]) known[i] = out[i];
    auto const forget = [&](std::size_t label) {
        bool const by_text = known[label] == ColumnType::category && options.task == Task::classification;
        if (!by_text) known[label] = out[label];
    };
    for (auto const& label : options.label)
        if (auto const index = place_of(options, first, label); index < out.size()) forget(index);
    auto const kept = [](auto const& type) { return type != ColumnType::dropped; };
    if (auto const last = std::find_if(known.rbegin(), known.rend(), kept); options.label.empty() && last != known.rend())
        forget(static_cast<std::size_t>(known.rend() - last) - 1);
    out = std::move(known);
}

}  // namespace

ChosenTypes chosen_types(ImportCsvOptions const& options, std::vector<std::string> const& first) {
    ChosenTypes out(first.size());
    for (auto const& [option, column, type] : options.columns)
        if (auto const index = place_of(options, first, column); index < out.size()) out[index] = type;
    add_known(options, first, out);
    return out;
}

bool is_dropped(ImportCsvOptions const& options, ChosenTypes const& chosen, Cells const& cells) {
    if (options.missing != MissingValues::drop) return false;
    for (std::size_t i = 0; i < cells.size(); ++i)
        if (is_missing(cells[i]) && chosen[i] != ColumnType::dropped) return true;
    return false;
}

void for_each_record(ImportCsvOptions const& options, bool header,
                     std::function<void(CsvReader const&, Cells const&)> const& visit) {
    std::vector<std::string> first;
    for (auto const& source : options.sources) {
        auto reader = open_source(options, source);
        Cells cells;
        for (bool at_start = true; reader.next(cells); at_start = false) {
            if (first.empty()) first.assign(cells.begin(), cells.end());
            if (cells.size() != first.size()) throw_ragged(options, reader.place(), cells.size(), first);
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
    TypeScan scan(options);
    CsvTable table;
    table.header = scan.header();
    table.types = std::move(scan.types());
    table.chosen = chosen_types(options, scan.first());
    if (table.types.size() < 2) throw DataError(one_column(options, scan.first()[0]));
    table.columns.resize(table.types.size());
    for (std::size_t i = 0; i < table.types.size(); ++i)
        table.columns[i].name = table.header.header ? scan.first()[i] : fmt::format("column {}", i);
    set_columns(options, table);
    scan_labels(options, table);
    if (auto const features = table.feature_names().size(); features > k_most_csv_features)
        throw DataError(
            fmt::format("{}: {} features (at most {}; a text column is one for each of its values); choose "
                        "--hash-buckets",
                        options.sources.front().string(), features, k_most_csv_features));
    return table;
}

}  // namespace hopscotch
