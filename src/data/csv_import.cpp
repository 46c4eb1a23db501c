// SPDX-License-Identifier: Apache-2.0
#include "data/csv_import.hpp"

#include <fmt/format.h>

#include <charconv>

#include "core/error.hpp"
#include "data/csv_scan.hpp"
#include "data/dataset_writer.hpp"

namespace hopscotch {
namespace {

void check_options(ImportCsvOptions const& options) {
    if (options.sources.empty()) throw ConfigError("no CSV file to import; name one or several");
    if (options.out.empty()) throw ConfigError("--out is missing: the dataset directory to make");
    if (options.shards < 1) throw ConfigError(fmt::format("--shards {}: must be at least 1", options.shards));
    if (options.shards > 99999)
        throw ConfigError(fmt::format("--shards {}: at most 99999 (shard files have five digits)", options.shards));
    if (!(options.valid > 0 && options.valid < 1))
        throw ConfigError(
            fmt::format("--valid {}: must be between 0 and 1 (the fraction of rows kept for validation)", options.valid));
    if (options.seed > INT64_MAX) throw ConfigError(fmt::format("--seed {}: must be below 2^63", options.seed));
    require_free(options.out);
}

std::vector<std::int64_t> row_shape(ImportCsvOptions const& options, CsvTable const& table) {
    auto const features = static_cast<std::int64_t>(table.feature_names().size());
    if (options.shape.empty()) return {features};
    auto const shape = parse_shape(options.shape);
    std::int64_t product = 1;
    for (auto n : shape) product *= n;
    if (product != features)
        throw ConfigError(
            fmt::format("--shape {}: {} elements (the file has {} feature columns) choose a shape with {} elements",
                        options.shape, product, features, features));
    return shape;
}

std::string_view name(MissingValues missing) {
    return missing == MissingValues::error ? "error" : missing == MissingValues::mean ? "mean" : "drop";
}

// Everything a later program needs to turn another CSV file into the same features. No path and no time: the same
// options and files make the same bytes anywhere.
Json provenance(ImportCsvOptions const& options, CsvTable const& table) {
    Json::Array sources;
    for (auto const& source : options.sources) sources.emplace_back(source.filename().string());
    Json::Object categories;
    for (std::size_t i = 0; i < table.columns.size(); ++i)
        if (i != table.label && table.columns[i].categorical)
            categories.push_back({table.columns[i].name, table.columns[i].categories, {}});
    return Json::object({{"importer", "csv"},
                         {"sources", std::move(sources)},
                         {"header", table.header},
                         {"label", table.columns[table.label].name},
                         {"features", table.feature_names()},
                         {"categories", std::move(categories)},
                         {"missing", name(options.missing)},
                         {"dropped_rows", table.dropped},
                         {"valid", options.valid}});
}

Manifest describe(ImportCsvOptions const& options, CsvTable const& table) {
    Manifest out;
    out.task = options.task;
    out.shape = row_shape(options, table);
    out.type = table.type;
    out.outputs = options.task == Task::regression ? 1 : static_cast<std::int64_t>(table.class_count);
    out.class_names = table.class_names;
    out.seed = options.seed;
    out.provenance = provenance(options, table);
    return out;
}

}  // namespace

std::vector<std::int64_t> parse_shape(std::string const& text) {
    std::vector<std::int64_t> out;
    auto const* at = text.data();
    auto const* const end = at + text.size();
    for (;;) {
        std::int64_t size = 0;
        auto const [stop, code] = std::from_chars(at, end, size);
        auto const bad =
            code != std::errc{} || size < 1 || size > 1 << 24 || out.size() == 4 || (stop != end && *stop != 'x');
        if (bad)
            throw ConfigError(
                fmt::format("--shape {}: expected up to four sizes with an x between them, such as 1x8x8", text));
        out.push_back(size);
        if (stop == end) return out;
        at = stop + 1;
    }
}

ImportReport import_csv_files(ImportCsvOptions const& options) {
    check_options(options);
    auto const table = scan_csv(options);
    auto description = describe(options, table);
    auto placement = place_rows(table.classes, table.class_count, {options.shards, options.valid, options.seed});
    DatasetWriter writer(options.out, std::move(description), std::move(placement));
    read_rows(options, table, [&](std::span<float const> features, double label) { writer.add(features, label); });
    return {writer.finish(), table.dropped};
}

}  // namespace hopscotch
