// SPDX-License-Identifier: Apache-2.0
// Pictures of 16 bits often use few of their 65536 values: a camera of 12 bits, a scanner, a mask of 120 parts. Divided by
// 257 they would be black. Where all pictures have 16 bits and the range of the training pictures is small, that range
// becomes 0..255: one scale for the whole dataset. Private to the importer.
#pragma once
#include "data/import/image/image_decode.hpp"
#include "data/import/image/image_folder.hpp"
#include "data/import/image/image_import.hpp"

namespace hopscotch {

struct DepthScan {
    std::int64_t deep = 0, others = 0;  // pictures of 16 bits and of fewer, as far as their headers can be read
    ValueRange values;                  // of the training pictures of 16 bits
    ValueRange scale;                   // that becomes 0..255: all of 16 bits, or `values`

    std::string decision() const;  // for the account; "": no picture has 16 bits
};

// Reads the first bytes of every file, and all of those that have 16 bits.
DepthScan scan_depths(ImageFolder const& folder, int threads, ImportOptions const& options);

}  // namespace hopscotch
