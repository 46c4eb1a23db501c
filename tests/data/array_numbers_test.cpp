// SPDX-License-Identifier: Apache-2.0
// Large numbers and labels in arrays.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "data/imported_arrays.hpp"
#include "data/npy_files.hpp"

namespace hopscotch {
namespace array_numbers_test {

std::string const k_labels = npy<std::int64_t>("<i8", "(4,)", {0, 1, 0, 1});
std::string const k_numbers = npy<float>("<f4", "(4,)", {1, 2, 3, 4});

TEST(ArrayNumbers, floats_of_small_spread_keep_their_differences) {
    Arrays const table(npy<double>("<f8", "(4, 2)", {1e9, 1, 1e9 + 0.25, 2, 1e9 + 0.5, 3, 1e9 + 7, 4}), k_labels);
    auto const manifest = table.run();
    EXPECT_EQ(manifest.features.offset, (std::vector<double>{1e9, 0}));
    EXPECT_EQ(table.rows(), (Rows{{0, 1, 0}, {0.25F, 2, 1}, {0.5F, 3, 0}, {7, 4, 1}}));
    EXPECT_TRUE(decided(manifest, "subtracted, as float32 has 24 bits: 1000000000 from feature 0"))
        << ::testing::PrintToString(manifest.origin.decisions);
}

TEST(ArrayNumbers, integers_of_64_bits_are_subtracted_exactly) {
    constexpr std::int64_t base = (std::int64_t{1} << 60) + 256;
    Arrays const table(npy<std::int64_t>("<i8", "(4,)", {base, base + 1, base + 3, base + 1000}), k_labels);
    EXPECT_EQ(table.run().features.offset, (std::vector<double>{static_cast<double>(base)}));
    EXPECT_EQ(table.rows(), (Rows{{0, 0}, {1, 1}, {3, 0}, {1000, 1}}));
    Arrays const negative(npy<std::int64_t>("<i8", "(4,)", {-base, 1 - base, 3 - base, 9 - base}), k_labels);
    negative.run();
    EXPECT_EQ(negative.rows(), (Rows{{0, 0}, {1, 1}, {3, 0}, {9, 1}}));
    std::uint64_t const top = UINT64_MAX - 2047;
    Arrays const hashes(npy<std::uint64_t>("<u8", "(4,)", {top, top + 1, top + 2, top + 3}), k_labels);
    hashes.run();
    std::set<float> different;
    for (auto const& row : hashes.rows()) different.insert(row[0]);
    EXPECT_EQ(different.size(), 4U);
    Arrays const seconds(npy<std::uint32_t>("<u4", "(4,)", {1700000000, 1700000001, 1700000002, 1700000003}), k_labels);
    EXPECT_EQ(seconds.run().features.offset, (std::vector<double>{1700000000}));
}

TEST(ArrayNumbers, integers_that_no_offset_helps_are_refused) {
    Arrays const table(npy<std::int64_t>("<i8", "(4,)", {1, 2, 3, (1 << 25) + 1}), k_labels);
    EXPECT_EQ(
        table.error(),
        "a.npz:x: row 3, element 0: 33554433 is beyond 2^24 (features are float32, which rounds it); scale it, or make "
        "it an id below 2^24");
    Arrays const wide(npy<std::int64_t>("<i8", "(4,)", {100000000, 100000001, 100000002, 120000001}), k_labels);
    EXPECT_EQ(wide.error(),
              "a.npz:x: row 3, element 0: 120000001 is more than 2^24 above 100000000, the smallest number of its column "
              "(features are float32, which rounds it); scale it, or leave the column out");
}

TEST(ArrayNumbers, images_and_ids_have_no_offset) {
    Arrays const images(npy<double>("<f8", "(4, 1, 1, 2)", {1e9, 1e9 + 1, 1e9 + 2, 1e9 + 3, 1e9, 1e9 + 1, 1e9, 1e9 + 4}),
                        k_labels);
    auto const manifest = images.run();
    EXPECT_TRUE(manifest.features.offset.empty());
    EXPECT_TRUE(decided(manifest, "float64 becomes float32: about 80 % of the different numbers become equal to others"))
        << ::testing::PrintToString(manifest.origin.decisions);
    Arrays ids(npy<std::int64_t>("<i8", "(4,)", {1000, 1001, 1002, 1003}), k_labels);
    ids.options.vocabulary = 1 << 24;
    EXPECT_TRUE(ids.run().features.offset.empty());
    Arrays const large(npy<std::int64_t>("<i8", "(4, 1, 1, 1)", {100000000, 100000001, 100000002, 3}), k_labels);
    EXPECT_NE(large.error().find("row 0, element 0: 100000000 is beyond 2^24"), std::string::npos);
}

TEST(ArrayNumbers, what_float32_loses_is_told) {
    Arrays const table(npy<double>("<f8", "(4, 2)", {0, 1, 1, 1e9, 2, 1e9 + 1, 3, 1e9 + 2}), k_labels);
    auto const manifest = table.run();
    EXPECT_TRUE(decided(manifest,
                        "float64 becomes float32: about 50 % of the different numbers of feature 1, and fewer of others, "
                        "become equal to others"))
        << ::testing::PrintToString(manifest.origin.decisions);
    Arrays const exact(npy<double>("<f8", "(4,)", {0.5, 1, 1.5, 2}), k_labels);
    for (auto const& sentence : exact.run().origin.decisions) EXPECT_EQ(sentence.find("equal"), sentence.npos) << sentence;
}

TEST(ArrayTargets, keep_their_differences_or_the_loss_is_told) {
    auto const loss = [](std::vector<double> const& targets, bool standardise) {
        Arrays table(k_numbers, npy<double>("<f8", "(4,)", targets));
        table.options.task = Task::regression;
        table.options.standardise = standardise;
        std::string out;
        for (auto const& sentence : table.run().origin.decisions)
            if (sentence.starts_with("target 0: ")) out = sentence;
        return out;
    };
    std::vector<double> const seconds{1.7e9, 1.7e9 + 1, 1.7e9 + 2, 1.7e9 + 3};
    EXPECT_EQ(loss(seconds, true), "");
    EXPECT_EQ(loss(seconds, false),
              "target 0: about 75 % of its different values become equal to another one (float32 has 24 bits)");
    EXPECT_EQ(loss({0, 1.7e9, 1.7e9 + 1, 1.7e9 + 2}, true),
              "target 0: about 50 % of its different values become equal to another one (float32 has 24 bits)");
    Arrays table(k_numbers, npy<std::int64_t>("<i8", "(4,)", {1, 2, 3, (std::int64_t{1} << 53) + 1}));
    table.options.task = Task::regression;
    EXPECT_EQ(table.error(),
              "a.npz:y: row 3, element 0: target 9007199254740993 is beyond 2^53 (from there on float64 does not hold every "
              "integer); subtract a number from all");
}

TEST(ArrayLabels, hashes_of_64_bits_are_classes_exactly) {
    std::uint64_t const large = (std::uint64_t{1} << 63) + 1;
    Arrays const table(k_numbers, npy<std::uint64_t>("<u8", "(4,)", {large, UINT64_MAX, UINT64_MAX - 1, large}));
    EXPECT_EQ(table.run().class_names,
              (std::vector<std::string>{"9223372036854775809", "18446744073709551614", "18446744073709551615"}));
    EXPECT_EQ(table.rows(), (Rows{{1, 0}, {2, 2}, {3, 1}, {4, 0}}));
}

TEST(ArrayLabels, signed_and_unsigned_ones_are_compared_as_numbers) {
    TemporaryDirectory const dir;
    write_text(dir / "a.npz", npz({{"x_train", k_numbers},
                                   {"y_train", npy<std::int64_t>("<i8", "(4,)", {-1, INT64_MIN, 5, INT64_MAX})},
                                   {"x_test", k_numbers},
                                   {"y_test", npy<std::uint64_t>("<u8", "(4,)", {UINT64_MAX, 5, INT64_MAX, 5})}}));
    ImportArraysOptions options;
    options.sources = {dir / "a.npz"};
    options.out = dir / "out";
    options.valid = 0;
    EXPECT_EQ(import_npy_files(options).manifest.class_names,
              (std::vector<std::string>{"-9223372036854775808", "-1", "5", "9223372036854775807", "18446744073709551615"}));
}

TEST(ArrayLabels, whole_floats_are_classes_as_long_as_they_are_exact) {
    Arrays const whole(k_numbers, npy<float>("<f4", "(4,)", {0, 1, -0.0F, 1}));
    EXPECT_TRUE(whole.run().class_names.empty());
    Arrays const large(k_numbers, npy<double>("<f8", "(4,)", {0, 1, 2, 0x1p53}));
    EXPECT_EQ(large.error(),
              "a.npz:y: row 3: label 9007199254740992 is too large for a class in float64 (it holds every integer below "
              "9007199254740992 only); save the labels as integers, or use --regression to predict numbers");
    Arrays const small(k_numbers, npy<float>("<f4", "(4,)", {0, 1, 2, 0x1p24F}));
    EXPECT_NE(small.error().find("too large for a class in float32 (it holds every integer below 16777216 only)"),
              std::string::npos)
        << small.error();
    Arrays const half(k_numbers, npy<std::uint16_t>("<f2", "(4,)", {0, 0x3c00, 0x3c00, 0x6800}));  // 2048
    EXPECT_NE(half.error().find("label 2048 is too large for a class in float16"), std::string::npos) << half.error();
}

}  // namespace array_numbers_test
}  // namespace hopscotch
