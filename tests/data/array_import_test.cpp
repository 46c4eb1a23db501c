// SPDX-License-Identifier: Apache-2.0
// From npy files and npz archives to a dataset.
#include "data/import/array/array_import.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "data/imported_arrays.hpp"
#include "data/npy_files.hpp"

namespace hopscotch {
namespace array_import_test {

std::string bytes(std::string const& shape, std::vector<std::uint8_t> const& values) { return npy("|u1", shape, values); }
std::string floats(std::string const& shape, std::vector<float> const& values) { return npy("<f4", shape, values); }
std::string longs(std::string const& shape, std::vector<std::int64_t> const& values) { return npy("<i8", shape, values); }

std::string const k_labels = longs("(4,)", {0, 1, 0, 1});

TEST(NpyImport, two_files_in_either_order) {
    for (bool const labels_first : {false, true}) {
        Arrays import("", "");
        write_text(import.dir / "digits.npy", bytes("(4, 2)", {1, 2, 3, 4, 5, 6, 7, 8}));
        write_text(import.dir / "digits_labels.npy", k_labels);
        import.options.sources = {import.dir / "digits.npy", import.dir / "digits_labels.npy"};
        if (labels_first) std::swap(import.options.sources[0], import.options.sources[1]);
        auto const manifest = import.run();
        EXPECT_EQ(manifest.type, FeatureType::uint8);
        EXPECT_EQ(manifest.outputs, 2);
        EXPECT_TRUE(manifest.class_names.empty());
        EXPECT_EQ(import.rows(), (Rows{{1, 2, 0}, {3, 4, 1}, {5, 6, 0}, {7, 8, 1}}));
    }
}

TEST(NpyImport, labels_are_remapped_in_ascending_order) {
    Arrays import(floats("(4,)", {1.5F, 2, 3, 4}), longs("(4, 1)", {10, -3, 7, 10}));
    EXPECT_EQ(import.run().class_names, (std::vector<std::string>{"-3", "7", "10"}));
    EXPECT_EQ(import.rows(), (Rows{{1.5F, 2}, {2, 0}, {3, 1}, {4, 2}}));
    Arrays whole(floats("(4,)", {1, 2, 3, 4}), npy<double>("<f8", "(4,)", {1, 0, 1, 0}));
    EXPECT_TRUE(whole.run().class_names.empty());
}

TEST(NpyImport, token_ids_to_classify) {
    Arrays import(longs("(4, 2)", {1, 8, 3, 4, 0, 6, 7, 8}), k_labels);
    import.options.vocabulary = 9;
    EXPECT_EQ(import.run().categories, std::vector<std::int64_t>{9});
    EXPECT_EQ(import.rows(), (Rows{{0, 6, 0}, {1, 8, 0}, {3, 4, 1}, {7, 8, 1}}));
    for (auto const& [type, array] : {std::pair{"bytes", bytes("(4, 2)", {1, 9, 3, 4, 0, 6, 7, 8})},
                                      {"longs", longs("(4, 2)", {1, 9, 3, 4, 0, 6, 7, 8})}}) {
        Arrays bad(array, k_labels);
        bad.options.vocabulary = 9;
        EXPECT_NE(bad.error().find("row 0, element 1: 9 is not an id below 9 (--vocabulary)"), std::string::npos) << type;
    }
}

TEST(NpyImport, targets_and_multilabels) {
    Arrays import(floats("(4,)", {1, 2, 3, 4}), floats("(4, 2)", {0, 1, 1, 0, 1, 1, 0, 0}));
    import.options.task = Task::regression;
    import.options.standardise = false;
    EXPECT_EQ(import.run().outputs, 2);
    EXPECT_EQ(import.rows(), (Rows{{1, 0, 1}, {2, 1, 0}, {3, 1, 1}, {4, 0, 0}}));
    import.options.out = import.dir / "out2";
    import.options.task = Task::multilabel;
    EXPECT_EQ(import.run().task, Task::multilabel);
    EXPECT_EQ(import.rows(), (Rows{{1, 0, 1}, {2, 1, 0}, {3, 1, 1}, {4, 0, 0}}));
}

TEST(NpyImport, channels_last_become_first) {
    std::vector<std::uint8_t> pixels(4 * 2 * 5 * 3);
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * 7 + i / 30);
    auto const expected = [&](std::size_t row) {
        std::vector<float> out;
        for (std::size_t c = 0; c < 3; ++c)
            for (std::size_t pixel = 0; pixel < 10; ++pixel) out.push_back(pixels[row * 30 + pixel * 3 + c]);
        out.push_back(static_cast<float>(row % 2));
        return out;
    };
    Rows all{expected(0), expected(1), expected(2), expected(3)};
    std::sort(all.begin(), all.end());
    Arrays import(bytes("(4, 2, 5, 3)", pixels), k_labels);
    EXPECT_EQ(import.run().shape, (std::vector<std::int64_t>{3, 2, 5}));
    EXPECT_EQ(import.rows(), all);
    Arrays flat(npy<float>("<f4", "(4, 30)", {pixels.begin(), pixels.end()}), k_labels);
    flat.options.shape = "2x5x3";
    EXPECT_EQ(flat.run().shape, (std::vector<std::int64_t>{3, 2, 5}));
    EXPECT_EQ(flat.rows(), all);
    flat.options.out = flat.dir / "out2";
    flat.options.channels = Channels::first;
    EXPECT_EQ(flat.run().shape, (std::vector<std::int64_t>{2, 5, 3}));
}

TEST(NpyImport, rows_that_the_archive_keeps_apart_stay_apart) {
    Arrays import({{"x_test", floats("(2, 1)", {9, 8})},
                   {"x_train", floats("(4, 1)", {1, 2, 3, 4})},
                   {"y_test", longs("(2,)", {1, 0})},
                   {"y_train", k_labels}});
    auto const manifest = import.run();
    EXPECT_EQ(manifest.rows(Split::train), 2);
    EXPECT_EQ(split_rows(import.options.out, {Split::test}), (Rows{{8, 0}, {9, 1}}));
    EXPECT_EQ(split_rows(import.options.out, {Split::train, Split::valid}), (Rows{{1, 0}, {2, 1}, {3, 0}, {4, 1}}));
}

TEST(NpyImport, names_are_found_chosen_or_listed) {
    auto const x = floats("(4,)", {1, 2, 3, 4});
    Arrays import({{"data", x}, {"images", x}, {"target", k_labels}, {"names", x}});
    EXPECT_EQ(import.error<ConfigError>(),
              "a.npz: several features found by name (data, images); choose with --features NAME");
    import.options.features = "imges";
    EXPECT_EQ(import.error<ConfigError>(),
              "--features imges: no such array in a.npz (there is data, images, target, names); did you mean images?");
    import.options.features = "names";
    import.run();
    Arrays none({{"a", x}, {"b", x}});
    EXPECT_EQ(none.error<ConfigError>(), "a.npz: no features found by name (there is a, b); choose with --features NAME");
}

struct BadArrays {
    std::string name, x, y, message;
    Task task = Task::classification;
};

class BadArray : public ::testing::TestWithParam<BadArrays> {};

TEST_P(BadArray, is_refused_with_row_and_element) {
    Arrays import(GetParam().x, GetParam().y);
    import.options.task = GetParam().task;
    EXPECT_EQ(import.error(), GetParam().message);
}

std::string const k_features = floats("(4, 2)", {1, 2, 3, 4, 5, 6, 7, 8});

INSTANTIATE_TEST_SUITE_P(
    Table, BadArray,
    ::testing::Values(
        BadArrays{"nan", floats("(4, 2)", {1, 2, 3, 4, 5, NAN, 7, 8}), k_labels,
                  "a.npz:x: row 2, element 1: nan is not a finite float32 number; correct it"},
        BadArrays{"huge", npy<double>("<f8", "(4,)", {1, 2, 3, 1e300}), k_labels,
                  "a.npz:x: row 3, element 0: 1e+300 is not a finite float32 number; correct it"},
        BadArrays{"inexact", longs("(4, 2)", {1, 2, 3, 33554433, 5, 6, 7, 8}), k_labels,
                  "a.npz:x: row 1, element 1: 33554433 is beyond 2^24 (features are float32, which rounds it); scale it, "
                  "or make it an id below 2^24"},
        BadArrays{"lengths", k_features, longs("(3,)", {0, 1, 0}),
                  "a.npz:x has 4 rows and a.npz:y has 3 (each row needs its label); choose arrays of one length"},
        BadArrays{"fraction", k_features, floats("(4,)", {0, 1, 0.5F, 1}),
                  "a.npz:y: row 2: label 0.5 is not an integer (a class); use --regression to predict numbers"},
        BadArrays{"nan_label", k_features, floats("(4,)", {0, 1, NAN, 1}),
                  "a.npz:y: row 2: label nan is not an integer (a class); use --regression to predict numbers"},
        BadArrays{
            "one_hot", k_features, longs("(4, 2)", {0, 1, 0, 1, 0, 1, 1, 0}),
            "a.npz:y: 2 numbers a row (a class is one number); use --multilabel or --regression; one-hot labels become "
            "classes by labels.argmax(axis=1)"},
        BadArrays{"one_class", k_features, longs("(4,)", {5, 5, 5, 5}),
                  "a.npz:y: all rows have the same label (there is nothing to tell apart); choose other --labels"},
        BadArrays{"one_target", k_features, floats("(4, 2)", {1, 5, 1, 5, 1, 5, 1, 5}),
                  "a.npz:y: all rows have the same target (there is nothing to learn); choose other --labels",
                  Task::regression},
        BadArrays{"target", k_features, floats("(4,)", {0, INFINITY, 1, 1}),
                  "a.npz:y: row 1, element 0: target inf is not a finite float32 number; correct it", Task::regression},
        BadArrays{"multilabel", k_features, floats("(4, 2)", {0, 1, 1, 2, 0, 0, 0, 0}),
                  "a.npz:y: row 1, element 1: 2 is neither 0 nor 1 (a multilabel is true or false); correct it, or use "
                  "--regression",
                  Task::multilabel}),
    [](auto const& row) { return row.param.name; });

TEST(NpyImport, bad_options) {
    Arrays import(k_features, k_labels);
    import.options.shape = "3";
    EXPECT_EQ(import.error<ConfigError>(),
              "--shape 3: 3 elements (a row of a.npz:x has 2: 2); choose a shape with 2 elements");
    import.options.shape = "";
    import.options.channels = Channels::last;
    EXPECT_EQ(
        import.error<ConfigError>(),
        "--channels last: a row of 2 (height x width x channels is needed); give its --shape, or leave --channels out");
    import.options.sources.push_back(import.dir / "b.npy");
    write_text(import.dir / "b.npy", k_labels);
    EXPECT_EQ(import.error<ConfigError>(),
              "npy and npz files together; import one or several npz, or the npy of features and of labels");
}

}  // namespace array_import_test
}  // namespace hopscotch
