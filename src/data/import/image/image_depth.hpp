// SPDX-License-Identifier: Apache-2.0
// Pictures of 16 bits often use few of their 65536 values: a camera of 12 bits, a scanner, a mask of 120 parts. Divided by
// 257 they would be black. Where all pictures have 16 bits and the range of the training pictures is small, that range
// becomes 0..255: one scale for the whole dataset. Private to the importer.
#pragma once
#include "data/import/image/image_decode.hpp"
#include "data/import/image/image_decoder.hpp"
#include "data/import/image/image_folder.hpp"
#include "data/import/image/image_import.hpp"

namespace hopscotch {

struct Depths {
    std::int64_t deep = 0, others = 0;  // pictures of 16 bits and of fewer
    ValueRange values{1, 0};            // of the training pictures of 16 bits
    ValueRange scale;                   // that becomes 0..255: all of 16 bits, or `values`
    std::int64_t outside = 0;           // other pictures with values beyond those of training

    void see(DecodedImage const& image, bool trains);
    std::string decision() const;  // for the account; "": no picture has 16 bits
};

// The values and their scale if all pictures have 16 bits: reads these once. Else it stops at the first picture that has
// fewer, and the values stay empty.
Depths scan_depths(ImageFolder const& folder, int threads, ImportOptions const& options);

}  // namespace hopscotch
