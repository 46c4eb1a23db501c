// SPDX-License-Identifier: Apache-2.0
// The 240 JPEGs under tests/data/cifar are images of CIFAR-10's training set, 24 of each class.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "data/dataset/verify.hpp"
#include "data/image_fixture.hpp"

namespace hopscotch {
namespace image_import_test {

namespace fs = std::filesystem;

TEST(ImageImport, real_photographs_sorted_by_class_make_balanced_shards) {
    Images images;
    images.options.sources = {fs::path(HOPSCOTCH_SOURCE_DIR) / "tests/data/cifar"};
    images.options.shards = 4;
    images.options.test = 0.25;
    auto const report = images.run();
    auto const& manifest = report.manifest;
    EXPECT_EQ(verify_files(images.options.out).failures, std::vector<std::string>{});
    EXPECT_EQ(manifest.shape, (std::vector<std::int64_t>{3, 32, 32}));
    EXPECT_EQ(manifest.class_names.front(), "airplane");
    EXPECT_EQ(manifest.class_names.back(), "truck");
    EXPECT_EQ(manifest.rows(Split::train), 120);
    for (auto split : {Split::train, Split::valid, Split::test})
        for (auto const& file : manifest.files(split)) {
            std::map<std::int64_t, int> classes;
            for (auto label : read_shard(images.options.out, file, manifest).labels) ++classes[label];
            EXPECT_GE(classes.size(), split == Split::train ? 8U : 6U) << file.file;
            for (auto const& [label, count] : classes) EXPECT_LE(count, 9) << file.file;
        }
    for (auto split : {Split::valid, Split::test}) {
        std::map<std::int64_t, int> classes;
        for (auto const& [label, pixel] : images.content(split)) ++classes[label];
        for (auto const& [label, count] : classes) EXPECT_EQ(count, 6) << label;
    }
    for (std::size_t c = 0; c < 3; ++c) {  // photographs, not noise, and not swapped: skies make CIFAR bluish and bright
        EXPECT_NEAR(manifest.features.mean[c], 120, 20);
        EXPECT_NEAR(manifest.features.stddev[c], 63, 12);
    }
}

TEST(ImageImport, any_number_of_threads_makes_the_same_dataset) {
    std::set<std::uint64_t> hashes;
    for (int threads : {1, 2, 4, 9}) {
        Images images;
        images.options.sources = {fs::path(HOPSCOTCH_SOURCE_DIR) / "tests/data/cifar"};
        images.options.shards = 3;
        images.options.size = 20;
        images.options.threads = threads;
        hashes.insert(dataset_hash(images.run().manifest));
    }
    EXPECT_EQ(hashes.size(), 1U);
}

TEST(ImageImport, folders_are_classes_in_sorted_order) {
    Images images;
    images.two_classes();
    write_text(images.in("notes.txt"), "x");
    write_text(images.in("cat/.DS_Store"), "x");
    fs::create_directory(images.in(".git"));
    auto const manifest = images.run().manifest;
    EXPECT_EQ(manifest.shape, (std::vector<std::int64_t>{1, 2, 3}));
    EXPECT_EQ(manifest.class_names, (std::vector<std::string>{"cat", "dog"}));
    auto all = images.content(Split::train);
    all.merge(images.content(Split::valid));
    Images::Content wanted;
    for (int i = 0; i < 8; ++i) wanted.insert({{0, 10 + i}, {1, 20 + i}});
    EXPECT_EQ(all, wanted);
    EXPECT_EQ(manifest.origin.provenance.dump().find(images.dir.path().string()), std::string::npos);
    EXPECT_EQ(manifest.origin.provenance.at("source"), Json("in"));
    EXPECT_EQ(manifest.origin.provenance.at("images"), Json(16));
    EXPECT_EQ(manifest.origin.provenance.at("ignored_files"), Json(2));
    EXPECT_EQ(manifest.origin.provenance.at("colour"), Json("grey"));
}

TEST(ImageImport, folders_of_splits_are_kept) {
    Images images;
    images.two_classes("Train/");
    images.grey("VALID/cat/a.png", 3, 2, 100);
    images.grey("VALID/dog/b.png", 3, 2, 101);
    images.grey("test/dog/c.png", 3, 2, 102);
    images.run();
    EXPECT_EQ(images.content(Split::train).size(), 16U);
    EXPECT_EQ(images.content(Split::valid), (Images::Content{{0, 100}, {1, 101}}));
    EXPECT_EQ(images.content(Split::test), (Images::Content{{1, 102}}));
}

TEST(ImageImport, without_a_folder_for_validation_it_is_drawn_from_training) {
    Images images;
    images.two_classes("train/");
    images.grey("test/cat/a.png", 3, 2, 99);
    images.run();
    EXPECT_EQ(images.content(Split::train).size(), 12U);
    EXPECT_EQ(images.content(Split::valid).size(), 4U);
    EXPECT_EQ(images.content(Split::test), (Images::Content{{0, 99}}));
}

TEST(ImageImport, colour_is_what_any_image_has_or_what_is_asked_for) {
    for (auto const& [colour, channels] :
         {std::pair{Colour::automatic, 3}, std::pair{Colour::grey, 1}, std::pair{Colour::rgb, 3}}) {
        Images images;
        images.two_classes();
        write_png(images.in("dog/z.png"), 3, {}, {std::string(9, '\x20'), std::string(9, '\x20')});
        images.options.colour = colour;
        EXPECT_EQ(images.run().manifest.shape[0], channels);
    }
}

TEST(ImageImport, mixed_sizes_need_a_size) {
    Images images;
    images.two_classes();
    images.grey("dog/9.png", 4, 2, 1);
    EXPECT_EQ(images.error(), "in/dog/9.png: 4x2 pixels (the first image has 3x2); choose a --size for all");
    images.options.skip_bad = true;  // it is not corrupt
    EXPECT_EQ(images.error(), "in/dog/9.png: 4x2 pixels (the first image has 3x2); choose a --size for all");
    images.options.size = 5;
    EXPECT_EQ(images.run().manifest.shape, (std::vector<std::int64_t>{1, 5, 5}));
}

TEST(ImageImport, corrupt_files_are_listed_or_skipped) {
    Images images;
    images.two_classes();
    write_jpeg(images.in("whole.jpg"), {3, 2, JCS_RGB}, {1, 2, 3});
    auto const whole = read_bytes(images.in("whole.jpg"));
    fs::remove(images.in("whole.jpg"));
    write_text(images.in("cat/0.jpg"), whole.substr(0, whole.size() - 2));
    write_text(images.in("cat/empty.jpg"), "");
    write_text(images.in("dog/page.png"), "<html>not found</html>");
    std::string const listed =
        "in/cat/0.jpg: damaged JPEG: Premature end of JPEG file\nin/cat/empty.jpg: the file is empty\n"
        "in/dog/page.png: neither JPEG nor PNG (by its first bytes)\n";
    EXPECT_EQ(images.error(), listed + "3 of 19 images cannot be decoded; replace them, or leave them out with --skip-bad");
    images.options.skip_bad = true;
    images.options.colour = Colour::grey;
    auto const report = images.run();
    EXPECT_EQ(report.skipped_files, 3);
    ASSERT_EQ(report.skipped.size(), 3U);
    EXPECT_TRUE(report.skipped[0].ends_with("in/cat/0.jpg: damaged JPEG: Premature end of JPEG file")) << report.skipped[0];
    EXPECT_EQ(report.manifest.origin.provenance.at("skipped_files"), Json(3));
    EXPECT_EQ(images.content(Split::train).size(), 12U);
    EXPECT_EQ(verify_files(images.options.out).failures, std::vector<std::string>{});
}

TEST(ImageImport, many_corrupt_files_are_counted) {
    Images images;
    images.two_classes();
    for (int i = 100; i < 130; ++i) write_text(images.in("cat/" + std::to_string(i) + ".jpg"), "");
    auto const text = images.error();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 21);
    EXPECT_TRUE(
        text.ends_with("in/cat/119.jpg: the file is empty\n... and 10 more\n30 of 46 images cannot be decoded; replace "
                       "them, or leave them out with --skip-bad"))
        << text;
}

TEST(ImageImport, an_interrupted_import_leaves_nothing) {
    for (bool skip_bad : {false, true}) {
        Images images;
        images.two_classes();
        images.options.skip_bad = skip_bad;
        int calls = 0;
        images.options.progress = [&](std::int64_t, std::int64_t) {
            if (++calls == 2) throw Error("stop");
        };
        EXPECT_EQ(images.error<Error>(), "stop");
    }
}

}  // namespace image_import_test
}  // namespace hopscotch
