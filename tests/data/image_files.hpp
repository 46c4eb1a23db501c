// SPDX-License-Identifier: Apache-2.0
// Makes small JPEG and PNG files for the tests of the importers.
#pragma once
#include <png.h>

#include <cstdio>

#include <jpeglib.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "data/support.hpp"

namespace hopscotch {

struct PngKind {
    int colour_type = PNG_COLOR_TYPE_RGB;
    int depth = 8;
    int interlace = PNG_INTERLACE_NONE;
};

// rows: height strings of the bytes of a row as PNG packs them. The palette is {10 i, 20 i, 30 i}, entry 1 half transparent.
inline void write_png(std::filesystem::path const& path, int width, PngKind kind, std::vector<std::string> rows) {
    auto* png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
    auto* info = png_create_info_struct(png);
    auto* file = std::fopen(path.c_str(), "wb");
    ASSERT_NE(file, nullptr);
    png_init_io(png, file);
    png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(rows.size()), kind.depth,
                 kind.colour_type, kind.interlace, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (kind.colour_type == PNG_COLOR_TYPE_PALETTE) {
        png_color palette[4];
        for (int i = 0; i < 4; ++i)
            palette[i] = {static_cast<png_byte>(10 * i), static_cast<png_byte>(20 * i), static_cast<png_byte>(30 * i)};
        png_byte const alpha[2] = {255, 128};
        png_set_PLTE(png, info, palette, 4);
        png_set_tRNS(png, info, alpha, 2, nullptr);
    }
    png_write_info(png, info);
    std::vector<png_bytep> pointers;
    for (auto& row : rows) pointers.push_back(reinterpret_cast<png_bytep>(row.data()));
    png_write_image(png, pointers.data());
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    std::fclose(file);
}

enum class AdobeMarker { as_usual, absent };

struct JpegKind {
    int width = 1, height = 1;
    J_COLOR_SPACE space = JCS_RGB;
    AdobeMarker marker = AdobeMarker::as_usual;
};

// One colour in every pixel; `colour` has as many bytes as the space has components.
inline void write_jpeg(std::filesystem::path const& path, JpegKind kind, std::vector<std::uint8_t> const& colour) {
    jpeg_compress_struct jpeg{};
    jpeg_error_mgr errors;
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    auto* file = std::fopen(path.c_str(), "wb");
    ASSERT_NE(file, nullptr);
    jpeg_stdio_dest(&jpeg, file);
    jpeg.image_width = static_cast<JDIMENSION>(kind.width);
    jpeg.image_height = static_cast<JDIMENSION>(kind.height);
    jpeg.input_components = static_cast<int>(colour.size());
    jpeg.in_color_space = kind.space;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, 100, TRUE);
    if (kind.marker == AdobeMarker::absent) jpeg.write_Adobe_marker = FALSE;
    jpeg_start_compress(&jpeg, TRUE);
    std::vector<std::uint8_t> row;
    for (int i = 0; i < kind.width; ++i) row.insert(row.end(), colour.begin(), colour.end());
    auto* pointer = row.data();
    for (int i = 0; i < kind.height; ++i) jpeg_write_scanlines(&jpeg, &pointer, 1);
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    std::fclose(file);
}

// A grey PNG of one value.
inline void write_grey(std::filesystem::path const& path, int width, int height, int value) {
    std::filesystem::create_directories(path.parent_path());
    write_png(path, width, {.colour_type = PNG_COLOR_TYPE_GRAY},
              std::vector<std::string>(static_cast<std::size_t>(height),
                                       std::string(static_cast<std::size_t>(width), static_cast<char>(value))));
}

}  // namespace hopscotch
