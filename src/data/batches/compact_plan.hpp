// SPDX-License-Identifier: Apache-2.0
// The augmentation of one image in compact form, for a gather on a GPU: height + width numbers of 16 bits, by row and by
// column of the result. The low bits are the place in the stored image; a high bit for each cutout says that the row
// (column) crosses its hole. A pixel is in a hole if its row and column share a bit. Read by kernels, hence plain constants.
#pragma once
#include <cstdint>

namespace hopscotch {

inline constexpr unsigned k_plan_place_bits = 12;
inline constexpr unsigned k_plan_place = (1U << k_plan_place_bits) - 1;
inline constexpr std::int64_t k_plan_most_side = std::int64_t{1} << k_plan_place_bits;
inline constexpr std::int64_t k_plan_most_holes = 16 - k_plan_place_bits;

}  // namespace hopscotch
