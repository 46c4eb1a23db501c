// SPDX-License-Identifier: Apache-2.0
// Reads and decodes the files of an image folder on several threads, in order. Private to the importer.
#pragma once
#include <functional>
#include <span>
#include <string>

#include "data/import/image/image_folder.hpp"
#include "data/import/image/image_import.hpp"

namespace hopscotch {

struct RowFormat {
    std::int64_t channels = 3, width = 0, height = 0;  // of every row
    std::int64_t size = 0;                             // as in the options; 0: images that differ are refused
    Resize resize = Resize::crop;

    std::size_t bytes() const { return static_cast<std::size_t>(channels * width * height); }
};

// The whole file, into `out`. Throws DataError that says why it cannot be read, without its name.
void read_whole_file(std::filesystem::path const& path, std::vector<std::byte>& out);

// Calls visit(i, row, why) for every file i in order, on the calling thread: `why` is empty, or why the file could not be
// decoded (then there is no row). Throws DataError naming the file if its size does not fit the format.
void for_each_image(ImageFolder const& folder, RowFormat const& format, int threads,
                    std::function<void(std::size_t, std::span<std::uint8_t const>, std::string const&)> const& visit);

}  // namespace hopscotch
