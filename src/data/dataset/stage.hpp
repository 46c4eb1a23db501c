// SPDX-License-Identifier: Apache-2.0
// Copies shards from a shared file system to a disk of the trainer's host, where every epoch reads them.
#pragma once
#include <filesystem>

#include "data/dataset/manifest.hpp"

namespace hopscotch {

// Copies the file into its own folder below `stage`, named after the dataset, unless a whole copy is there already, and
// returns that folder. The copy must have the hash in dataset.json. Several trainers of a host may do this at once. Throws
// DataError that names the file: the original is damaged, or the disk has no room.
std::filesystem::path stage_file(std::filesystem::path const& directory, ShardFile const& file, Manifest const& manifest,
                                 std::filesystem::path const& stage);

}  // namespace hopscotch
