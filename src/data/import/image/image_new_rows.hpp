// SPDX-License-Identifier: Apache-2.0
// New images, decoded and resized as those of a folder that was imported (Manifest::provenance).
#pragma once
#include <memory>

#include "data/import/new_rows.hpp"

namespace hopscotch {

// source: a JPEG or PNG file, or a folder of such files with folders in it, in the order of the sorted paths. A row is named
// by its path in the folder. Throws ConfigError where there are none, DataError if `trained` does not describe images.
std::unique_ptr<NewRowSource> new_images(std::filesystem::path const& source, Manifest const& trained);

}  // namespace hopscotch
