// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "core/error.hpp"
#include "data/import/array/array_import.hpp"
#include "data/import/array/idx_reader.hpp"
#include "data/import/dataset_writer.hpp"
#include "data/import/foreign_names.hpp"

namespace hopscotch {
namespace {

namespace fs = std::filesystem;

// One pair of files, its labels read.
struct IdxPair {
    fs::path images;
    std::vector<std::uint8_t> labels;
};

// A file under one of the names that MNIST and its relatives are handed around with; empty if there is none.
fs::path find_usual(fs::path const& directory, std::string const& part, std::string const& kind) {
    for (auto const* dash : {"-", "."})
        for (auto const* end : {"", ".gz"})
            if (auto path = directory / fmt::format("{}{}{}-ubyte{}", part, dash, kind, end); fs::exists(path)) return path;
    return {};
}

std::vector<fs::path> idx_files_in(fs::path const& directory) {
    std::vector<fs::path> out;
    for (auto const* part : {"train", "t10k"}) {
        auto const images = find_usual(directory, fmt::format("{}-images", part), "idx3");
        auto const labels = find_usual(directory, fmt::format("{}-labels", part), "idx1");
        if (images.empty() && labels.empty() && !out.empty()) break;  // no test files
        if (images.empty() || labels.empty())
            throw DataError(
                fmt::format("{}: no {}-{}-ubyte or .gz here; name the files themselves, images and labels in turn",
                            directory.string(), part, images.empty() ? "images-idx3" : "labels-idx1"));
        out.insert(out.end(), {images, labels});
    }
    return out;
}

std::vector<fs::path> idx_files_of(ImportOptions const& options) {
    if (options.sources.size() == 1 && fs::is_directory(options.sources[0])) return idx_files_in(options.sources[0]);
    if (options.sources.size() != 2 && options.sources.size() != 4)
        throw ConfigError(fmt::format(
            "{} idx files (images and labels come in turn); name 2 files, 4 with the test split, or one directory",
            options.sources.size()));
    return options.sources;
}

std::vector<std::int64_t> shape_of(IdxReader const& images) {
    std::vector<std::int64_t> shape(images.sizes().begin() + 1, images.sizes().end());
    if (shape.empty())
        throw DataError(
            fmt::format("{}: a list of numbers, not of images (images and labels come in turn); name the images first",
                        images.path().string()));
    if (shape.size() == 2) shape.insert(shape.begin(), 1);  // grey images: one channel
    return shape;
}

IdxPair read_labels(fs::path const& images, fs::path const& labels) {
    IdxReader const pictures(images);
    shape_of(pictures);
    IdxReader reader(labels);
    if (reader.sizes().size() != 1)
        throw DataError(fmt::format(
            "{}: {} sizes in its header, not a list of labels (images and labels come in turn); name the images first",
            labels.string(), reader.sizes().size()));
    if (reader.sizes()[0] != pictures.sizes()[0])
        throw DataError(fmt::format("{}: {} labels ({} has {} images); are they a pair?", labels.string(), reader.sizes()[0],
                                    images.string(), pictures.sizes()[0]));
    IdxPair out{images, {}};
    // In pieces: the header of a damaged file may announce more than the file holds.
    for (auto left = static_cast<std::size_t>(reader.sizes()[0]); left > 0;) {
        auto const count = std::min<std::size_t>(left, 1 << 20);
        out.labels.resize(out.labels.size() + count);
        reader.read(std::span(out.labels).last(count));
        left -= count;
    }
    reader.expect_end();
    return out;
}

// Labels 0..n-1 are their own classes; others become classes in ascending order, with their numbers as names.
struct IdxClasses {
    std::array<std::uint32_t, 256> of{};
    std::vector<std::string> names;
    std::size_t count = 0;
};

IdxClasses classes_of(std::vector<IdxPair> const& pairs) {
    std::set<std::uint8_t> seen;
    for (auto const& pair : pairs) seen.insert(pair.labels.begin(), pair.labels.end());
    if (seen.size() < 2)
        throw DataError(fmt::format("{}: every label is {}; a classification needs two classes", pairs[0].images.string(),
                                    *seen.begin()));
    IdxClasses out;
    for (auto label : seen) out.of[label] = static_cast<std::uint32_t>(out.count++);
    if (*seen.rbegin() != seen.size() - 1)
        for (auto label : seen) out.names.push_back(fmt::format("{}", label));
    return out;
}

Placement place(ImportOptions const& options, std::vector<IdxPair> const& pairs, IdxClasses const& classes) {
    std::vector<std::uint32_t> all;
    std::vector<Split> splits;
    for (auto const& pair : pairs)
        for (auto label : pair.labels) {
            all.push_back(classes.of[label]);
            if (pairs.size() > 1) splits.push_back(&pair == pairs.data() ? Split::train : Split::test);
        }
    SplitOptions const split{options.shards, options.valid, options.test, options.stratify, options.seed};
    return place_rows(all, classes.count, split, splits);
}

Manifest describe(ImportOptions const& options, std::vector<fs::path> const& files, IdxClasses const& classes) {
    Json::Array names;
    for (auto const& file : files) names.emplace_back(file_name(file));
    Manifest out;
    out.shape = shape_of(IdxReader(files[0]));
    out.type = FeatureType::uint8;
    out.outputs = static_cast<std::int64_t>(classes.count);
    out.class_names = classes.names;
    out.origin.seed = options.seed;
    out.origin.provenance = Json::object({{"importer", "idx"},
                                          {"sources", std::move(names)},
                                          {"valid", options.valid},
                                          {"test", options.test},
                                          {"stratify", options.stratify}});
    return out;
}

std::vector<std::string> decisions(std::vector<fs::path> const& files, std::vector<IdxPair> const& pairs,
                                   IdxClasses const& classes) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < pairs.size(); ++i)
        out.push_back(fmt::format("{} rows of {} with the labels of {}{}", pairs[i].labels.size(), file_name(files[2 * i]),
                                  file_name(files[2 * i + 1]), i == 0 ? "" : ", as the test split of the source"));
    out.push_back(fmt::format("{} classes: {}", classes.count,
                              classes.names.empty() ? "the integers from 0 up" : "named by the labels, in ascending order"));
    return out;
}

}  // namespace

ImportReport import_idx_files(ImportOptions const& options) {
    check_import_options(options);
    auto const files = idx_files_of(options);
    std::vector<IdxPair> pairs;
    for (std::size_t i = 0; i < files.size(); i += 2) pairs.push_back(read_labels(files[i], files[i + 1]));
    auto const classes = classes_of(pairs);
    auto const description = describe(options, files, classes);
    DatasetWriter writer(options.out, description, place(options, pairs, classes), options.progress);
    writer.decide(decisions(files, pairs, classes));
    std::vector<std::uint8_t> row(static_cast<std::size_t>(description.row_size()));
    for (auto const& pair : pairs) {
        IdxReader images(pair.images);
        if (auto const shape = shape_of(images); shape != description.shape)
            throw DataError(fmt::format("{}: rows of {} (those of {} are {}); import them apart", pair.images.string(),
                                        fmt::join(shape, "x"), pairs[0].images.string(), fmt::join(description.shape, "x")));
        for (auto const label : pair.labels) {
            images.read(row);
            std::array const target{static_cast<double>(classes.of[label])};
            writer.add(row, target);
        }
        images.expect_end();
    }
    return {writer.finish(), 0, {}, 0};
}

}  // namespace hopscotch
