// SPDX-License-Identifier: Apache-2.0
#include "data/import/csv/csv_import.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "data/import/csv/csv_scan.hpp"
#include "data/import/csv/typed_sources.hpp"
#include "data/import/dataset_writer.hpp"

namespace hopscotch {
namespace {

constexpr std::int64_t k_most_buckets = 1 << 24;  // float32 holds every id below it

void check_csv_options(ImportCsvOptions const& options) {
    check_import_options(options);
    if (options.task == Task::language)
        throw ConfigError("tokens are not rows of features; use 'hopscotch data import tokens'");
    if (options.task == Task::classification && options.label.size() > 1)
        throw ConfigError(
            fmt::format("--label {} and {} more: a class is one column (several are targets); add --regression or "
                        "--multilabel",
                        options.label.front(), options.label.size() - 1));
    auto const buckets = options.hash_buckets;
    if (buckets != 0 && (buckets < 2 || buckets > k_most_buckets))
        throw ConfigError(fmt::format("--hash-buckets {}: must be between 2 and 2^24 (0: one-hot)", buckets));
}

std::vector<std::int64_t> row_shape(ImportCsvOptions const& options, CsvTable const& table) {
    auto const features = static_cast<std::int64_t>(table.feature_names().size());
    if (options.shape.empty()) return {features};
    auto const shape = parse_shape(options.shape);
    std::int64_t product = 1;
    for (auto n : shape) product *= n;
    if (product != features)
        throw ConfigError(
            fmt::format("--shape {}: {} elements (the file has {} feature columns); choose a shape with {} elements",
                        options.shape, product, features, features));
    return shape;
}

std::string_view name(MissingValues missing) {
    return missing == MissingValues::error ? "error" : missing == MissingValues::mean ? "mean" : "drop";
}

std::vector<std::string> label_names(CsvTable const& table) {
    std::vector<std::string> out;
    for (auto const i : table.labels) out.push_back(table.columns[i].name);
    return out;
}

// Everything a later program needs to turn another CSV file into the same features. No path and no time: the same
// options and files make the same bytes anywhere.
Json provenance(ImportCsvOptions const& options, CsvTable const& table) {
    Json::Array sources;
    for (auto const& source : options.sources) sources.emplace_back(source.filename().string());
    Json::Object categories;
    Json::Array dates, dropped;
    for (auto const& column : table.columns) {
        if (column.kind == ColumnKind::one_hot) categories.push_back({column.name, column.categories, {}});
        if (column.kind == ColumnKind::date) dates.emplace_back(column.name);
        if (column.kind == ColumnKind::dropped) dropped.emplace_back(column.name);
    }
    auto const labels = label_names(table);
    auto out = Json::object({{"importer", "csv"},
                             {"sources", std::move(sources)},
                             {"header", table.header.header},
                             {"label", labels.size() == 1 ? Json(labels.front()) : Json(labels)},
                             {"features", table.feature_names()},
                             {"categories", std::move(categories)},
                             {"missing", name(options.missing)},
                             {"dropped_rows", table.dropped},
                             {"valid", options.valid},
                             {"test", options.test}});
    // 1 + xxh3(text, seed xxh3(column's name)) % (buckets - 1), missing: 0
    if (options.hash_buckets > 0) out["hash_buckets"] = options.hash_buckets;
    if (!dates.empty()) out["dates"] = std::move(dates);
    if (!dropped.empty()) out["dropped"] = std::move(dropped);
    if (table.id) out["id"] = table.columns[*table.id].name;
    if (!options.encoding.empty()) out["encoding"] = options.encoding;
    if (!options.typed.by.empty()) out["converted_by"] = options.typed.by;
    if (options.delimiter != ',') out["delimiter"] = std::string(1, options.delimiter);
    return out;
}

Manifest describe(ImportCsvOptions const& options, CsvTable const& table) {
    Manifest out;
    out.task = options.task;
    out.shape = row_shape(options, table);
    out.type = table.type;
    out.outputs = static_cast<std::int64_t>(options.task == Task::classification ? table.class_count : table.labels.size());
    out.class_names = options.task == Task::multilabel && table.header.header ? label_names(table) : table.class_names;
    out.categories = table.feature_categories(options.hash_buckets);
    out.origin.seed = options.seed;
    out.origin.provenance = provenance(options, table);
    out.origin.decisions = csv_decisions(options, table);
    for (auto const& column : table.columns) {
        if (is_one_feature(column.kind)) out.features.offset.push_back(column.offset);
        out.features.offset.resize(out.features.offset.size() + column.categories.size(), 0.0);
    }
    if (std::ranges::all_of(out.features.offset, [](auto offset) { return offset == 0; })) out.features.offset.clear();
    return out;
}

ImportReport import_texts(ImportCsvOptions const& options) {
    auto const table = scan_csv(options);
    auto description = describe(options, table);
    auto placement = place_rows(table.classes, table.class_count,
                                {options.shards, options.valid, options.test, options.stratify, options.seed});
    DatasetWriter writer(options.out, std::move(description), std::move(placement), options.progress);
    if (!options.standardise) writer.keep_targets();
    RowsReader rows(options, table);
    rows.read([&](std::span<float const> features, std::span<double const> labels) {
        writer.add(features, labels);
        if (table.dropped > 0 || table.id) writer.came_from(rows.record(), rows.name());
    });
    writer.decide(rows.decisions());
    ImportReport report;
    report.manifest = writer.finish();
    report.dropped_rows = table.dropped;
    return report;
}

}  // namespace

ImportReport import_csv_files(ImportCsvOptions const& options) {
    check_csv_options(options);
    ParquetWishes wishes;
    wishes.delimiter = options.delimiter;
    if (options.task != Task::classification) wishes.targets = options.label;
    wishes.poll = [&] {
        if (options.progress) options.progress(0, 0);
    };
    TypedSources const sources(options.sources, wishes);
    try {
        return import_texts(sources.options(options));
    } catch (ConfigError const& error) {
        throw ConfigError(sources.by_source(error.what()));
    } catch (DataError const& error) {
        throw DataError(sources.by_source(error.what()));
    }
}

}  // namespace hopscotch
