// SPDX-License-Identifier: Apache-2.0
// rows.h5 of a dataset: the place of each row in the source. Rows are shuffled at import; with this file the predictions of
// a dataset can be joined to the source again.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset/manifest.hpp"

namespace hopscotch {

struct SourceRows {
    std::map<std::string, std::size_t> first;  // of each shard's file: the index of its first row in the lists
    std::vector<std::int64_t> numbers;         // of the row's record, from 0, over all files of the source in turn
    std::vector<std::string> names;            // of its picture, or its --id; or empty
};

// numbers and names in the order of the manifest: the shards of train, of valid, of test. Throws DataError if the file
// cannot be written.
ShardFile write_source_rows(std::filesystem::path const& path, Manifest const& manifest,
                            std::vector<std::int64_t> const& numbers, std::vector<std::string> const& names);

// None: an older dataset. Throws DataError for a file that is damaged or does not know a shard of the dataset.
std::optional<SourceRows> read_source_rows(std::filesystem::path const& directory, Manifest const& manifest);

// The heading of a column of names or numbers: "source_row", "file", or the --id.
std::string source_heading(Manifest const& manifest, SourceRows const& rows);

}  // namespace hopscotch
