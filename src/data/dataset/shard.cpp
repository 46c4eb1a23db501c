// SPDX-License-Identifier: Apache-2.0
#include "data/dataset/shard.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "core/error.hpp"
#include "data/dataset/hdf5_file.hpp"
#include "data/dataset/shard_layout.hpp"

namespace hopscotch {
namespace {

std::string shown(Hdf5Layout const& layout) {
    return fmt::format("{} [{}]", element_name(layout.type), fmt::join(layout.dims, ", "));
}

void check_dataset(Hdf5File const& open, std::filesystem::path const& path, std::string const& name,
                   Hdf5Layout const& wanted) {
    auto const found = open.layout(name);
    if (found.type != wanted.type || found.dims != wanted.dims)
        throw DataError(fmt::format("{}: dataset '{}' is {} (dataset.json says {}); import the dataset again", path.string(),
                                    name, shown(found), shown(wanted)));
    open.check_stored(name);
}

void check_labels(std::filesystem::path const& directory, ShardFile const& file, std::vector<std::int64_t> const& labels,
                  Manifest const& manifest) {
    auto const bad =
        std::find_if(labels.begin(), labels.end(), [&](auto label) { return label < 0 || label >= manifest.outputs; });
    if (bad == labels.end()) return;
    throw DataError(
        fmt::format("{}: row {}: label {} is out of range (dataset.json says {} {}); run 'hopscotch data verify {}'",
                    (directory / file.file).string(), bad - labels.begin(), *bad, manifest.outputs,
                    classes_word(manifest.task), directory.string()));
}

template <class T>
MutableBytes writable(std::vector<T>& items) {
    return std::as_writable_bytes(std::span(items));
}

RowBytes read_features(Hdf5File const& open, std::filesystem::path const&, ShardFile const& file, Manifest const& manifest) {
    std::vector<std::byte> features(static_cast<std::size_t>(file.rows) * row_bytes(manifest));
    open.read_rows("/features", 0, file.rows, features);
    return RowBytes(std::move(features));
}

RowBytes map_features(Hdf5File const& open, std::filesystem::path const& path, ShardFile const& file,
                      Manifest const& manifest) {
    auto const offset = open.offset_of_rows("/features");
    auto const aligned = static_cast<std::int64_t>(element_bytes(features_layout(manifest, file.rows).type));
    if (!offset || *offset % aligned != 0) return read_features(open, path, file, manifest);
    auto const bytes = static_cast<std::size_t>(file.rows) * row_bytes(manifest);
    return RowBytes(std::make_shared<MappedFile const>(path, *offset, bytes));
}

Shard with_features(std::filesystem::path const& directory, ShardFile const& file, Manifest const& manifest,
                    decltype(read_features)& features) {
    auto const path = directory / file.file;
    auto const open = Hdf5File::open(path);
    check_layout(open, path, file, manifest);
    auto shard = read_labels(open, directory, file, manifest);
    shard.features = features(open, path, file, manifest);
    return shard;
}

}  // namespace

void check_length(std::filesystem::path const& path, ShardFile const& file, Manifest const& manifest) {
    constexpr std::uintmax_t slack = 256 << 20;  // for the structures of HDF5 beside the rows
    auto const answers =
        has_labels(manifest.task) ? sizeof(std::int64_t) : sizeof(float) * static_cast<std::size_t>(manifest.outputs);
    auto const rows = static_cast<std::uintmax_t>(file.rows) * (row_bytes(manifest) + answers);
    std::error_code missing;
    auto const bytes = std::filesystem::file_size(path, missing);
    if (missing || bytes <= 2 * rows + slack) return;
    throw DataError(fmt::format("{}: is {} bytes long (its rows have {}); restore it or import the dataset again",
                                path.string(), bytes, rows));
}

void check_layout(Hdf5File const& open, std::filesystem::path const& path, ShardFile const& file, Manifest const& manifest) {
    check_length(path, file, manifest);
    check_dataset(open, path, "/features", features_layout(manifest, file.rows));
    check_dataset(open, path, "/labels", labels_layout(manifest, file.rows));
}

Shard read_labels(Hdf5File const& open, std::filesystem::path const& directory, ShardFile const& file,
                  Manifest const& manifest) {
    auto const rows = static_cast<std::size_t>(file.rows);
    Shard shard;
    shard.rows = file.rows;
    if (has_labels(manifest.task)) {
        shard.labels.resize(rows);
        open.read_rows("/labels", 0, file.rows, writable(shard.labels));
        check_labels(directory, file, shard.labels, manifest);
    } else {
        shard.targets.resize(rows * static_cast<std::size_t>(manifest.outputs));
        open.read_rows("/labels", 0, file.rows, writable(shard.targets));
    }
    return shard;
}

Shard read_shard(std::filesystem::path const& directory, ShardFile const& file, Manifest const& manifest) {
    return with_features(directory, file, manifest, read_features);
}

Shard map_shard(std::filesystem::path const& directory, ShardFile const& file, Manifest const& manifest) {
    return with_features(directory, file, manifest, map_features);
}

void check_shard(std::filesystem::path const& directory, ShardFile const& file, Manifest const& manifest) {
    auto const path = directory / file.file;
    check_layout(Hdf5File::open(path), path, file, manifest);
}

}  // namespace hopscotch
