// SPDX-License-Identifier: Apache-2.0
// Brings an image to a square size: shrinking averages over areas, enlarging interpolates linearly. In whole numbers
// throughout, so that the same image becomes the same bytes on every machine.
#pragma once
#include <span>

#include "data/import/image/image_decode.hpp"
#include "data/import/image/image_import.hpp"

namespace hopscotch {

// size 0: as it is. out: channels x height x width of the result.
void image_to_row(Image const& image, std::int64_t size, Resize resize, std::span<std::uint8_t> out);

}  // namespace hopscotch
