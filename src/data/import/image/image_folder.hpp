// SPDX-License-Identifier: Apache-2.0
// The files of an image folder, with the classes and splits that their folders name. Private to the importer.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset/manifest.hpp"

namespace hopscotch {

struct ImageFile {
    std::string name;          // in its folder
    std::uint32_t folder = 0;  // of ImageFolder::folders
};

struct ClassFolder {
    std::filesystem::path path;
    std::uint32_t label = 0;
    Split split = Split::train;
};

struct ImageFolder {
    std::vector<std::string> classes;  // sorted
    std::vector<ClassFolder> folders;
    std::vector<ImageFile> files;  // train first, then sorted by path
    bool has_splits = false;       // train/, and perhaps others, stand above the class folders
    std::int64_t ignored = 0;      // files that are hidden or do not end in .jpg, .jpeg or .png
    std::int64_t hidden = 0;       // folders that are hidden, and ignored with all that is in them

    std::filesystem::path path(ImageFile const& file) const { return folders[file.folder].path / file.name; }
};

// Ends in .jpg, .jpeg or .png.
bool is_image_name(std::string const& name);

// Throws DataError: an empty class folder, an image outside of one, folders within one, a class without training images.
ImageFolder list_image_folder(std::filesystem::path const& root);

}  // namespace hopscotch
