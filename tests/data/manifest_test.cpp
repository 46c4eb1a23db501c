// SPDX-License-Identifier: Apache-2.0
#include "data/dataset/manifest.hpp"

#include <gtest/gtest.h>

#include "data/support.hpp"

namespace hopscotch {
namespace manifest_test {

Manifest example() {
    Manifest m;
    m.shape = {1, 8, 8};
    m.type = FeatureType::uint8;
    m.outputs = 2;
    m.class_names = {"cat \"a\"", "dog"};
    m.train = {{"train-00000.h5", 7, 0xffffffffffffffffU}, {"train-00001.h5", 6, 1}};
    m.valid = {{"valid-00000.h5", 2, 3}};
    m.features.mean = {0.1};
    m.features.stddev = {1.0 / 3};
    m.origin.seed = 0xfedcba9876543210U;
    m.origin.provenance = Json::object({{"importer", "csv"}, {"rows", 15}});
    return m;
}

TEST(Manifest, survives_writing_and_reading) {
    TemporaryDirectory const dir;
    auto const written = example();
    write_manifest(dir.path(), written);
    auto const read = read_manifest(dir.path());
    EXPECT_EQ(read.task, Task::classification);
    EXPECT_EQ(read.shape, written.shape);
    EXPECT_EQ(read.type, FeatureType::uint8);
    EXPECT_EQ(read.outputs, 2);
    EXPECT_EQ(read.class_names, written.class_names);
    ASSERT_EQ(read.train.size(), 2U);
    EXPECT_EQ(read.train[0].file, "train-00000.h5");
    EXPECT_EQ(read.train[0].xxh64, 0xffffffffffffffffU);
    EXPECT_EQ(read.rows(Split::train), 13);
    EXPECT_EQ(read.rows(Split::valid), 2);
    EXPECT_EQ(read.rows(Split::test), 0);
    EXPECT_EQ(read.row_size(), 64);
    EXPECT_EQ(read.features.mean, written.features.mean);
    EXPECT_EQ(read.features.stddev, written.features.stddev);
    EXPECT_EQ(read.origin.seed, written.origin.seed);
    EXPECT_EQ(read.origin.provenance, written.origin.provenance);
    EXPECT_EQ(dataset_hash(read), dataset_hash(written));
    auto other = written;
    other.valid[0].xxh64 = 4;
    EXPECT_NE(dataset_hash(other), dataset_hash(written));
}

struct BadManifest {
    std::string name, from, to, message;
};

class BadManifests : public ::testing::TestWithParam<BadManifest> {};

TEST_P(BadManifests, are_refused_with_file_and_reason) {
    TemporaryDirectory const dir;
    write_manifest(dir.path(), example());
    auto text = read_bytes(dir / "dataset.json");
    auto const at = text.find(GetParam().from);
    ASSERT_NE(at, text.npos) << text;
    write_text(dir / "dataset.json", text.replace(at, GetParam().from.size(), GetParam().to));
    EXPECT_EQ(thrown<DataError>([&] { read_manifest(dir.path()); }, dir.path()), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadManifests,
    ::testing::Values(
        BadManifest{
            "format", "\"format\": 1", "\"format\": 2",
            "dataset.json: dataset format 2 is not supported (this build reads 1; another version of hopscotch wrote it); "
            "import the dataset again"},
        BadManifest{"no_format", "\"format\": 1", "\"x\": 1",
                    "dataset.json: not a dataset description (no integer 'format'); import the dataset again"},
        BadManifest{"key", "\"seed\"", "\"sed\"", "dataset.json:9:3: /sed: unknown key; did you mean \"seed\"?"},
        BadManifest{"task", "\"classification\"", "\"clustering\"",
                    "dataset.json:3:11: /task: unknown value \"clustering\" (known: classification, regression, multilabel, "
                    "language)"},
        BadManifest{"shape", "[1,8,8]", "[1,0,8]", "dataset.json:4:12: /shape: must be between 1 and 1073741824 (got 0)"},
        BadManifest{"scales", "\"mean\": [0.1]", "\"mean\": [0.1,0.2]",
                    "dataset.json: mean and stddev have 2 and 1 numbers (the shape asks for 1)"},
        BadManifest{"stddev", "\"stddev\": [0.3333333333333333]", "\"stddev\": [0]", "dataset.json: stddev 0 must be > 0"},
        BadManifest{"categories", "\"categories\": []", "\"categories\": [1,2]",
                    "dataset.json: categories has 2 numbers (one a feature: 64; or a single one)"},
        BadManifest{"names", "\"outputs\": 2", "\"outputs\": 3", "dataset.json: 2 class names for 3 classes"},
        BadManifest{"path", "train-00001.h5", "../train.h5",
                    "dataset.json:12:13: /train/1/file: '../train.h5' is not the name of a file beside dataset.json"},
        BadManifest{"twice", "train-00001.h5", "train-00000.h5", "dataset.json: names 'train-00000.h5' twice"},
        BadManifest{"folder", "train-00001.h5", "..",
                    "dataset.json:12:13: /train/1/file: '..' is not the name of a file beside dataset.json"},
        BadManifest{"nul", "train-00001.h5", "train-00001.h5\\u0000x",
                    "dataset.json:12:13: /train/1/file: must not contain \\u0000\n"
                    "dataset.json:12:13: /train/1/file: '' is not the name of a file beside dataset.json"},
        BadManifest{"huge_rows", "[1,8,8]", "[65536,65536,65536,65536]",
                    "dataset.json: shape says that a row has more than 268435456 features"},
        BadManifest{"many_rows", "\"rows\":7", "\"rows\":4294967296",
                    "dataset.json:11:37: /train/0/rows: must be at most 4294967295 (got 4294967296)"},
        BadManifest{"hash", "0000000000000003", "3",
                    "dataset.json:15:47: /valid/0/xxh64: '3' is not a hash (a hash has sixteen hex digits)"}),
    [](auto const& row) { return row.param.name; });

TEST(Manifest, every_task_survives) {
    TemporaryDirectory const dir;
    for (auto task : {Task::classification, Task::regression, Task::multilabel, Task::language}) {
        auto written = example();
        written.task = task;
        written.categories = {64};
        written.test = {{"test-00000.h5", 4, 9}};
        write_manifest(dir.path(), written);
        auto const read = read_manifest(dir.path());
        EXPECT_EQ(read.task, task);
        EXPECT_EQ(read.categories, written.categories);
        EXPECT_EQ(read.rows(Split::test), 4);
        EXPECT_EQ(dataset_hash(read), dataset_hash(written));
    }
}

TEST(Manifest, missing_directories_and_files_are_named) {
    TemporaryDirectory const dir;
    EXPECT_EQ(thrown<DataError>([&] { read_manifest(dir / "none"); }, dir.path()),
              "none: no such dataset directory; make one with 'hopscotch data import'");
    std::filesystem::create_directory(dir / "empty");
    EXPECT_EQ(thrown<DataError>([&] { read_manifest(dir / "empty"); }, dir.path()),
              "empty: not a dataset directory (it has no dataset.json); make one with 'hopscotch data import'");
    std::string const long_name(300, 'd');
    EXPECT_EQ(thrown<DataError>([&] { read_manifest(dir / long_name); }, dir.path()),
              long_name + ": no such dataset directory; make one with 'hopscotch data import'");
    std::filesystem::create_directories(dir / "odd/dataset.json");
    EXPECT_EQ(thrown<DataError>([&] { read_manifest(dir / "odd"); }, dir.path()),
              "odd/dataset.json: cannot be read (it is not a file)");
}

}  // namespace manifest_test
}  // namespace hopscotch
