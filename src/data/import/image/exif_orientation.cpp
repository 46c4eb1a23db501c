// SPDX-License-Identifier: Apache-2.0
#include "data/import/image/exif_orientation.hpp"

#include <zlib.h>

#include <algorithm>
#include <string_view>

namespace hopscotch {
namespace {

enum class ByteOrder { little, big };

constexpr std::size_t k_tiff_header = 8, k_entry = 12, k_png_magic = 8, k_png_frame = 12;  // length, type and CRC
constexpr std::uint32_t k_orientation_tag = 0x0112, k_short = 3, k_long = 4;

// Reads numbers of a block; beyond its end there are zeros.
class Numbers {
public:
    Numbers(ByteView bytes, ByteOrder order) : bytes_(bytes), order_(order) {}
    std::size_t size() const { return bytes_.size(); }
    std::uint32_t read(std::size_t at, std::size_t width) const {
        std::uint32_t out = 0;
        if (width > bytes_.size() || at > bytes_.size() - width) return 0;
        for (std::size_t i = 0; i < width; ++i)
            out = out << 8 | std::to_integer<std::uint32_t>(bytes_[order_ == ByteOrder::big ? at + i : at + width - 1 - i]);
        return out;
    }

private:
    ByteView bytes_;
    ByteOrder order_;
};

bool starts_with(ByteView bytes, std::string_view text) {
    return bytes.size() >= text.size() &&
           std::equal(text.begin(), text.end(), bytes.begin(), [](char a, std::byte b) { return std::byte(a) == b; });
}

}  // namespace

int exif_orientation(ByteView exif) {
    constexpr std::string_view prefix("Exif\0\0", 6), intel("II*\0", 4), motorola("MM\0*", 4);
    if (starts_with(exif, prefix)) exif = exif.subspan(prefix.size());
    if (!starts_with(exif, intel) && !starts_with(exif, motorola)) return 1;
    Numbers const numbers(exif, starts_with(exif, intel) ? ByteOrder::little : ByteOrder::big);
    std::size_t const directory = numbers.read(4, 4);
    if (directory < k_tiff_header || directory > numbers.size()) return 1;
    auto const entries = numbers.read(directory, 2);
    for (std::uint32_t i = 0; i < entries; ++i) {
        auto const at = directory + 2 + i * k_entry;
        if (at + k_entry > numbers.size()) return 1;
        if (numbers.read(at, 2) != k_orientation_tag) continue;
        auto const type = numbers.read(at + 2, 2);
        if ((type != k_short && type != k_long) || numbers.read(at + 4, 4) != 1) return 1;
        auto const value = numbers.read(at + 8, type == k_short ? 2 : 4);
        return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
    }
    return 1;
}

int png_orientation(ByteView file) {
    Numbers const numbers(file, ByteOrder::big);
    for (std::size_t at = k_png_magic; at <= file.size() && file.size() - at >= k_png_frame;) {
        std::size_t const length = numbers.read(at, 4);
        if (length > file.size() - at - k_png_frame) return 1;
        if (starts_with(file.subspan(at + 4), "eXIf")) {
            auto const summed = file.subspan(at + 4, 4 + length);
            auto const crc = crc32_z(0, reinterpret_cast<Bytef const*>(summed.data()), summed.size());
            return crc == numbers.read(at + 8 + length, 4) ? exif_orientation(summed.subspan(4)) : 1;
        }
        at += k_png_frame + length;
    }
    return 1;
}

// 2: mirrored; 3: upside down; 4: 3 mirrored; 5 to 8: stored by columns. In each pair of bits below, the stored picture runs
// from right to left, from bottom to top.
void turn_upright(Image& image) {
    auto const way = image.orientation;
    image.orientation = 1;
    if (way <= 1) return;
    bool const by_columns = way >= 5, from_right = way == 2 || way == 3 || way == 7 || way == 8,
               from_bottom = way == 3 || way == 4 || way == 6 || way == 7;
    auto const stored = std::move(image.pixels);
    auto const stored_width = image.width, stored_height = image.height;
    if (by_columns) std::swap(image.width, image.height);
    image.pixels.resize(stored.size());
    auto* to = image.pixels.data();
    for (std::int64_t y = 0; y < image.height; ++y)
        for (std::int64_t x = 0; x < image.width; ++x) {
            auto const column = by_columns ? y : x, row = by_columns ? x : y;
            auto const from_x = from_right ? stored_width - 1 - column : column;
            auto const from_y = from_bottom ? stored_height - 1 - row : row;
            auto const from = stored.begin() + (from_y * stored_width + from_x) * image.channels;
            to = std::copy(from, from + image.channels, to);
        }
}

}  // namespace hopscotch
