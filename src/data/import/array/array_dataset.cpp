// SPDX-License-Identifier: Apache-2.0
#include "data/import/array/array_dataset.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>

#include "core/error.hpp"
#include "data/import/array/array_labels.hpp"
#include "data/import/array/array_numbers.hpp"
#include "data/import/dataset_writer.hpp"

namespace hopscotch {
namespace {

using Shape = std::vector<std::int64_t>;

Shape row_shape(ImportArraysOptions const& options, ArraySource const& features) {
    Shape stored(features.shape().begin() + 1, features.shape().end());
    if (stored.empty()) stored = {1};
    if (options.shape.empty()) return stored;
    auto const shape = parse_shape(options.shape);
    auto const product = [](Shape const& sizes) {
        return std::accumulate(sizes.begin(), sizes.end(), 1LL, std::multiplies<>());
    };
    if (product(shape) == product(stored)) return shape;
    throw ConfigError(fmt::format("--shape {}: {} elements (a row of {} has {}: {}); choose a shape with {} elements",
                                  options.shape, product(shape), features.name(), product(stored), fmt::join(stored, "x"),
                                  product(stored)));
}

bool channels_are_last(ImportArraysOptions const& options, Shape const& row) {
    auto const few = [](std::int64_t n) { return n == 1 || n == 3 || n == 4; };
    if (options.channels == Channels::automatic) return row.size() == 3 && few(row[2]) && !few(row[0]);
    if (options.channels == Channels::last && row.size() != 3)
        throw ConfigError(
            fmt::format("--channels last: a row of {} (height x width x channels is needed); give its --shape, "
                        "or leave --channels out",
                        fmt::join(row, "x")));
    return options.channels == Channels::last;
}

// [height, width, channels] -> [channels, height, width]
template <class T>
void to_channels_first(std::span<T> row, Shape const& chw, std::vector<T>& spare) {
    spare.assign(row.begin(), row.end());
    auto const channels = static_cast<std::size_t>(chw[0]), pixels = row.size() / channels;
    for (std::size_t c = 0; c < channels; ++c)
        for (std::size_t pixel = 0; pixel < pixels; ++pixel) row[c * pixels + pixel] = spare[pixel * channels + c];
}

// Feeds the writer with the rows of one part after the other.
class RowFeed {
public:
    RowFeed(ImportArraysOptions const& options, ArrayLabels const& labels, Manifest const& description,
            DatasetWriter& writer)
        : options_(options),
          labels_(labels),
          chw_(description.shape),
          writer_(writer),
          numbers_(description.features.offset, description.shape.size()) {}

    void add(ArrayPart const& part, FeatureType type, bool channels_last) {
        RowCursor features(*part.features), labels(*part.labels);
        floats_.resize(type == FeatureType::float32 ? part.features->row_elements() : 0);
        for (std::int64_t row = 0; row < part.features->rows(); ++row) {
            read_label(part, labels, row);
            if (type == FeatureType::uint8)
                add_bytes(*part.features, features.next(), row, channels_last);
            else
                add_floats(*part.features, features.next(), row, channels_last);
            ++done_;
        }
        features.finish();
        if (!has_labels(options_.task)) labels.finish();
    }

    std::vector<std::string> decisions() const { return numbers_.decisions(); }

private:
    void read_label(ArrayPart const& part, RowCursor& labels, std::int64_t row) {
        if (has_labels(options_.task))
            targets_.assign(1, labels_.classes[done_]);
        else
            read_targets(*part.labels, labels.next(), row, options_.task, targets_);
    }

    // Ids are looked up in a table of that many rows.
    template <class T>
    void check_ids(std::vector<T> const& row, ArraySource const& source, std::int64_t number) const {
        for (std::size_t i = 0; options_.vocabulary > 0 && i < row.size(); ++i) {
            auto const id = static_cast<double>(row[i]);
            if (id >= 0 && id < static_cast<double>(options_.vocabulary) && id == std::floor(id)) continue;
            throw DataError(
                fmt::format("{}: row {}, element {}: {} is not an id below {} (--vocabulary); correct it, or choose a "
                            "larger --vocabulary",
                            source.name(), number, i, id, options_.vocabulary));
        }
    }

    void add_bytes(ArraySource const& source, ByteView row, std::int64_t number, bool channels_last) {
        bytes_.resize(row.size());
        std::memcpy(bytes_.data(), row.data(), row.size());
        check_ids(bytes_, source, number);
        if (channels_last) to_channels_first(std::span(bytes_), chw_, spare_bytes_);
        writer_.add(std::span<std::uint8_t const>(bytes_), targets_);
    }

    void add_floats(ArraySource const& source, ByteView row, std::int64_t number, bool channels_last) {
        numbers_.read(source, row, number, floats_);
        check_ids(floats_, source, number);
        if (channels_last) to_channels_first(std::span(floats_), chw_, spare_floats_);
        writer_.add(std::span<float const>(floats_), targets_);
    }

    ImportArraysOptions const& options_;
    ArrayLabels const& labels_;
    Shape const& chw_;
    DatasetWriter& writer_;
    FloatRows numbers_;
    std::vector<float> floats_, spare_floats_;
    std::vector<std::uint8_t> bytes_, spare_bytes_;
    std::vector<double> targets_;
    std::size_t done_ = 0;  // rows of all parts
};

void check_parts(ImportArraysOptions const& options, std::vector<ArrayPart> const& parts) {
    if (options.task == Task::language)
        throw ConfigError("tokens are not arrays of features; use 'hopscotch data import tokens'");
    auto const row = [](ArraySource const& source) { return Shape(source.shape().begin() + 1, source.shape().end()); };
    auto const& first = *parts.front().features;
    for (auto const& part : parts) {
        auto const& features = *part.features;
        if (features.type().kind == NumberKind::text)
            throw DataError(fmt::format("{}: holds texts (features are numbers); choose another array", features.name()));
        if (features.rows() != part.labels->rows())
            throw DataError(
                fmt::format("{} has {} rows and {} has {} (each row needs its label); choose arrays of one length",
                            features.name(), features.rows(), part.labels->name(), part.labels->rows()));
        if (row(features) != row(first))
            throw DataError(fmt::format("{}: rows of {} ({} has rows of {}); import arrays of the same shape",
                                        features.name(), fmt::join(row(features), "x"), first.name(),
                                        fmt::join(row(first), "x")));
    }
}

std::vector<Split> given_splits(std::vector<ArrayPart> const& parts) {
    std::vector<Split> out;
    for (auto const& part : parts) out.resize(out.size() + static_cast<std::size_t>(part.features->rows()), part.split);
    auto const apart = std::any_of(out.begin(), out.end(), [](Split split) { return split != Split::train; });
    return apart ? out : std::vector<Split>{};
}

FeatureType feature_type(std::vector<ArrayPart> const& parts) {
    auto const bytes = std::all_of(parts.begin(), parts.end(), [](auto const& part) {
        return part.features->type() == NumberType{NumberKind::unsigned_integer, 1};
    });
    return bytes ? FeatureType::uint8 : FeatureType::float32;
}

std::string what_it_predicts(Manifest const& description, ArraySource const& labels) {
    auto const type = name_of(labels.type());
    if (description.task != Task::classification)
        return fmt::format("{} {} of {} a row", description.outputs,
                           description.task == Task::regression ? "targets" : "labels of 0 or 1", type);
    auto const how = description.class_names.empty() ? "the integers from 0 up" : "named by the labels, in ascending order";
    return fmt::format("{} classes of {}: {}", description.outputs, type, how);
}

// The splits of a source may have different types.
std::vector<std::string> types_that_change(Manifest const& description, std::vector<ArrayPart> const& parts) {
    std::vector<std::string> out;
    for (auto const& part : parts) {
        auto const type = name_of(part.features->type());
        if (description.type == FeatureType::uint8 || type == "float32" || std::ranges::find(out, type) != out.end())
            continue;
        out.push_back(type);
    }
    return out;
}

// The account, without the numbers.
std::vector<std::string> array_decisions(Manifest const& description, std::vector<ArrayPart> const& parts,
                                         Json const& provenance) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        auto const& names = provenance.at("arrays").array()[i];
        auto const split = names.at("split").string();
        out.push_back(fmt::format("{} rows of '{}' with the labels '{}'{}", parts[i].features->rows(),
                                  names.at("features").string(), names.at("labels").string(),
                                  split == "train" ? "" : fmt::format(", as the {} split of the source", split)));
    }
    out.push_back(fmt::format("features and labels {}", provenance.at("chosen").string()));
    out.push_back(what_it_predicts(description, *parts.front().labels));
    if (provenance.at("channels_last").boolean()) out.push_back("channels were last (NHWC) and are first now (CHW)");
    if (auto const changed = types_that_change(description, parts); !changed.empty())
        out.push_back(fmt::format("features of {} become float32", fmt::join(changed, " and of ")));
    if (!description.categories.empty())
        out.push_back(fmt::format("features are ids below {} (--vocabulary)", description.categories.front()));
    return out;
}

}  // namespace

ImportReport import_arrays(ImportArraysOptions const& options, std::vector<ArrayPart> const& parts, Json provenance) {
    check_parts(options, parts);
    Manifest description;
    description.task = options.task;
    description.shape = row_shape(options, *parts.front().features);
    auto const channels_last = channels_are_last(options, description.shape);
    provenance["stored"] = name_of(parts.front().features->type());
    provenance["channels_last"] = channels_last;
    if (channels_last) std::rotate(description.shape.begin(), description.shape.begin() + 2, description.shape.end());
    description.type = feature_type(parts);
    auto const labels = scan_array_labels(options, parts);
    description.outputs = labels.outputs;
    description.class_names = labels.class_names;
    description.origin.seed = options.seed;
    if (options.vocabulary < 0 || options.vocabulary > 1 << 24)
        throw ConfigError(fmt::format("--vocabulary {}: must be between 1 and 2^24", options.vocabulary));
    if (options.vocabulary > 0)
        description.categories = {options.vocabulary};
    else if (description.type == FeatureType::float32)
        description.features.offset = find_offsets(parts, description.shape.size());
    provenance["valid"] = options.valid;
    provenance["test"] = options.test;
    description.origin.decisions = array_decisions(description, parts, provenance);
    description.origin.provenance = std::move(provenance);
    auto placement =
        place_rows(labels.classes, labels.class_count,
                   {options.shards, options.valid, options.test, options.stratify, options.seed}, given_splits(parts));
    DatasetWriter writer(options.out, description, std::move(placement), options.progress);
    if (!options.standardise) writer.keep_targets();
    RowFeed feed(options, labels, description, writer);
    for (auto const& part : parts) feed.add(part, description.type, channels_last);
    writer.decide(feed.decisions());
    ImportReport report;
    report.manifest = writer.finish();
    return report;
}

}  // namespace hopscotch
