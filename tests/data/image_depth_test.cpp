// SPDX-License-Identifier: Apache-2.0
// Pictures of 16 bits.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/dataset_rows.hpp"
#include "data/image_fixture.hpp"
#include "data/import/image/image_new_rows.hpp"

namespace hopscotch {
namespace image_depth_test {

namespace fs = std::filesystem;

std::string deep(int value) { return {static_cast<char>(value >> 8), static_cast<char>(value & 0xff)}; }

void write_deep(fs::path const& path, int value, int colour_type = PNG_COLOR_TYPE_GRAY) {
    fs::create_directories(path.parent_path());
    auto const pixel = colour_type == PNG_COLOR_TYPE_GRAY         ? deep(value)
                       : colour_type == PNG_COLOR_TYPE_GRAY_ALPHA ? deep(value) + deep(65535)
                                                                  : deep(value) + deep(value) + deep(value);
    write_png(path, 1, {.colour_type = colour_type, .depth = 16}, {pixel, pixel});
}

// Two classes of four pictures each, of these values in turn.
struct DeepImages : Images {
    explicit DeepImages(std::vector<int> const& values, int colour_type = PNG_COLOR_TYPE_GRAY) {
        for (std::size_t i = 0; i < values.size(); ++i)
            write_deep(in((i % 2 == 0 ? "cat/" : "dog/") + std::to_string(i) + ".png"), values[i], colour_type);
    }
    std::multiset<int> values() const {
        std::multiset<int> out;
        for (auto const split : {Split::train, Split::valid})
            for (auto const& [label, value] : content(split)) out.insert(value);
        return out;
    }
};

struct Range {
    std::string name;
    std::vector<int> stored;
    std::multiset<int> becomes;
    std::string decision;  // behind "their values"
};
class DeepRanges : public ::testing::TestWithParam<Range> {};

TEST_P(DeepRanges, keep_their_differences_by_one_scale) {
    for (int const type : {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB}) {
        DeepImages const images(GetParam().stored, type);
        auto const manifest = images.run().manifest;
        EXPECT_EQ(images.values(), GetParam().becomes);
        EXPECT_TRUE(decided(manifest, "images of 16 bits: their values " + GetParam().decision))
            << ::testing::PrintToString(manifest.origin.decisions);
    }
}

constexpr auto k_scaled = "{} become 0 to 255, one scale for all images, now and in predict";
constexpr auto k_divided = "{} of 0 to 65535 are divided by 257, so that white stays white{}";

INSTANTIATE_TEST_SUITE_P(Table, DeepRanges,
                         ::testing::Values(Range{"small",
                                                 {0, 40, 80, 119, 0, 40, 80, 119},
                                                 {0, 0, 86, 86, 171, 171, 255, 255},
                                                 fmt::format(k_scaled, "0 to 119")},
                                           Range{"twelve_bits",
                                                 {0, 1365, 2730, 4095, 0, 0, 0, 0},
                                                 {0, 0, 0, 0, 0, 85, 170, 255},
                                                 fmt::format(k_scaled, "0 to 4095")},
                                           Range{"far_from_black",
                                                 {30000, 30050, 30100, 30000, 30000, 30000, 30000, 30000},
                                                 {0, 0, 0, 0, 0, 0, 128, 255},
                                                 fmt::format(k_scaled, "30000 to 30100")},
                                           Range{"whole",
                                                 {0, 257, 514, 65535, 0, 0, 0, 0},
                                                 {0, 0, 0, 0, 0, 1, 2, 255},
                                                 fmt::format(k_divided, "0 to 65535", "")},
                                           Range{"constant",
                                                 {300, 300, 300, 300, 300, 300, 300, 300},
                                                 {1, 1, 1, 1, 1, 1, 1, 1},
                                                 fmt::format(k_divided, "300 to 300",
                                                             " (1 of 256 values are left; all their pixels are equal)")}),
                         [](auto const& one) { return one.param.name; });

TEST(DeepImages, mixed_with_others_keep_their_meaning_and_the_account_warns) {
    DeepImages const images({0, 40, 80, 119, 0, 40, 80, 119});
    images.grey("cat/white.png", 1, 2, 255);
    auto const manifest = images.run().manifest;
    EXPECT_EQ(images.values(), (std::multiset<int>{0, 0, 0, 0, 0, 0, 0, 0, 255}));
    EXPECT_TRUE(decided(manifest,
                        "8 of 9 images have 16 bits: their values 0 to 119 of 0 to 65535 are divided by 257, so that white "
                        "stays white (1 of 256 values are left; scale them yourself, or import them apart)"))
        << ::testing::PrintToString(manifest.origin.decisions);
}

TEST(DeepImages, the_scale_is_that_of_the_training_images) {
    Images images;
    for (auto const* split : {"train", "val", "test"})
        for (auto const* label : {"cat", "dog"})
            for (int i = 0; i < 4; ++i)
                write_deep(images.in(std::string(split) + "/" + label + "/" + std::to_string(i) + ".png"),
                           split == std::string("test") ? 1000 : 25 * i);
    images.run();
    EXPECT_EQ(images.content(Split::test),
              (Images::Content{{0, 255}, {0, 255}, {0, 255}, {0, 255}, {1, 255}, {1, 255}, {1, 255}, {1, 255}}));
    EXPECT_EQ(images.content(Split::train), images.content(Split::valid));
}

TEST(DeepImages, ordinary_images_have_no_scale) {
    Images images;
    images.two_classes();
    auto const manifest = images.run().manifest;
    EXPECT_EQ(manifest.origin.provenance.find("values_16_bit"), nullptr);
    for (auto const& sentence : manifest.origin.decisions) EXPECT_EQ(sentence.find("16 bits"), sentence.npos);
}

TEST(DeepImages, new_images_obey_the_scale) {
    DeepImages const images({0, 40, 80, 119, 0, 40, 80, 119});
    auto const manifest = images.run().manifest;
    EXPECT_EQ(manifest.origin.provenance.at("values_16_bit"), Json(Json::Array{0, 119}));
    auto const value = [&](fs::path const& path) {
        auto const rows = new_images(path, manifest)->next(1);
        return std::to_integer<int>(rows.shard.features[0]);
    };
    for (auto const& [stored, becomes] : {std::pair{0, 0}, {60, 129}, {119, 255}, {500, 255}}) {
        write_deep(images.dir / "new.png", stored);
        EXPECT_EQ(value(images.dir / "new.png"), becomes) << stored;
    }
    write_grey(images.dir / "shallow.png", 1, 2, 60);
    EXPECT_NE(thrown<DataError>([&] {
                  value(images.dir / "shallow.png");
              }).find("shallow.png: fewer than 16 bits a value (the model was trained on images of 16 bits"),
              std::string::npos);
}

TEST(DeepImages, new_images_that_would_be_black_are_refused_by_a_model_of_others) {
    Images pairs;
    auto const path = pairs.dir / "new.png";
    auto const write = [&](std::string const& left, std::string const& right) {
        write_png(path, 2, {.colour_type = PNG_COLOR_TYPE_GRAY, .depth = 16}, {left + right, left + right, left + right});
    };
    for (int i = 0; i < 8; ++i) pairs.grey((i < 4 ? "cat/" : "dog/") + std::to_string(i) + ".png", 2, 3, i);
    auto const trained = pairs.run().manifest;
    auto const read = [&] { return thrown<DataError>([&] { new_images(path, trained)->next(1); }, pairs.dir.path()); };
    write(deep(0), deep(119));
    EXPECT_TRUE(
        read().starts_with("new.png: 16 bits a value, of which 0 to 119 are used (the model was trained on images of "
                           "fewer bits, beside which all its pixels are equal); scale it to 0 to 65535"))
        << read();
    write(deep(30000), deep(30010));
    EXPECT_NE(read().find("of which 30000 to 30010 are used"), std::string::npos);
    for (auto const& [left, right] : {std::pair{0, 65535}, {0, 300}, {7, 7}}) {
        write(deep(left), deep(right));
        EXPECT_EQ(read(), "") << right;
    }
}

}  // namespace image_depth_test
}  // namespace hopscotch
