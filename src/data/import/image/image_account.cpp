// SPDX-License-Identifier: Apache-2.0
#include "data/import/image/image_account.hpp"

#include <fmt/format.h>

#include "core/counted.hpp"

namespace hopscotch {
namespace {

std::string channels_told(ImportImagesOptions const& options, RowFormat const& format) {
    auto const what = format.channels == 3 ? "3 channels (RGB)" : "1 channel (grey)";
    auto const why = options.colour != Colour::automatic ? "as --colour says"
                     : format.channels == 3              ? "since there are colours"
                                                         : "since every image is grey";
    return fmt::format("{}, {}", what, why);
}

std::string size_told(ImportImagesOptions const& options, RowFormat const& format, std::int64_t resized) {
    if (options.size == 0) return fmt::format("all images have {}x{} pixels, as stored", format.width, format.height);
    return fmt::format("{} brought to {}x{} pixels, {}", counted(resized, "image is", "images are"), options.size,
                       options.size, options.resize == Resize::crop ? "of which the middle is cut out" : "with black bars");
}

}  // namespace

std::vector<std::string> ImageAccount::decisions(ImportImagesOptions const& options, ImageFolder const& folder,
                                                 RowFormat const& format, std::int64_t skipped) const {
    std::vector<std::string> out;
    out.push_back(fmt::format("{} in {} classes, which the folders name",
                              counted(static_cast<std::int64_t>(folder.files.size()), "image", "images"),
                              folder.classes.size()));
    if (folder.has_splits) out.push_back("the folders above the classes say which images train, validate and test");
    out.push_back(channels_told(options, format));
    out.push_back(size_told(options, format, resized_));
    if (turned_ > 0)
        out.push_back(counted(turned_, "image is turned upright, as its EXIF orientation says",
                              "images are turned upright, as their EXIF orientation says"));
    if (skipped > 0)
        out.push_back(counted(skipped, "image is left out, since it cannot be decoded",
                              "images are left out, since they cannot be decoded"));
    if (folder.ignored > 0)
        out.push_back(counted(folder.ignored, "file is ignored: hidden, or no .jpg, .jpeg or .png",
                              "files are ignored: hidden, or no .jpg, .jpeg or .png"));
    if (folder.hidden > 0)
        out.push_back(counted(folder.hidden, "folder is ignored, with all that is in it: its name begins with a dot",
                              "folders are ignored, with all that is in them: their names begin with a dot"));
    return out;
}

}  // namespace hopscotch
