// SPDX-License-Identifier: Apache-2.0
// Shards of a shared file system, copied to a disk of the trainer's host before they are read again and again.
#pragma once
#include <filesystem>

#include "data/dataset/manifest.hpp"

namespace hopscotch {

// Copies the file into its own folder below `stage`, named after the dataset, unless a whole copy is there already, and
// returns that folder. The copy's hash must be dataset.json's. Several trainers of a host may do this at once. Throws
// DataError that names the file: damaged where it comes from, or no room where it goes.
std::filesystem::path stage_file(std::filesystem::path const& directory, ShardFile const& file, Manifest const& manifest,
                                 std::filesystem::path const& stage);

}  // namespace hopscotch
