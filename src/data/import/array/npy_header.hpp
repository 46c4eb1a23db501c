// SPDX-License-Identifier: Apache-2.0
// The header of NumPy's .npy format, versions 1.0 to 3.0: a magic string, a length, and a Python dictionary as text
// (numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/import/array/array_source.hpp"

namespace hopscotch {

inline constexpr std::size_t k_npy_prefix = 12;  // bytes that suffice for npy_header_bytes

struct NpyHeader {
    NumberType type;
    bool swapped = false;  // the file has the other byte order
    std::vector<std::int64_t> shape;
    std::size_t header_bytes = 0;  // the data begins here
    std::uint64_t data_bytes = 0;
};

// How long the header is, the prefix included. DataError "<name>: ..." if this is not an npy file, or its version is
// unknown.
std::size_t npy_header_bytes(std::string_view prefix, std::string_view name);

// header: the first npy_header_bytes of the file. DataError names the problem: malformed, Fortran order, objects, texts,
// structures, sizes whose product overflows.
NpyHeader parse_npy_header(std::string_view header, std::string_view name);

}  // namespace hopscotch
