// SPDX-License-Identifier: Apache-2.0
// Imports a directory of JPEG and PNG images: a folder a class, and above them, if there are any, train/, val/ (or valid/)
// and test/. All cores decode; rows are committed in the order of the sorted paths, so the dataset is the same every time.
#pragma once
#include "data/import/import_options.hpp"

namespace hopscotch {

enum class Resize {
    crop,
    fit
};  // crop: the shorter side to size, the middle of the longer; fit: the longer side, black bars
enum class Colour { automatic, grey, rgb };  // automatic: grey if every image is

struct ImportImagesOptions : ImportOptions {
    // sources: one directory
    std::int64_t size = 0;  // of the square result; 0: all images must have the size of the first
    Resize resize = Resize::crop;
    Colour colour = Colour::automatic;
    bool skip_bad = false;  // leave out files that cannot be decoded (they are reported) instead of refusing the import
    int threads = 0;        // 0: all cores
};

// Throws ConfigError for options, DataError that lists the corrupt files, empty class folders, ... Nothing remains on disk.
ImportReport import_image_folder(ImportImagesOptions const& options);

}  // namespace hopscotch
