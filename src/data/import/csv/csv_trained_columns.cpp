// SPDX-License-Identifier: Apache-2.0
#include "data/import/csv/csv_trained_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "data/dataset/manifest.hpp"

namespace hopscotch {
namespace {

// "colour=blue", "colour=red": the names that the import gave to the categories of a column.
bool begins_with_categories(std::vector<std::string> const& features, std::size_t at, CsvColumn const& column) {
    if (at + column.categories.size() > features.size()) return false;
    for (std::size_t i = 0; i < column.categories.size(); ++i)
        if (features[at + i] != column.name + "=" + column.categories[i]) return false;
    return true;
}

bool is_date(Json const& table, std::string const& column) {
    auto const* dates = table.find("dates");
    return dates != nullptr && std::ranges::find(dates->array(), Json(column)) != dates->array().end();
}

}  // namespace

std::vector<std::string> texts_of(Json const& list) {
    std::vector<std::string> out;
    if (list.is_string()) return {list.string()};
    for (auto const& text : list.array()) out.push_back(text.string());
    return out;
}

std::string text_in(Json const& table, std::string_view key) {
    auto const* text = table.find(key);
    return text == nullptr ? "" : text->string();
}

char delimiter_of(Json const& table) {
    auto const text = text_in(table, "delimiter");
    return text.empty() ? ',' : text.front();
}

std::vector<TrainedColumn> columns_of(Manifest const& trained) {
    auto const features = texts_of(trained.origin.provenance.at("features"));
    std::vector<CsvColumn> one_hot;
    for (auto const& [name, texts, place] : trained.origin.provenance.at("categories").object())
        one_hot.push_back({name, ColumnKind::one_hot, 0, texts_of(texts), 0});
    auto const size = static_cast<std::size_t>(trained.row_size());
    bool const offsets = trained.features.offset.empty() || trained.features.offset.size() == size;
    if (!offsets || features.size() != size || trained.features.mean.empty() || size % trained.features.mean.size() != 0)
        throw DataError(
            fmt::format("best/model.json: {} columns (rows have {} numbers); it was changed", features.size(), size));
    std::vector<TrainedColumn> out;
    for (std::size_t at = 0; at < features.size();) {
        auto const found =
            std::ranges::find_if(one_hot, [&](auto const& each) { return begins_with_categories(features, at, each); });
        TrainedColumn source;
        if (found != one_hot.end() && !found->categories.empty()) {
            source.column = *found;
        } else {
            bool const hashed = trained.categories.size() == size && trained.categories[at] > 0;
            source.column.name = features[at];
            source.column.kind = hashed                                             ? ColumnKind::hashed
                                 : is_date(trained.origin.provenance, features[at]) ? ColumnKind::date
                                                                                    : ColumnKind::number;
            source.column.offset = trained.features.offset.empty() ? 0 : trained.features.offset[at];
            source.column.hash_seed = xxh3(std::as_bytes(std::span(source.column.name)));
            source.mean = static_cast<float>(trained.features.mean[at / (size / trained.features.mean.size())]);
        }
        at += std::max<std::size_t>(1, source.column.categories.size());
        out.push_back(std::move(source));
    }
    return out;
}

}  // namespace hopscotch
