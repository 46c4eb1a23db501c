// SPDX-License-Identifier: Apache-2.0
#include "data/import/image/image_resize.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/rng.hpp"

namespace hopscotch {
namespace image_resize_test {

using Pixels = std::vector<std::uint8_t>;

Pixels resized(Image const& image, std::int64_t size, Resize resize = Resize::crop) {
    Pixels out(static_cast<std::size_t>((size > 0 ? size * size : image.width * image.height) * image.channels), 77);
    image_to_row(image, size, resize, out);
    return out;
}

TEST(ImageResize, as_it_is_only_brings_channels_apart) {
    Image const image{2, 2, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};
    Pixels const wanted{1, 4, 7, 10, 2, 5, 8, 11, 3, 6, 9, 12};
    EXPECT_EQ(resized(image, 0), wanted);
    EXPECT_EQ(resized(image, 2), wanted);
    Image const wide{3, 1, 1, {4, 5, 6}};
    EXPECT_EQ(resized(wide, 0), (Pixels{4, 5, 6}));
}

TEST(ImageResize, shrinking_averages_areas) {
    EXPECT_EQ(resized({2, 2, 1, {10, 20, 30, 41}}, 1), (Pixels{25}));
    // 3 -> 2: a result's pixel covers one and a half of the source.
    EXPECT_EQ(resized({3, 3, 1, {0, 90, 180, 0, 90, 180, 0, 90, 180}}, 2), (Pixels{30, 150, 30, 150}));
    EXPECT_EQ(resized({4, 4, 1, {0, 0, 8, 8, 0, 0, 8, 8, 100, 100, 200, 200, 100, 100, 200, 202}}, 2),
              (Pixels{0, 8, 100, 201}));
}

TEST(ImageResize, enlarging_is_linear_between_pixel_centres) {
    // As PyTorch's interpolate(mode="bilinear", align_corners=False): centres at 1/4 and 3/4 of a pixel.
    EXPECT_EQ(resized({2, 2, 1, {0, 100, 0, 100}}, 4),
              (Pixels{0, 25, 75, 100, 0, 25, 75, 100, 0, 25, 75, 100, 0, 25, 75, 100}));
    EXPECT_EQ(resized({1, 1, 3, {5, 6, 7}}, 2), (Pixels{5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7}));
}

TEST(ImageResize, crop_keeps_the_middle_and_fit_keeps_all) {
    Image const wide{6, 2, 1, {1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16}};
    EXPECT_EQ(resized(wide, 2), (Pixels{3, 4, 13, 14}));
    Image const bar{4, 2, 1, {8, 8, 8, 8, 8, 8, 8, 8}};
    EXPECT_EQ(resized(bar, 4, Resize::fit), (Pixels{0, 0, 0, 0, 8, 8, 8, 8, 8, 8, 8, 8, 0, 0, 0, 0}));
    EXPECT_EQ(resized(bar, 2, Resize::fit), (Pixels{8, 8, 0, 0}));
    Image const tall{1, 3, 1, {7, 7, 7}};
    EXPECT_EQ(resized(tall, 3, Resize::fit), (Pixels{0, 7, 0, 0, 7, 0, 0, 7, 0}));
}

// Whatever the sizes: results lie between the smallest and the largest pixel, and one colour stays that colour.
TEST(ImageResize, properties_of_random_instances) {
    Rng rng(3);
    for (int instance = 0; instance < 300; ++instance) {
        Image image{1 + rng.below(20), 1 + rng.below(20), rng.below(2) == 0 ? 1 : 3, {}};
        for (std::int64_t i = 0; i < image.width * image.height * image.channels; ++i)
            image.pixels.push_back(static_cast<std::uint8_t>(40 + rng.below(180)));
        auto const size = 1 + rng.below(24);
        auto const out = resized(image, size);
        auto const [low, high] = std::minmax_element(image.pixels.begin(), image.pixels.end());
        for (auto value : out) {
            ASSERT_GE(value, *low);
            ASSERT_LE(value, *high);
        }
        std::fill(image.pixels.begin(), image.pixels.end(), std::uint8_t{133});
        ASSERT_EQ(resized(image, size), Pixels(out.size(), 133));
    }
}

}  // namespace image_resize_test
}  // namespace hopscotch
