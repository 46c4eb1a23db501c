// SPDX-License-Identifier: Apache-2.0
// The account of the images of an import, in words: for Manifest::decisions. Private to the importer.
#pragma once
#include <string>
#include <vector>

#include "data/import/image/image_decoder.hpp"

namespace hopscotch {

class ImageAccount {
public:
    void see(DecodedImage const& image) {
        turned_ += image.turned ? 1 : 0;
        resized_ += image.resized ? 1 : 0;
    }
    std::vector<std::string> decisions(ImportImagesOptions const& options, ImageFolder const& folder,
                                       RowFormat const& format, std::int64_t skipped) const;

private:
    std::int64_t turned_ = 0, resized_ = 0;
};

}  // namespace hopscotch
