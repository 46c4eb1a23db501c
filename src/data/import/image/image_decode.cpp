// SPDX-License-Identifier: Apache-2.0
#include "data/import/image/image_decode.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/error.hpp"

namespace hopscotch {
namespace {

constexpr std::int64_t k_most_pixels = std::int64_t{1} << 28;  // beyond, a damaged or hostile header

enum class Format { jpeg, png };

constexpr auto k_jpeg = std::to_array<unsigned char>({0xff, 0xd8, 0xff});
constexpr auto k_png = std::to_array<unsigned char>({0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'});

template <std::size_t n>
bool starts_with(ByteView file, std::array<unsigned char, n> const& magic) {
    return file.size() >= n && std::equal(magic.begin(), magic.end(), file.begin(),
                                          [](unsigned char a, std::byte b) { return std::byte{a} == b; });
}

Format format_of(ByteView file) {
    if (file.empty()) throw DataError("the file is empty");
    if (starts_with(file, k_jpeg)) return Format::jpeg;
    if (starts_with(file, k_png)) return Format::png;
    throw DataError("neither JPEG nor PNG (by its first bytes)");
}

}  // namespace

void check_image_size(std::int64_t width, std::int64_t height) {
    if (width < 1 || height < 1 || width > k_most_pixels / height)
        throw DataError(fmt::format("{}x{} pixels (at most 2^28)", width, height));
}

ImageInfo image_info(ByteView file) { return format_of(file) == Format::jpeg ? jpeg_info(file) : png_info(file); }

bool is_image(ByteView head) { return starts_with(head, k_jpeg) || starts_with(head, k_png); }

// The bit depth is the header's ninth byte, after the chunk's length and name (PNG 3, section 11.2.1).
bool is_deep_png(ByteView head) { return starts_with(head, k_png) && head.size() > 24 && head[24] == std::byte{16}; }

void decode_image(ByteView file, std::int64_t channels, Image& out, ValueRange scale) {
    auto const format = format_of(file);
    if (scale != ValueRange{} && !is_deep_png(file))
        throw DataError(fmt::format(
            "fewer than 16 bits a value (the model was trained on images of 16 bits, whose values {} to {} became "
            "0 to 255); save it with 16 bits and the same scale",
            scale.low, scale.high));
    if (format == Format::jpeg)
        decode_jpeg(file, channels, out);
    else
        decode_png(file, channels, out, scale);
}

}  // namespace hopscotch
