// SPDX-License-Identifier: Apache-2.0
// The Sobol sequence (direction numbers of Joe and Kuo 2008), scrambled by the seed. Its points fill the space more evenly
// than random points.
#pragma once
#include <cstddef>
#include <cstdint>

namespace hopscotch {

inline constexpr std::size_t k_sobol_dimensions = 21;

// Coordinate `dimension` of point `index` (from 0), times 2^32.
std::uint32_t sobol_point(std::uint32_t index, std::size_t dimension);

// Owen's nested scrambling by hashing (Laine and Karras 2011, Burley 2020). Every key gives another sequence, equally even.
std::uint32_t owen_scrambled(std::uint32_t point, std::uint32_t key);

}  // namespace hopscotch
