// SPDX-License-Identifier: Apache-2.0
#include "data/import/image/image_decode.hpp"

#include <gtest/gtest.h>

#include "data/image_files.hpp"

namespace hopscotch {
namespace image_decode_test {

using Pixels = std::vector<std::uint8_t>;
using namespace std::string_literals;

struct Decoded {
    ImageInfo info;
    Pixels rgb, grey;
};

Decoded decoded(std::filesystem::path const& path) {
    auto const text = read_bytes(path);
    auto const bytes = std::as_bytes(std::span(text));
    Decoded out{image_info(bytes), {}, {}};
    Image image;
    decode_image(bytes, 3, image);
    out.rgb = image.pixels;
    decode_image(bytes, 1, image);
    out.grey = image.pixels;
    EXPECT_EQ(image.width, out.info.width);
    EXPECT_EQ(image.height, out.info.height);
    return out;
}

struct PngCase {
    std::string name;
    PngKind kind;
    int width;
    std::vector<std::string> rows;
    bool colour;
    Pixels rgb, grey;
};

class PngKinds : public ::testing::TestWithParam<PngCase> {};

TEST_P(PngKinds, become_grey_and_rgb_of_eight_bits) {
    TemporaryDirectory const dir;
    auto const& p = GetParam();
    write_png(dir / "a.png", p.width, p.kind, p.rows);
    auto const out = decoded(dir / "a.png");
    EXPECT_EQ(out.info.colour, p.colour);
    EXPECT_EQ(out.rgb, p.rgb);
    EXPECT_EQ(out.grey, p.grey);
}

// luma: 0.299 r + 0.587 g + 0.114 b
INSTANTIATE_TEST_SUITE_P(
    Table, PngKinds,
    ::testing::Values(
        PngCase{"rgb", {}, 2, {"\x0a\x14\x1e\xff\x00\x00"s}, true, {10, 20, 30, 255, 0, 0}, {18, 76}},
        PngCase{"rgb_interlaced",
                {.interlace = PNG_INTERLACE_ADAM7},
                1,
                {"\x0a\x14\x1e"s, "\x01\x02\x03"s},
                true,
                {10, 20, 30, 1, 2, 3},
                {18, 2}},
        PngCase{"rgb16", {.depth = 16}, 1, {"\x0a\x0a\x80\x80\xff\xff"s}, true, {10, 128, 255}, {107}},
        PngCase{"rgba",
                {.colour_type = PNG_COLOR_TYPE_RGB_ALPHA},
                2,
                {"\x64\xc8\xff\x80\x64\xc8\xff\x00"s},
                true,
                {50, 100, 128, 0, 0, 0},
                {88, 0}},
        PngCase{"grey", {.colour_type = PNG_COLOR_TYPE_GRAY}, 2, {"\x07\xc8"s}, false, {7, 7, 7, 200, 200, 200}, {7, 200}},
        PngCase{"grey1",
                {.colour_type = PNG_COLOR_TYPE_GRAY, .depth = 1},
                3,
                {"\xa0"s},
                false,
                {255, 255, 255, 0, 0, 0, 255, 255, 255},
                {255, 0, 255}},
        PngCase{
            "grey16", {.colour_type = PNG_COLOR_TYPE_GRAY, .depth = 16}, 1, {"\xc8\xc8"s}, false, {200, 200, 200}, {200}},
        PngCase{"grey_alpha",
                {.colour_type = PNG_COLOR_TYPE_GRAY_ALPHA},
                2,
                {"\xc8\xff\xc8\x33"s},
                false,
                {200, 200, 200, 40, 40, 40},
                {200, 40}},
        PngCase{"palette",
                {.colour_type = PNG_COLOR_TYPE_PALETTE},
                3,
                {"\x00\x01\x03"s},
                true,
                {0, 0, 0, 5, 10, 15, 30, 60, 90},
                {0, 9, 54}}),
    [](auto const& row) { return row.param.name; });

TEST(Jpeg, grey_rgb_and_cmyk) {
    TemporaryDirectory const dir;
    write_jpeg(dir / "rgb.jpg", {9, 7, JCS_RGB}, {200, 100, 50});
    auto const rgb = decoded(dir / "rgb.jpg");
    EXPECT_EQ(rgb.info.width, 9);
    EXPECT_EQ(rgb.info.height, 7);
    EXPECT_TRUE(rgb.info.colour);
    ASSERT_EQ(rgb.rgb.size(), 9U * 7 * 3);
    EXPECT_NEAR(rgb.rgb[0], 200, 2);
    EXPECT_NEAR(rgb.rgb[9 * 7 * 3 - 1], 50, 2);
    EXPECT_NEAR(rgb.grey[62], 124, 2);
    write_jpeg(dir / "grey.jpg", {4, 4, JCS_GRAYSCALE}, {90});
    auto const grey = decoded(dir / "grey.jpg");
    EXPECT_FALSE(grey.info.colour);
    EXPECT_EQ(grey.grey, Pixels(16, 90));
    EXPECT_EQ(grey.rgb, Pixels(48, 90));
    write_jpeg(dir / "cmyk.jpg", {3, 3, JCS_CMYK, AdobeMarker::absent}, {0, 255, 102, 51});  // as much ink
    auto const cmyk = decoded(dir / "cmyk.jpg");
    EXPECT_TRUE(cmyk.info.colour);
    EXPECT_NEAR(cmyk.rgb[0], 204, 2);
    EXPECT_NEAR(cmyk.rgb[1], 0, 2);
    EXPECT_NEAR(cmyk.rgb[2], 122, 2);
    EXPECT_NEAR(cmyk.grey[8], 75, 2);
    write_jpeg(dir / "adobe.jpg", {3, 3, JCS_CMYK}, {255, 0, 153, 204});  // the same, inverted
    auto const adobe = decoded(dir / "adobe.jpg");
    for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(adobe.rgb[c], cmyk.rgb[c], 2);
}

std::string why(std::string const& text) {
    Image image;
    auto const decode = thrown<DataError>([&] { decode_image(std::as_bytes(std::span(text)), 3, image); });
    EXPECT_NE(decode, "");
    return decode;
}

TEST(Damaged, files_are_refused_with_the_reason) {
    TemporaryDirectory const dir;
    EXPECT_EQ(why(""), "the file is empty");
    EXPECT_EQ(why("GIF89a....."), "neither JPEG nor PNG (by its first bytes)");
    EXPECT_EQ(why("\xff\xd8"), "neither JPEG nor PNG (by its first bytes)");
    write_jpeg(dir / "a.jpg", {40, 40, JCS_RGB}, {1, 2, 3});
    auto const jpeg = read_bytes(dir / "a.jpg");
    EXPECT_EQ(why(jpeg.substr(0, jpeg.size() - 2)), "damaged JPEG: Premature end of JPEG file");
    EXPECT_TRUE(why(jpeg.substr(0, 30)).starts_with("damaged JPEG: ")) << why(jpeg.substr(0, 30));
    EXPECT_TRUE(why("\xff\xd8\xff" + std::string(300, 'x')).starts_with("damaged JPEG: "));
    write_grey(dir / "a.png", 40, 40, 3);
    auto png = read_bytes(dir / "a.png");
    EXPECT_EQ(why(png.substr(0, png.size() / 2)), "damaged PNG: the file ends too early");
    EXPECT_EQ(why(png.substr(0, png.size() - 5)), "damaged PNG: the file ends too early");
    png[png.size() - 20] = static_cast<char>(png[png.size() - 20] ^ 4);
    EXPECT_TRUE(why(png).starts_with("damaged PNG: ")) << why(png);
    png[18] = png[22] = 0x7f;  // width and height: two thousand million
    EXPECT_TRUE(why(png).starts_with("damaged PNG: ")) << why(png);
    EXPECT_EQ(thrown<DataError>([] { check_image_size(1 << 15, 1 << 14); }), "32768x16384 pixels (at most 2^28)");
}

// Cut off anywhere, or with any byte changed: an error or an image, never a crash.
TEST(Damaged, files_cut_or_changed_anywhere_do_no_harm) {
    TemporaryDirectory const dir;
    write_jpeg(dir / "a.jpg", {20, 20, JCS_RGB}, {1, 200, 3});
    write_grey(dir / "b.png", 20, 20, 3);
    for (auto const* name : {"a.jpg", "b.png"}) {
        auto const whole = read_bytes(dir / name);
        Image image;
        for (std::size_t i = 0; i < whole.size(); ++i) {
            auto const cut = whole.substr(0, i);
            EXPECT_THROW(decode_image(std::as_bytes(std::span(cut)), 3, image), DataError) << name << i;
            auto changed = whole;
            changed[i] = static_cast<char>(~changed[i]);
            try {
                decode_image(std::as_bytes(std::span(changed)), 1, image);
            } catch (DataError const&) {
            }
        }
    }
}

}  // namespace image_decode_test
}  // namespace hopscotch
