// SPDX-License-Identifier: Apache-2.0
// What the importers of arrays, tokens and images tell of their decisions; tables are in csv_kinds_test.cpp.
#include <gtest/gtest.h>

#include "data/image_fixture.hpp"
#include "data/import/array/array_import.hpp"
#include "data/npy_files.hpp"

namespace hopscotch {
namespace account_test {

using namespace std::string_literals;
using Account = std::vector<std::string>;

std::string const k_labels = npy<std::int64_t>("<i8", "(4,)", {0, 1, 0, 1});

struct Sources {
    TemporaryDirectory dir;
    template <class Options = ImportOptions>
    Options with(std::vector<std::pair<std::string, std::string>> const& files) const {
        Options out;
        for (auto const& [name, content] : files) {
            write_text(dir / name, content);
            out.sources.push_back(dir / name);
        }
        out.out = dir / "out";
        out.valid = 0;
        return out;
    }
};

TEST(Account, of_arrays_in_an_archive) {
    Sources const sources;
    auto const pixels = npy<double>("<f8", "(4, 2, 2, 3)", std::vector<double>(48, 0.5));
    auto options = sources.with<ImportArraysOptions>({{"a.npz", npz({{"x_train", pixels},
                                                                     {"y_train", npy<float>("<f4", "(4,)", {3, 7, 3, 7})},
                                                                     {"x_test", pixels},
                                                                     {"y_test", k_labels}})}});
    EXPECT_EQ(import_npy_files(options).manifest.origin.decisions,
              (Account{"4 rows of 'x_train' with the labels 'y_train'",
                       "4 rows of 'x_test' with the labels 'y_test', as the test split of the source",
                       "features and labels found by their names",
                       "4 classes of float32: named by the labels, in ascending order",
                       "channels were last (NHWC) and are first now (CHW)", "features of float64 become float32",
                       "no training row of classes '0', '1'", "no test row of classes '3', '7'"}));
}

TEST(Account, of_two_files_and_of_chosen_arrays) {
    Sources const sources;
    auto const bytes = npy<std::uint8_t>("|u1", "(4, 2)", {1, 2, 3, 4, 5, 6, 7, 8});
    EXPECT_EQ(import_npy_files(sources.with<ImportArraysOptions>({{"a.npy", bytes}, {"b.npy", k_labels}}))
                  .manifest.origin.decisions,
              (Account{"4 rows of 'a.npy' with the labels 'b.npy'", "features and labels in the order of the two files",
                       "2 classes of int64: the integers from 0 up"}));
    Sources const named;
    auto options = named.with<ImportArraysOptions>({{"a.npz", npz({{"x", bytes}, {"left", k_labels}, {"y", k_labels}})}});
    options.labels = "left";
    options.vocabulary = 9;
    EXPECT_EQ(import_npy_files(options).manifest.origin.decisions,
              (Account{"4 rows of 'x' with the labels 'left'",
                       "features and labels as --labels says, and by the features' name",
                       "2 classes of int64: the integers from 0 up", "features are ids below 9 (--vocabulary)"}));
}

TEST(Account, of_tokens) {
    Sources const texts;
    auto options = texts.with<ImportTokensOptions>({{"a.txt", "abcdefghij"}});
    options.context = 4;
    EXPECT_EQ(import_token_files(options).manifest.origin.decisions,
              (Account{"tokens are the bytes of files", "vocabulary 256: every byte",
                       "2 rows of 4 tokens, each with the token after it as label",
                       "1 token is left out: at the end of a file, fewer than --context fill no row"}));
    Sources const arrays;
    options =
        arrays.with<ImportTokensOptions>({{"a.npy", npy<std::uint16_t>("<u2", "(9,)", {0, 1, 2, 3, 300, 1, 2, 3, 4})}});
    options.context = 4;
    EXPECT_EQ(import_token_files(options).manifest.origin.decisions,
              (Account{"tokens are the ids of npy files (uint16)", "vocabulary 301: the largest token + 1",
                       "2 rows of 4 tokens, each with the token after it as label"}));
}

TEST(Account, of_idx_and_cifar) {
    Sources const sources;
    auto const pixels = "\0\0\x08\x03\0\0\0\2\0\0\0\1\0\0\0\1"s + "ab", labels = "\0\0\x08\x01\0\0\0\2"s + "\3\7";
    EXPECT_EQ(import_idx_files(sources.with({{"i", pixels}, {"l", labels}, {"ti", pixels}, {"tl", labels}}))
                  .manifest.origin.decisions,
              (Account{"2 rows of i with the labels of l",
                       "2 rows of ti with the labels of tl, as the test split of the source",
                       "2 classes: named by the labels, in ascending order"}));
    Sources const batches;
    std::string batch;
    for (int i = 0; i < 10; ++i) batch += static_cast<char>(i) + std::string(3072, 'x');
    EXPECT_EQ(
        import_cifar_files(batches.with({{"data_batch_1.bin", batch}, {"test_batch.bin", batch}})).manifest.origin.decisions,
        (Account{"the format is CIFAR-10, by the names and sizes of the files", "10 rows of data_batch_1.bin",
                 "10 rows of test_batch.bin, as the test split of the source",
                 "10 classes, without names, since batches.meta.txt is not beside the files"}));
}

TEST(Account, of_images) {
    Images images;
    images.two_classes();
    images.grey("dog/9.png", 4, 4, 1);
    write_text(images.in("cat/x.png"), "");
    write_text(images.in("notes.txt"), "x");
    images.options.size = 4;
    images.options.skip_bad = true;
    EXPECT_EQ(images.run().manifest.origin.decisions,
              (Account{"17 images in 2 classes, which the folders name", "1 channel (grey), since every image is grey",
                       "16 images are brought to 4x4 pixels, of which the middle is cut out",
                       "1 image is left out, since it cannot be decoded",
                       "1 file is ignored: hidden, or no .jpg, .jpeg or .png"}));
    Images split;
    split.two_classes("train/");
    split.grey("test/dog/9.png", 3, 2, 1);
    split.options.colour = Colour::rgb;
    EXPECT_EQ(split.run().manifest.origin.decisions,
              (Account{"17 images in 2 classes, which the folders name",
                       "the folders above the classes say which images train, validate and test",
                       "3 channels (RGB), as --colour says", "all images have 3x2 pixels, as stored",
                       "no test row of class 'cat'"}));
}

}  // namespace account_test
}  // namespace hopscotch
