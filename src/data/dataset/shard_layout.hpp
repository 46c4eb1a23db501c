// SPDX-License-Identifier: Apache-2.0
// The shapes and types that the manifest prescribes for the two datasets of a shard file. Shared by reader, writer and
// verification.
#pragma once
#include "data/dataset/hdf5_file.hpp"
#include "data/dataset/manifest.hpp"
#include "data/dataset/shard.hpp"

namespace hopscotch {

inline Hdf5Layout features_layout(Manifest const& manifest, std::int64_t rows) {
    Hdf5Layout layout{manifest.type == FeatureType::uint8 ? ElementType::uint8 : ElementType::float32, {rows}};
    layout.dims.insert(layout.dims.end(), manifest.shape.begin(), manifest.shape.end());
    return layout;
}

inline Hdf5Layout labels_layout(Manifest const& manifest, std::int64_t rows) {
    if (has_labels(manifest.task)) return {ElementType::int64, {rows}};
    return {ElementType::float32, {rows, manifest.outputs}};
}

inline std::size_t row_bytes(Manifest const& manifest) {
    return static_cast<std::size_t>(manifest.row_size()) * (manifest.type == FeatureType::uint8 ? 1 : 4);
}

// The word for the range of labels.
inline std::string_view classes_word(Task task) { return task == Task::language ? "tokens" : "classes"; }

// Throws DataError unless both datasets of the open file are as the manifest says.
void check_layout(Hdf5File const& open, std::filesystem::path const& path, ShardFile const& file, Manifest const& manifest);

// A shard without its features. Throws DataError naming the row where a label is out of range.
Shard read_labels(Hdf5File const& open, std::filesystem::path const& directory, ShardFile const& file,
                  Manifest const& manifest);

}  // namespace hopscotch
