// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "data/exif_files.hpp"
#include "data/image_fixture.hpp"
#include "data/import/image/exif_orientation.hpp"
#include "data/import/image/image_new_rows.hpp"

namespace hopscotch {
namespace image_orientation_test {

namespace fs = std::filesystem;
using Pixels = std::vector<std::uint8_t>;

ByteView view(std::string const& text) { return std::as_bytes(std::span(text)); }

constexpr ExifOrder k_orders[] = {ExifOrder::intel, ExifOrder::motorola};

// As people see a picture that is stored as 1 2 3 / 4 5 6.
Pixels const k_seen[] = {{1, 2, 3, 4, 5, 6}, {3, 2, 1, 6, 5, 4}, {6, 5, 4, 3, 2, 1}, {4, 5, 6, 1, 2, 3},
                         {1, 4, 2, 5, 3, 6}, {4, 1, 5, 2, 6, 3}, {6, 3, 5, 2, 4, 1}, {3, 6, 2, 5, 1, 4}};

void write_six(fs::path const& path) {
    fs::create_directories(path.parent_path());
    write_png(path, 3, {.colour_type = PNG_COLOR_TYPE_GRAY}, {"\1\2\3", "\4\5\6"});
}

TEST(Exif, eight_orientations_in_both_byte_orders) {
    TemporaryDirectory const dir;
    write_six(dir / "a.png");
    for (auto const order : k_orders)
        for (int orientation = 1; orientation <= 8; ++orientation) {
            auto const block = exif_block(order, static_cast<std::uint32_t>(orientation));
            EXPECT_EQ(exif_orientation(view(block)), orientation);
            Image image;
            decode_image(view(png_with_exif(read_bytes(dir / "a.png"), block)), 1, image);
            turn_upright(image);
            EXPECT_EQ(image.pixels, k_seen[orientation - 1]) << orientation;
            EXPECT_EQ(image.width, orientation < 5 ? 3 : 2);
            EXPECT_EQ(image.height, orientation < 5 ? 2 : 3);
        }
}

TEST(Exif, colours_stay_together) {
    Image image{2, 1, 3, {1, 2, 3, 4, 5, 6}, 8};
    turn_upright(image);
    EXPECT_EQ(image.pixels, (Pixels{4, 5, 6, 1, 2, 3}));
    EXPECT_EQ(image.height, 2);
}

TEST(Exif, a_jpeg_has_it_behind_other_blocks_too) {
    TemporaryDirectory const dir;
    write_jpeg(dir / "a.jpg", {4, 2, JCS_RGB}, {10, 20, 30});
    auto const plain = read_bytes(dir / "a.jpg");
    auto const turned = jpeg_with_exif(plain, exif_block(ExifOrder::motorola, 6));
    EXPECT_EQ(image_info(view(plain)).orientation, 1);
    EXPECT_EQ(image_info(view(turned)).orientation, 6);
    auto const xmp = std::string("\xff\xe1\0\x09http:/n", 11);
    EXPECT_EQ(image_info(view(turned.substr(0, 2) + xmp + turned.substr(2))).orientation, 6);
}

TEST(Exif, a_png_has_it_before_or_behind_its_pixels) {
    TemporaryDirectory const dir;
    write_six(dir / "a.png");
    auto const plain = read_bytes(dir / "a.png");
    EXPECT_EQ(image_info(view(plain)).orientation, 1);
    for (auto const* before : {"IDAT", "IEND"}) {
        auto file = png_with_exif(plain, exif_block(ExifOrder::intel, 5), before);
        EXPECT_EQ(image_info(view(file)).orientation, 5) << before;
        file[file.find("eXIf") + 6] ^= 1;  // its checksum is wrong now
        EXPECT_EQ(image_info(view(file)).orientation, 1);
    }
    EXPECT_EQ(png_orientation(view(png_with_exif(plain, std::string("Exif\0\0", 6) + exif_block(ExifOrder::intel, 5)))), 5);
}

TEST(Exif, damaged_and_absurd_blocks_say_nothing) {
    for (auto const order : k_orders) {
        auto const good = exif_block(order, 6);
        for (std::size_t length = 0; length < 8 + 2 + 24; ++length)
            EXPECT_EQ(exif_orientation(view(good.substr(0, length))), 1) << length;
        auto const changed = [&](std::size_t at, std::string const& bytes) {
            auto text = good;
            return exif_orientation(view(text.replace(at, bytes.size(), bytes)));
        };
        auto const number = [&](std::uint32_t value, int bytes) { return exif_number(order, value, bytes); };
        for (std::uint32_t const offset : {0U, 1U, 7U, 33U, 38U, 39U, 0x7fffffffU, 0xffffffffU})
            EXPECT_EQ(changed(4, number(offset, 4)), 1) << offset;
        EXPECT_EQ(changed(0, "MI"), 1);
        EXPECT_EQ(changed(8, number(0xffff, 2)), 6) << "the entry is there, those behind the end are not";
        EXPECT_EQ(changed(8, number(1, 2)), 1) << "the entry is not a part of the directory";
        for (std::uint32_t const value : {0U, 9U, 0xffffU}) EXPECT_EQ(changed(30, number(value, 2)), 1) << value;
        for (std::uint32_t const type : {0U, 2U, 5U, 0xffffU}) EXPECT_EQ(changed(24, number(type, 2)), 1) << type;
        for (std::uint32_t const count : {0U, 2U, 0xffffffffU}) EXPECT_EQ(changed(26, number(count, 4)), 1) << count;
        for (std::size_t at = 0; at < good.size(); ++at)
            for (int bit = 0; bit < 8; ++bit) {
                auto text = good;
                text[at] = static_cast<char>(text[at] ^ 1 << bit);
                auto const found = exif_orientation(view(text));
                EXPECT_TRUE(found >= 1 && found <= 8);
            }
    }
}

// A folder of portraits: stored lying, by a camera that says so.
struct Portraits : Images {
    Portraits() {
        for (int i = 0; i < 16; ++i) {
            auto const path = in((i < 8 ? "cat/" : "dog/") + std::to_string(i) + (i % 2 == 0 ? ".png" : ".jpg"));
            fs::create_directories(path.parent_path());
            write_six(path);
            auto const order = k_orders[i / 2 % 2];
            if (i % 2 == 0) {
                write_text(path, png_with_exif(read_bytes(path), exif_block(order, 6)));
            } else {
                write_jpeg(path, {3, 2, JCS_GRAYSCALE}, {100});
                write_text(path, jpeg_with_exif(read_bytes(path), exif_block(order, 8)));
            }
        }
    }
};

TEST(Exif, an_import_turns_images_upright_and_says_so) {
    Portraits images;
    auto const manifest = images.run().manifest;
    EXPECT_EQ(manifest.shape, (std::vector<std::int64_t>{1, 3, 2}));
    EXPECT_EQ(std::ranges::count(manifest.origin.decisions, "16 images are turned upright, as their EXIF orientation says"),
              1);
    auto content = images.content(Split::train);
    content.merge(images.content(Split::valid));
    EXPECT_EQ(content, (Images::Content{{0, 4},
                                        {0, 4},
                                        {0, 4},
                                        {0, 4},
                                        {0, 100},
                                        {0, 100},
                                        {0, 100},
                                        {0, 100},
                                        {1, 4},
                                        {1, 4},
                                        {1, 4},
                                        {1, 4},
                                        {1, 100},
                                        {1, 100},
                                        {1, 100},
                                        {1, 100}}));
}

TEST(Exif, damage_never_ends_an_import) {
    Portraits images;
    images.options.size = 4;
    auto const path = images.in("cat/1.jpg");
    auto const good = read_bytes(path);
    auto const exif = good.find("Exif") + 6;
    for (std::size_t at = exif; at < exif + 38; ++at) {
        auto text = good;
        text[at] = '\xff';
        write_text(path, text);
        images.options.out = images.dir / ("out" + std::to_string(at));
        EXPECT_EQ(images.run().manifest.rows(Split::train), 12) << at;
    }
}

TEST(Exif, new_images_are_turned_as_those_of_the_training_were) {
    Portraits images;
    auto manifest = images.run().manifest;
    auto const first_row = [&] {
        auto const source = new_images(images.in("cat"), manifest);
        auto const rows = source->next(1);
        Pixels out;
        for (auto const byte : rows.shard.features) out.push_back(std::to_integer<std::uint8_t>(byte));
        return out;
    };
    EXPECT_EQ(first_row(), k_seen[5]);
    Json::Object older;  // an import that did not know EXIF
    for (auto const& member : manifest.origin.provenance.object())
        if (member.key != "orientation") older.push_back(member);
    manifest.origin.provenance = older;
    manifest.shape = {1, 2, 3};
    EXPECT_EQ(first_row(), k_seen[0]);
}

}  // namespace image_orientation_test
}  // namespace hopscotch
