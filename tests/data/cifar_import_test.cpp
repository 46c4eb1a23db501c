// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>

#include "data/dataset/shard.hpp"
#include "data/dataset/verify.hpp"
#include "data/import/array/array_import.hpp"
#include "data/support.hpp"

namespace hopscotch {
namespace cifar_import_test {

namespace fs = std::filesystem;

// Records whose first channel is `value`, value + 1, ...; labels count up, modulo the classes.
std::string records(int count, int value, int classes, bool coarse) {
    std::string out;
    for (int i = 0; i < count; ++i) {
        if (coarse) out += static_cast<char>(99);  // to be left alone
        out += static_cast<char>(i % classes);
        out += std::string(1024, static_cast<char>(value + i)) + std::string(1024, 7) + std::string(1024, 8);
    }
    return out;
}

struct Cifar {
    TemporaryDirectory dir;
    ImportOptions options;

    Cifar() {
        fs::create_directory(dir / "in");
        options.sources = {dir / "in"};
        options.out = dir / "out";
    }
    void write(std::string const& name, std::string const& text) const { write_text(dir / ("in/" + name), text); }
    Manifest run() const { return import_cifar_files(options).manifest; }
    template <class Exception = DataError>
    std::string error() const {
        auto const text = thrown<Exception>([&] { run(); }, dir.path());
        EXPECT_EQ(std::distance(fs::directory_iterator(dir.path()), {}), 1) << "something was left on disk";
        return text;
    }

    // First pixel -> label.
    std::map<int, std::int64_t> rows(Split split) const {
        auto const manifest = read_manifest(options.out);
        std::map<int, std::int64_t> out;
        for (auto const& file : manifest.files(split)) {
            auto const shard = read_shard(options.out, file, manifest);
            for (std::size_t r = 0; r < shard.labels.size(); ++r) {
                out[std::to_integer<int>(shard.features[r * 3072])] = shard.labels[r];
                EXPECT_EQ(std::to_integer<int>(shard.features[r * 3072 + 1024]), 7);
                EXPECT_EQ(std::to_integer<int>(shard.features[r * 3072 + 3071]), 8);
            }
        }
        return out;
    }
};

std::string names(int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += "name" + std::to_string(i) + "\n";
    return out + "\n";
}

TEST(CifarImport, ten_classes_with_names_and_a_test_batch) {
    Cifar cifar;
    cifar.write("data_batch_1.bin", records(30, 0, 10, false));
    cifar.write("data_batch_3.bin", records(20, 30, 10, false));
    cifar.write("test_batch.bin", records(10, 100, 10, false));
    cifar.write("batches.meta.txt", names(10));
    auto const manifest = cifar.run();
    EXPECT_EQ(manifest.shape, (std::vector<std::int64_t>{3, 32, 32}));
    EXPECT_EQ(manifest.class_names.at(9), "name9");
    EXPECT_EQ(verify_files(cifar.options.out).failures, std::vector<std::string>{});
    auto all = cifar.rows(Split::train);
    EXPECT_EQ(all.size(), 40U);
    all.merge(cifar.rows(Split::valid));
    ASSERT_EQ(all.size(), 50U);
    for (auto const& [value, label] : all) EXPECT_EQ(label, value % 10);
    auto const test = cifar.rows(Split::test);
    ASSERT_EQ(test.size(), 10U);
    EXPECT_EQ(test.begin()->first, 100);
}

TEST(CifarImport, a_hundred_classes_by_their_fine_label) {
    Cifar cifar;
    cifar.write("train.bin", records(200, 0, 100, true));
    cifar.write("fine_label_names.txt", names(100));
    auto const manifest = cifar.run();
    EXPECT_EQ(manifest.outputs, 100);
    EXPECT_EQ(manifest.class_names.size(), 100U);
    EXPECT_TRUE(manifest.test.empty());
    for (auto const& [value, label] : cifar.rows(Split::train)) EXPECT_EQ(label, value % 100);
}

TEST(CifarImport, files_of_other_names_are_told_apart_by_their_size) {
    for (bool coarse : {false, true}) {
        Cifar cifar;
        cifar.write("mine.bin", records(50, 0, 10, coarse));
        cifar.options.sources = {cifar.dir / "in/mine.bin"};
        EXPECT_EQ(cifar.run().outputs, coarse ? 100 : 10);
        EXPECT_EQ(cifar.rows(Split::train).size(), 40U);
    }
}

TEST(CifarImport, bad_files_are_refused_and_named) {
    Cifar cifar;
    EXPECT_EQ(cifar.error(),
              "in: neither data_batch_1.bin (CIFAR-10) nor train.bin (CIFAR-100) is here; name the files themselves");
    cifar.write("data_batch_1.bin", records(20, 0, 10, false).substr(1));
    EXPECT_EQ(cifar.error(),
              "in/data_batch_1.bin: 61459 bytes, no whole number of records (3073 bytes each for CIFAR-10); is the file "
              "truncated?");
    cifar.write("data_batch_1.bin", "");
    EXPECT_EQ(
        cifar.error(),
        "in/data_batch_1.bin: 0 bytes, no whole number of records (3073 bytes each for CIFAR-10); is the file truncated?");
    cifar.write("data_batch_1.bin", records(20, 0, 11, false));
    EXPECT_EQ(cifar.error(),
              "in/data_batch_1.bin: record 10: label 10 is out of range (CIFAR-10 has 10 classes); is the file of another "
              "format?");
    cifar.write("data_batch_1.bin", records(20, 0, 10, false));
    cifar.write("batches.meta.txt", names(9));
    EXPECT_EQ(cifar.error(), "in/batches.meta.txt: 9 names (CIFAR-10 has 10 classes); correct it or remove it");
    cifar.write("train.bin", records(3, 0, 10, true));
    EXPECT_EQ(cifar.error(), "in/train.bin: CIFAR-100 (in/data_batch_1.bin is CIFAR-10); import them apart");
    cifar.options.sources = {cifar.dir / "in/none.bin"};
    EXPECT_EQ(cifar.error<ConfigError>(), "in/none.bin: no such file or directory");
}

}  // namespace cifar_import_test
}  // namespace hopscotch
