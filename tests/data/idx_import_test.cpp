// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <zlib.h>

#include <set>

#include "data/dataset/shard.hpp"
#include "data/dataset/verify.hpp"
#include "data/import/array/array_import.hpp"
#include "data/support.hpp"

namespace hopscotch {
namespace idx_import_test {

namespace fs = std::filesystem;

std::string header(std::vector<std::uint32_t> const& sizes, int type = 8) {
    std::string out{0, 0, static_cast<char>(type), static_cast<char>(sizes.size())};
    for (auto size : sizes)
        for (int shift : {24, 16, 8, 0}) out += static_cast<char>(size >> shift);
    return out;
}

void write_gz(fs::path const& path, std::string const& text) {
    auto* file = gzopen(path.c_str(), "wb");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
}

// Twenty images of 2x3, image i = {i, i, ...}, label i % 4.
struct Idx {
    TemporaryDirectory dir;
    ImportOptions options;
    std::string images = header({20, 2, 3}), labels = header({20});

    Idx() {
        for (int i = 0; i < 20; ++i) {
            images += std::string(6, static_cast<char>(i));
            labels += static_cast<char>(i % 4);
        }
        options.sources = {dir / "i", dir / "l"};
        options.out = dir / "out";
        options.valid = 0.25;
        options.shards = 2;
    }
    void write() const {
        write_text(dir / "i", images);
        write_text(dir / "l", labels);
    }
    void write_images_cut_by(std::size_t bytes) const {
        write_gz(dir / "i", images);
        auto const whole = read_bytes(dir / "i");
        write_text(dir / "i", whole.substr(0, whole.size() - bytes));
        write_text(dir / "l", labels);
    }
    Manifest run() const { return import_idx_files(options).manifest; }

    std::set<std::pair<std::int64_t, int>> rows(Split split) const {
        auto const manifest = read_manifest(options.out);
        std::set<std::pair<std::int64_t, int>> out;
        for (auto const& file : manifest.files(split)) {
            auto const shard = read_shard(options.out, file, manifest);
            for (std::size_t r = 0; r < shard.labels.size(); ++r)
                out.emplace(shard.labels[r], std::to_integer<int>(shard.features[(r + 1) * 6 - 1]));
        }
        return out;
    }
};

TEST(IdxImport, a_pair_of_files) {
    Idx idx;
    idx.write();
    auto const manifest = idx.run();
    EXPECT_EQ(manifest.shape, (std::vector<std::int64_t>{1, 2, 3}));
    EXPECT_EQ(manifest.outputs, 4);
    EXPECT_TRUE(manifest.class_names.empty());
    EXPECT_EQ(manifest.origin.provenance.at("sources").dump(), R"(["i","l"])");
    EXPECT_EQ(verify_files(idx.options.out).failures, std::vector<std::string>{});
    auto all = idx.rows(Split::train);
    EXPECT_EQ(all.size(), 15U);
    all.merge(idx.rows(Split::valid));
    ASSERT_EQ(all.size(), 20U);
    for (auto const& [label, value] : all) EXPECT_EQ(label, value % 4);
}

TEST(IdxImport, a_directory_with_the_usual_names_compressed) {
    Idx idx;
    write_gz(idx.dir / "train-images-idx3-ubyte.gz", idx.images);
    write_gz(idx.dir / "train-labels-idx1-ubyte.gz", idx.labels);
    write_text(idx.dir / "t10k-images.idx3-ubyte", header({2, 2, 3}) + std::string(12, 77));
    write_text(idx.dir / "t10k-labels.idx1-ubyte", header({2}) + std::string{1, 2});
    idx.options.sources = {idx.dir.path()};
    idx.run();
    EXPECT_EQ(idx.rows(Split::train).size(), 15U);
    EXPECT_EQ(idx.rows(Split::valid).size(), 5U);
    EXPECT_EQ(idx.rows(Split::test), (std::set<std::pair<std::int64_t, int>>{{1, 77}, {2, 77}}));
}

TEST(IdxImport, other_ranks_and_labels) {
    Idx flat;
    flat.images.replace(0, 16, header({20, 6}));
    for (std::size_t i = 8; i < 28; ++i) flat.labels[i] = static_cast<char>(flat.labels[i] * 2 + 1);  // 1, 3, 5, 7
    flat.write();
    EXPECT_EQ(flat.run().shape, (std::vector<std::int64_t>{6}));
    EXPECT_EQ(read_manifest(flat.options.out).class_names, (std::vector<std::string>{"1", "3", "5", "7"}));
    Idx channels;
    channels.images.replace(0, 16, header({20, 3, 2, 1}));
    channels.write();
    EXPECT_EQ(channels.run().shape, (std::vector<std::int64_t>{3, 2, 1}));
}

struct BadIdx {
    std::string name;
    void (*change)(Idx&);
    std::string message;
};

class BadIdxFiles : public ::testing::TestWithParam<BadIdx> {};

TEST_P(BadIdxFiles, are_refused_and_named) {
    Idx idx;
    GetParam().change(idx);
    if (!fs::exists(idx.dir / "i")) idx.write();
    auto const before = std::distance(fs::directory_iterator(idx.dir.path()), {});
    EXPECT_EQ(thrown<DataError>([&] { idx.run(); }, idx.dir.path()), GetParam().message);
    EXPECT_EQ(std::distance(fs::directory_iterator(idx.dir.path()), {}), before) << "something was left on disk";
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadIdxFiles,
    ::testing::Values(
        BadIdx{"empty", [](Idx& i) { i.images = ""; },
               "i: too short for an idx file (it starts with the four bytes 0, 0, type, rank); copy it again"},
        BadIdx{"magic", [](Idx& i) { i.images[0] = 'P'; },
               "i: not an idx file (it starts with the bytes 80 0, not 0 0); is the file of another format?"},
        BadIdx{"type", [](Idx& i) { i.images[2] = 13; },
               "i: idx type 0x0d (only bytes, 0x08, are supported); convert it, or import it as npy"},
        BadIdx{"rank", [](Idx& i) { i.images[3] = 9; }, "i: 9 sizes in an idx header (1 to 5 are supported)"},
        BadIdx{"header", [](Idx& i) { i.images.resize(10); }, "i: truncated within its header; copy it again"},
        BadIdx{"no_items", [](Idx& i) { i.images = header({0, 2, 3}); }, "i: has no items"},
        BadIdx{"huge", [](Idx& i) { i.images = header({20, 65536, 65536}); },
               "i: its items are empty or larger than 16 MiB; is it damaged?"},
        BadIdx{"truncated", [](Idx& i) { i.images.pop_back(); }, "i: truncated (its header says 20 items); copy it again"},
        BadIdx{"trailing", [](Idx& i) { i.images += 'x'; },
               "i: has bytes behind the 20 items of its header; is it damaged?"},
        BadIdx{"truncated_labels", [](Idx& i) { i.labels.pop_back(); },
               "l: truncated (its header says 20 items); copy it again"},
        BadIdx{"trailing_labels", [](Idx& i) { i.labels += 'x'; },
               "l: has bytes behind the 20 items of its header; is it damaged?"},
        BadIdx{"counts", [](Idx& i) { i.labels = header({19}) + std::string(19, 1); },
               "l: 19 labels (i has 20 images); are they a pair?"},
        BadIdx{"swapped", [](Idx& i) { std::swap(i.images, i.labels); },
               "i: a list of numbers, not of images (images and labels come in turn); name the images first"},
        BadIdx{"two_images", [](Idx& i) { i.labels = i.images; },
               "l: 3 sizes in its header, not a list of labels (images and labels come in turn); name the images first"},
        BadIdx{"one_class", [](Idx& i) { i.labels = header({20}) + std::string(20, 3); },
               "i: every label is 3; a classification needs two classes"},
        BadIdx{"compressed_and_cut", [](Idx& i) { i.write_images_cut_by(10); },
               "i: truncated (its header says 20 items); copy it again"},
        BadIdx{"compressed_without_its_end", [](Idx& i) { i.write_images_cut_by(3); },
               "i: truncated (its header says 20 items); copy it again"},
        BadIdx{"other_rows_in_the_test",
               [](Idx& i) {
                   i.write();
                   write_text(i.dir / "ti", header({4, 3, 3}) + std::string(36, 1));
                   write_text(i.dir / "tl", header({4}) + std::string(4, 1));
                   i.options.sources.insert(i.options.sources.end(), {i.dir / "ti", i.dir / "tl"});
               },
               "ti: rows of 1x3x3 (those of i are 1x2x3); import them apart"}),
    [](auto const& row) { return row.param.name; });

TEST(IdxImport, a_directory_without_images_is_refused) {
    Idx idx;
    write_text(idx.dir / "train-labels-idx1-ubyte", idx.labels);
    idx.options.sources = {idx.dir.path()};
    EXPECT_EQ(thrown<DataError>([&] { idx.run(); }),
              idx.dir.path().string() +
                  ": no train-images-idx3-ubyte or .gz here; name the files themselves, images and labels in turn");
}

TEST(IdxImport, files_come_in_pairs) {
    Idx idx;
    idx.write();
    idx.options.sources.pop_back();
    EXPECT_EQ(thrown<ConfigError>([&] { idx.run(); }),
              "1 idx files (images and labels come in turn); name 2 files, 4 with the test split, or one directory");
}

}  // namespace idx_import_test
}  // namespace hopscotch
