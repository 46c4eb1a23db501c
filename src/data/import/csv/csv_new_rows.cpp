// SPDX-License-Identifier: Apache-2.0
#include "data/import/csv/csv_new_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>

#include "core/error.hpp"
#include "core/json_reader.hpp"
#include "data/import/csv/csv_delimiter.hpp"
#include "data/import/csv/csv_reader.hpp"
#include "data/import/csv/csv_scan.hpp"
#include "data/import/csv/csv_trained_columns.hpp"
#include "data/import/csv/typed_sources.hpp"
#include "data/import/readable_sources.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_most_listed = 20;  // kinds of bad cells

// Errors name the source, and not the copy of it.
TypedSources typed(ReadableSources const& copy, char delimiter, std::function<void()> const& poll) {
    ParquetWishes wishes;
    wishes.delimiter = delimiter;
    wishes.poll = poll;
    try {
        return TypedSources(copy.paths(), wishes);
    } catch (DataError const& error) {
        throw DataError(copy.by_source(error.what()));
    }
}

// Bad cells of one kind: how many, and where the first is.
struct Tally {
    std::int64_t count = 0;
    std::string first;
    void add(CsvReader const& at) {
        if (count++ == 0) first = at.place();
    }
};

class CsvNewRows : public NewRowSource {
public:
    CsvNewRows(CsvNewRowsOptions const& options, Manifest const& trained);

    FeatureType type() const override { return FeatureType::float32; }
    std::string id_name() const override { return id_name_; }
    NewRows next(std::int64_t most) override;

private:
    NewRows read(std::int64_t most);
    auto by_source(auto const& work) const;
    bool fills() const { return missing_ == MissingValues::mean; }
    void blame_delimiter(std::vector<std::string> const& first) const;
    void find_by_name(std::vector<std::string> const& names);
    void find_by_place(Manifest const& trained, std::vector<std::string> const& first);
    void find_id(std::vector<std::string> const& names, std::size_t cells);
    void read_row(Cells const& cells, std::vector<float>& out);
    void read_cell_of(TrainedColumn const& source, std::string_view cell, std::vector<float>& out);
    float number(TrainedColumn const& source, std::string_view cell);
    void read_one_hot(TrainedColumn const& source, std::string_view cell, std::vector<float>& out);
    void add_missing(TrainedColumn const& source);
    void refuse() const;

    CsvNewRowsOptions options_;
    ReadableSources copy_;  // of a pipe, or of a text in another encoding
    char delimiter_;
    TypedSources text_;  // of Parquet
    CsvReader reader_;
    MissingValues missing_ = MissingValues::error;
    std::int64_t buckets_ = 0;
    std::vector<TrainedColumn> sources_;
    std::size_t cells_ = 0, id_ = k_nowhere;
    std::string id_name_ = "row";
    std::vector<std::string> held_;                                // the first record of a file without a header
    std::map<std::string, Tally> missing_cells_, texts_;           // by column
    std::map<std::pair<std::string, std::string>, Tally> unseen_;  // by column and text
    std::int64_t row_ = 0;
};

auto CsvNewRows::by_source(auto const& work) const {
    try {
        return work();
    } catch (DataError const& error) {
        throw DataError(copy_.by_source(text_.by_source(error.what())));
    }
}

CsvNewRows::CsvNewRows(CsvNewRowsOptions const& options, Manifest const& trained)
    : options_(options),
      copy_({options.source}, text_in(trained.origin.provenance, "encoding"), options.poll),
      delimiter_(options.delimiter.value_or(delimiter_of(trained.origin.provenance))),
      text_(typed(copy_, delimiter_, options.poll)),
      reader_(text_.paths().front(), delimiter_, text_.places(0)),
      sources_(columns_of(trained)) {
    auto const& table = trained.origin.provenance;
    if (auto const* buckets = table.find("hash_buckets")) buckets_ = buckets->integer();
    missing_ = table.at("missing").string() == "mean" ? MissingValues::mean : MissingValues::error;
    if (options.missing) missing_ = *options.missing;
    Cells first;
    if (!by_source([&] { return reader_.next(first); }))
        throw DataError(fmt::format("{}: the file is empty", options.source.string()));
    std::vector<std::string> const names(first.begin(), first.end());
    cells_ = names.size();
    bool const header = table.at("header").boolean();
    header ? find_by_name(names) : find_by_place(trained, names);
    // The column that named the rows at the import, if it is there.
    if (auto const id = text_in(table, "id"); options_.id.empty() && header && std::ranges::find(names, id) != names.end())
        options_.id = id;
    if (!options_.id.empty()) find_id(header ? names : std::vector<std::string>(), names.size());
    if (!header && text_.places(0) == CsvPlaces::lines) held_ = names;  // Parquet has names all the same
    by_source([&] {
        for (auto const& source : sources_) text_.require_cells(source.cell);
        text_.require_cells(id_);
    });
    text_.remove_files(), copy_.remove_files();  // reader_ has its text open; a signal later would leave the files
}

// For a first record in which no column was found.
void CsvNewRows::blame_delimiter(std::vector<std::string> const& first) const {
    auto const other = text_.places(0) == CsvPlaces::lines ? other_delimiter({first.begin(), first.end()}, delimiter_) : "";
    if (other.empty()) return;
    throw ConfigError(fmt::format("{}: has one column, '{}' (cells are separated by {}); {}", options_.source.string(),
                                  first.front(), delimiter_ == '\t' ? "tab" : fmt::format("'{}'", delimiter_), other));
}

void CsvNewRows::find_by_name(std::vector<std::string> const& names) {
    std::vector<std::string> problems;
    for (auto& [column, cell, mean] : sources_) {
        auto const count = std::ranges::count(names, column.name);
        if (count > 1) problems.push_back(fmt::format("has {} columns '{}'; keep one", count, column.name));
        if (count == 1) cell = static_cast<std::size_t>(std::ranges::find(names, column.name) - names.begin());
        if (count > 0 || options_.missing == MissingValues::mean) continue;
        auto const near = nearest(column.name, names);
        problems.push_back(fmt::format("has no column '{}' (the model was trained with it){}", column.name,
                                       near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
    }
    if (std::ranges::all_of(sources_, [](auto const& source) { return source.cell == k_nowhere; })) blame_delimiter(names);
    if (problems.empty()) return;
    auto const more =
        problems.size() > k_most_listed ? fmt::format("\n... and {} more", problems.size() - k_most_listed) : "";
    problems.resize(std::min(problems.size(), k_most_listed));
    std::string text;
    for (auto const& problem : problems) text += fmt::format("{}: {}\n", options_.source.string(), problem);
    throw ConfigError(fmt::format(
        "{}add the columns, or choose --missing mean (the mean of the training rows, and no category){}", text, more));
}

// With the labels' columns, or without.
void CsvNewRows::find_by_place(Manifest const& trained, std::vector<std::string> const& first) {
    auto const cells = first.size();
    auto const labels = texts_of(trained.origin.provenance.at("label")).size();
    auto const* dropped = trained.origin.provenance.find("dropped");
    auto const others = labels + (dropped == nullptr ? 0 : dropped->array().size());
    bool const with_labels = cells == sources_.size() + others;
    if (!with_labels && cells != sources_.size()) {
        blame_delimiter(first);
        throw ConfigError(
            fmt::format("{}: has {} columns (the model was trained with {}, and {} of labels{}, without a header); "
                        "remove the others",
                        options_.source.string(), cells, sources_.size(), labels, others > labels ? " or dropped" : ""));
    }
    constexpr std::string_view prefix = "column ";
    for (std::size_t i = 0; i < sources_.size(); ++i) {
        auto const& name = sources_[i].column.name;
        sources_[i].cell = i;
        if (!with_labels) continue;
        if (name.starts_with(prefix))
            std::from_chars(name.data() + prefix.size(), name.data() + name.size(), sources_[i].cell);
        require(sources_[i].cell < cells, fmt::format("best/model.json: column '{}' cannot be; it was changed", name));
    }
}

void CsvNewRows::find_id(std::vector<std::string> const& names, std::size_t cells) {
    id_name_ = options_.id;
    auto const found = std::ranges::find(names, options_.id);
    auto const* end = options_.id.data() + options_.id.size();
    if (found != names.end()) {
        id_ = static_cast<std::size_t>(found - names.begin());
    } else if (auto const [stop, code] = std::from_chars(options_.id.data(), end, id_);
               code != std::errc{} || stop != end || id_ >= cells) {
        auto const near = nearest(options_.id, names);
        throw ConfigError(
            fmt::format("--id {}: no such column ({} has {} columns); {}", options_.id, options_.source.string(), cells,
                        near.empty() ? "give a column's name, or its index from 0" : fmt::format("did you mean {}?", near)));
    }
}

void CsvNewRows::add_missing(TrainedColumn const& source) {
    if (!fills() && source.column.kind != ColumnKind::hashed) missing_cells_[source.column.name].add(reader_);
}

float CsvNewRows::number(TrainedColumn const& source, std::string_view cell) {
    double value = 0;
    auto const kind = read_value(source.column, cell, value);
    if (kind == CellKind::missing) {
        add_missing(source);
        return source.mean;
    }
    bool const fits = kind == CellKind::number && std::abs(value) <= std::numeric_limits<float>::max();
    if (!fits) texts_[source.column.name].add(reader_);
    return fits ? static_cast<float>(value) : 0;
}

// A value of the training rows counts before a word for nothing: an older import may have had "NULL" as a category.
void CsvNewRows::read_one_hot(TrainedColumn const& source, std::string_view cell, std::vector<float>& out) {
    auto const& categories = source.column.categories;
    auto const at = out.size();
    out.resize(at + categories.size(), 0.0F);
    auto const found =
        std::ranges::lower_bound(categories, cell, {}, [](auto const& text) { return std::string_view(text); });
    if (found != categories.end() && *found == cell)
        out[at + static_cast<std::size_t>(found - categories.begin())] = 1;
    else if (is_missing(cell))
        add_missing(source);
    else if (!options_.unseen_as_none)
        unseen_[{source.column.name, unseen_.size() < k_most_listed ? std::string(cell) : "other values"}].add(reader_);
}

void CsvNewRows::read_cell_of(TrainedColumn const& source, std::string_view cell, std::vector<float>& out) {
    switch (source.column.kind) {
        case ColumnKind::label:
        case ColumnKind::dropped: break;
        case ColumnKind::number:
        case ColumnKind::date: out.push_back(number(source, cell)); break;
        case ColumnKind::hashed: out.push_back(hashed_category(source.column, cell, buckets_)); break;
        case ColumnKind::one_hot: read_one_hot(source, cell, out);
    }
}

void CsvNewRows::read_row(Cells const& cells, std::vector<float>& out) {
    if (cells.size() != cells_)
        throw DataError(fmt::format("{}: {} cells (the first record has {}); add or remove cells", reader_.place(),
                                    cells.size(), cells_));
    for (auto const& source : sources_)
        read_cell_of(source, source.cell == k_nowhere ? std::string_view() : cells[source.cell], out);
}

NewRows CsvNewRows::next(std::int64_t most) {
    return by_source([&] { return read(most); });
}

NewRows CsvNewRows::read(std::int64_t most) {
    NewRows out;
    std::vector<float> features;
    Cells cells;
    auto const take = [&] {
        if (std::ssize(out.ids) == most) return false;
        if (held_.empty()) return reader_.next(cells);
        cells.assign(held_.begin(), held_.end());
        return true;
    };
    while (take()) {
        read_row(cells, features);
        bool const bad = !missing_cells_.empty() || !texts_.empty() || !unseen_.empty();
        if (bad) features.clear(), out.ids.clear();  // looks at the rest, for all complaints at once
        if (!bad) out.ids.push_back(id_ == k_nowhere ? std::to_string(row_) : std::string(cells[id_]));
        held_.clear();
        ++row_;
    }
    refuse();
    out.shard.rows = std::ssize(out.ids);
    auto const bytes = std::as_bytes(std::span(features));
    out.shard.features = RowBytes(std::vector<std::byte>(bytes.begin(), bytes.end()));
    return out;
}

void CsvNewRows::refuse() const {
    std::string text;
    for (auto const& [column, tally] : texts_)
        text += fmt::format("{}: column '{}' has a cell that is not a finite float32 number ({} in all); correct it\n",
                            tally.first, column, tally.count);
    for (auto const& [column, tally] : missing_cells_)
        text += fmt::format("{}: column '{}' has no value here ({} missing in all); fill it in, or choose --missing mean\n",
                            tally.first, column, tally.count);
    for (auto const& [key, tally] : unseen_)
        text += fmt::format(
            "{}: column '{}' has '{}' (the training rows did not; {} in all); correct it, or choose --unseen "
            "none\n",
            tally.first, key.first, key.second, tally.count);
    if (text.empty()) return;
    text.pop_back();
    throw DataError(text);
}

}  // namespace

std::unique_ptr<NewRowSource> new_csv_rows(CsvNewRowsOptions const& options, Manifest const& trained) {
    return std::make_unique<CsvNewRows>(options, trained);
}

}  // namespace hopscotch
