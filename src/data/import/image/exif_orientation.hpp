// SPDX-License-Identifier: Apache-2.0
// The orientation that a camera or a telephone records beside the pixels (EXIF 2.3, tag 0x0112). Every viewer obeys it, and
// so does the import. A picture is never refused for its EXIF block: a damaged block is ignored.
#pragma once
#include "core/byte_view.hpp"
#include "data/import/image/image_decode.hpp"

namespace hopscotch {

// Of a TIFF block in either byte order, with or without "Exif\0\0" in front: 1 to 8. 1 (as stored) if the block has no
// orientation, an absurd one, or is damaged.
int exif_orientation(ByteView exif);

// Of the eXIf chunk of a PNG file (PNG 3, section 11.3.4.5), wherever it stands; else 1.
int png_orientation(ByteView file);

// Brings the pixels into the order in which people see them.
void turn_upright(Image& image);

}  // namespace hopscotch
