// SPDX-License-Identifier: Apache-2.0
// Folders and options that the image importer refuses.
#include <gtest/gtest.h>

#include "data/image_fixture.hpp"

namespace hopscotch {
namespace image_folder_test {

namespace fs = std::filesystem;

struct BadFolder {
    std::string name;
    void (*make)(Images&);
    std::string message;
};

class BadFolders : public ::testing::TestWithParam<BadFolder> {};

TEST_P(BadFolders, are_refused_and_named) {
    Images images;
    GetParam().make(images);
    EXPECT_EQ(images.error(), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadFolders,
    ::testing::Values(
        BadFolder{"empty", [](Images&) {}, "in: has no class folders; make a folder for each class"},
        BadFolder{"one_class", [](Images& i) { i.grey("cat/1.png", 1, 1, 1); },
                  "in: only one class folder, cat; a classification needs two"},
        BadFolder{"empty_class",
                  [](Images& i) {
                      i.two_classes();
                      fs::create_directory(i.in("cow"));
                      write_text(i.in("cow/readme.txt"), "");
                  },
                  "in/cow: the class folder has no .jpg, .jpeg or .png file; add some, or remove it"},
        BadFolder{"image_beside",
                  [](Images& i) {
                      i.two_classes();
                      i.grey("x.PNG", 1, 1, 1);
                  },
                  "in/x.PNG: an image outside of the class folders (1 in all); move it into a class folder"},
        BadFolder{"image_beside_splits",
                  [](Images& i) {
                      i.two_classes("train/");
                      i.grey("x.jpeg", 1, 1, 1);
                  },
                  "in/x.jpeg: an image outside of the class folders (1 in all); move it into the train, val or test folder"},
        BadFolder{"deeper",
                  [](Images& i) {
                      i.two_classes();
                      i.grey("cat/more/x.png", 1, 1, 1);
                  },
                  "in/cat/more: a folder within a class folder; move its images up"},
        BadFolder{"class_only_in_val",
                  [](Images& i) {
                      i.two_classes("train/");
                      i.grey("val/cow/x.png", 3, 2, 1);
                  },
                  "in/val/cow: there is no such class in the train folder; add it there, or remove it here"},
        BadFolder{"two_validations",
                  [](Images& i) {
                      i.two_classes("train/");
                      i.two_classes("val/");
                      i.two_classes("valid/");
                  },
                  "in/valid: another folder is this split already; merge them"},
        BadFolder{"beside_train",
                  [](Images& i) {
                      i.two_classes("train/");
                      i.two_classes("extra/");
                  },
                  "in/extra: stands beside train (with train, only train, val and test may stand here); move it elsewhere"},
        BadFolder{"no_train", [](Images& i) { i.two_classes("test/"); },
                  "in: test but no train folder; add it, or name a directory of class folders"},
        BadFolder{"all_of_a_class",
                  [](Images& i) {
                      i.two_classes();
                      fs::create_directory(i.in("cow"));
                      write_text(i.in("cow/1.jpg"), "");
                      i.options.skip_bad = true;
                  },
                  "in/cow: no image of this class folder can be decoded; replace them, or remove the folder"},
        BadFolder{"nothing_to_read",
                  [](Images& i) {
                      for (auto const* name : {"cat", "dog"}) {
                          fs::create_directory(i.in(name));
                          write_text(i.in(std::string(name) + "/1.jpg"), "");
                      }
                  },
                  "in: none of its 2 images can be read; are they JPEG or PNG?"}),
    [](auto const& row) { return row.param.name; });

struct BadOption {
    std::string name;
    void (*set)(Images&);
    std::string message;
};

class BadImageOptions : public ::testing::TestWithParam<BadOption> {};

TEST_P(BadImageOptions, are_refused) {
    Images images;
    images.two_classes();
    GetParam().set(images);
    EXPECT_EQ(images.error<ConfigError>(), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadImageOptions,
    ::testing::Values(
        BadOption{"no_source", [](Images& i) { i.options.sources = {i.dir / "no"}; }, "no: no such file or directory"},
        BadOption{"file", [](Images& i) { i.options.sources = {i.in("cat/1.png")}; },
                  "in/cat/1.png: images are imported from one directory; name the one above the class folders"},
        BadOption{"size", [](Images& i) { i.options.size = -1; }, "--size -1: must be between 1 and 8192 pixels"},
        BadOption{"threads", [](Images& i) { i.options.threads = -1; }, "--threads -1: must be between 1 and 1024"},
        BadOption{"valid", [](Images& i) { i.options.valid = 1; },
                  "--valid 1: must be at least 0 and below 1 (the fraction of rows kept for validation)"},
        BadOption{"test", [](Images& i) { i.options.test = -0.1; },
                  "--test -0.1: must be at least 0 and below 1 (the fraction of rows kept for the test)"},
        BadOption{"both", [](Images& i) { i.options.test = 0.75; },
                  "--valid 0.25 --test 0.75: must be below 1 together (the other rows are for training)"},
        BadOption{"shards", [](Images& i) { i.options.shards = 0; }, "--shards 0: must be at least 1"},
        BadOption{
            "many_shards", [](Images& i) { i.options.shards = 5; },
            "--shards 5: 4 validation rows (16 rows, --valid 0.25) cannot fill 5 validation shards; use fewer shards or a "
            "larger --valid"}),
    [](auto const& row) { return row.param.name; });

}  // namespace image_folder_test
}  // namespace hopscotch
