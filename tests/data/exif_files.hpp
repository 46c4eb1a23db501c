// SPDX-License-Identifier: Apache-2.0
// Puts EXIF blocks into JPEG and PNG files.
#pragma once
#include <zlib.h>

#include <string>

namespace hopscotch {

enum class ExifOrder { intel, motorola };

inline std::string exif_number(ExifOrder order, std::uint32_t value, int bytes) {
    std::string out;
    for (int i = 0; i < bytes; ++i)
        out += static_cast<char>(value >> 8 * (order == ExifOrder::intel ? i : bytes - 1 - i) & 0xff);
    return out;
}

// A TIFF block with two entries: the camera's ISO, and the orientation.
inline std::string exif_block(ExifOrder order, std::uint32_t orientation) {
    auto const n = [&](std::uint32_t value, int bytes) { return exif_number(order, value, bytes); };
    return std::string(order == ExifOrder::intel ? "II" : "MM") + n(42, 2) + n(8, 4) + n(2, 2) + n(0x0110, 2) + n(3, 2) +
           n(1, 4) + n(100, 2) + n(0, 2) +                                            // another entry
           n(0x0112, 2) + n(3, 2) + n(1, 4) + n(orientation, 2) + n(0, 2) + n(0, 4);  // and no more directories
}

inline std::string jpeg_with_exif(std::string const& jpeg, std::string const& block) {
    auto const segment = std::string("Exif\0\0", 6) + block;
    return jpeg.substr(0, 2) + "\xff\xe1" +
           exif_number(ExifOrder::motorola, static_cast<std::uint32_t>(segment.size() + 2), 2) + segment + jpeg.substr(2);
}

// In front of the chunk of this name: IDAT, or IEND.
inline std::string png_with_exif(std::string const& png, std::string const& block, std::string const& before = "IDAT") {
    auto const chunk = "eXIf" + block;
    auto const crc = crc32(0, reinterpret_cast<Bytef const*>(chunk.data()), static_cast<uInt>(chunk.size()));
    auto const n = [](std::uint64_t value) {
        return exif_number(ExifOrder::motorola, static_cast<std::uint32_t>(value), 4);
    };
    return std::string(png).insert(png.find(before) - 4, n(block.size()) + chunk + n(crc));
}

}  // namespace hopscotch
