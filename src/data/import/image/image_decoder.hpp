// SPDX-License-Identifier: Apache-2.0
// Reads and decodes the files of an image folder on several threads, in order. Private to the importer.
#pragma once
#include <functional>
#include <span>
#include <string>

#include "data/import/image/image_decode.hpp"
#include "data/import/image/image_folder.hpp"
#include "data/import/image/image_import.hpp"

namespace hopscotch {

struct RowFormat {
    std::int64_t channels = 3, width = 0, height = 0;  // of every row
    std::int64_t size = 0;                             // as in the options; 0: images that differ are refused
    Resize resize = Resize::crop;
    bool upright = true;       // the orientation of EXIF is obeyed; false: the model was trained by an import that did not
    ValueRange scale = {};     // of images of 16 bits
    bool refuse_flat = false;  // images of 16 bits that dividing by 257 leaves without any difference
    bool see_values = false;   // of images of 16 bits

    std::size_t bytes() const { return static_cast<std::size_t>(channels * width * height); }
};

// The whole file, into `out`. Throws DataError that says why it cannot be read, without its name.
void read_whole_file(std::filesystem::path const& path, std::vector<std::byte>& out);

struct DecodedImage {
    std::span<std::uint8_t const> row;
    std::string why;      // the file could not be decoded, and there is no row; empty: it was
    bool turned = false;  // upright, by its EXIF block
    bool resized = false;
    bool deep = false;        // of 16 bits
    ValueRange values{1, 0};  // of those, with RowFormat::see_values
};

// Calls visit(i, image) for every file i in order, on the calling thread. Throws DataError naming the file if its size does
// not fit the format.
void for_each_image(ImageFolder const& folder, RowFormat const& format, int threads,
                    std::function<void(std::size_t, DecodedImage const&)> const& visit);

}  // namespace hopscotch
