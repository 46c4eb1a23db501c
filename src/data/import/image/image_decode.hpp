// SPDX-License-Identifier: Apache-2.0
// Decodes the bytes of a JPEG or PNG file into pixels. The first bytes of a file tell its format, not its name.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/byte_view.hpp"

namespace hopscotch {

struct ImageInfo {
    std::int64_t width = 0, height = 0;
    bool colour = false;  // false: grey, with or without transparency
    int orientation = 1;  // exif_orientation.hpp; width and height are those of the stored picture
};

// Of values of 16 bits: those that become 0 and 255.
struct ValueRange {
    int low = 0, high = 65535;
    bool empty() const { return low > high; }
    int spread() const { return high - low; }
    void see(ValueRange other) {
        if (!other.empty()) *this = empty() ? other : ValueRange{std::min(low, other.low), std::max(high, other.high)};
    }
    bool operator==(ValueRange const&) const = default;
};

struct Image {
    std::int64_t width = 0, height = 0, channels = 0;  // channels 1: grey, 3: RGB
    std::vector<std::uint8_t> pixels;                  // height x width x channels
    int orientation = 1;                               // of these pixels; turn_upright() obeys it
};

// Reads the header only. Throws DataError that says why, without the file's name: empty, neither JPEG nor PNG, damaged.
ImageInfo image_info(ByteView file);

// Into `out`, whose memory is used again. Transparent pixels are laid onto black, 16 bits become 8 by `scale`, colours
// become grey by ITU-R BT.601's luma. Throws DataError as above, and where a decoder would only warn (a file that ends too
// early). With a scale of its own, a picture of fewer bits is refused: its scale is not known.
void decode_image(ByteView file, std::int64_t channels, Image& out, ValueRange scale = {});

// From the first k_depth_bytes of a file.
inline constexpr std::size_t k_depth_bytes = 32;
bool is_image(ByteView head);
bool is_deep_png(ByteView head);  // of 16 bits

// The two formats, each the only user of its library. `channels` as above.
ImageInfo jpeg_info(ByteView file);
void decode_jpeg(ByteView file, std::int64_t channels, Image& out);
ImageInfo png_info(ByteView file);
void decode_png(ByteView file, std::int64_t channels, Image& out, ValueRange scale);
ValueRange png_values(ByteView file);  // of a PNG of 16 bits, its transparent pixels on black

// Throws DataError for sizes that no memory should be reserved for.
void check_image_size(std::int64_t width, std::int64_t height);

inline std::uint8_t luma(std::uint32_t red, std::uint32_t green, std::uint32_t blue) {
    return static_cast<std::uint8_t>((299 * red + 587 * green + 114 * blue + 500) / 1000);
}

}  // namespace hopscotch
