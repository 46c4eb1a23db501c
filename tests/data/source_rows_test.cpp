// SPDX-License-Identifier: Apache-2.0
#include "data/dataset/source_rows.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "data/dataset/hdf5_file.hpp"
#include "data/dataset/verify.hpp"
#include "data/image_fixture.hpp"
#include "data/imported_csv.hpp"

namespace hopscotch {
namespace source_rows_test {

// The first feature of each row, in the order of dataset.json.
std::vector<float> first_features(std::filesystem::path const& dir, Manifest const& manifest) {
    std::vector<float> out;
    for (auto split : {Split::train, Split::valid, Split::test})
        for (auto const& file : manifest.files(split)) {
            auto const shard = read_shard(dir, file, manifest);
            auto const width = static_cast<std::size_t>(manifest.row_size());
            for (std::size_t row = 0; row < static_cast<std::size_t>(shard.rows); ++row) {
                float value;
                std::memcpy(&value, shard.features.data() + row * width * sizeof value, sizeof value);
                out.push_back(value);
            }
        }
    return out;
}

// Record n has the feature n + 0.5, but every fifth record has no value and is left out.
std::string numbered() {
    std::string text = "who,x,y\n";
    for (int n = 0; n < 60; ++n)
        text += fmt::format("person {},{},{}\n", n, n % 5 == 3 ? "" : fmt::format("{}.5", n), n % 2 == 0 ? "yes" : "no");
    return text;
}

struct Numbered : Imported {
    explicit Numbered(std::string_view option) : Imported(numbered()) {
        options.shards = 3;
        options.test = 0.2;
        options.missing = MissingValues::drop;
        options.columns = {{std::string(option), "who", ColumnType::dropped}};
    }
};

TEST(SourceRows, NumbersCountTheRecordsThatAreLeftOutToo) {
    Numbered const csv("drop");
    auto const manifest = csv.run().manifest;
    auto const rows = read_source_rows(csv.options.out, manifest);
    ASSERT_TRUE(rows);
    auto const features = first_features(csv.options.out, manifest);
    ASSERT_EQ(rows->numbers.size(), 48U);
    ASSERT_EQ(features.size(), 48U);
    for (std::size_t i = 0; i < features.size(); ++i)
        EXPECT_EQ(static_cast<float>(rows->numbers[i]) + 0.5F, features[i]) << i;
    EXPECT_TRUE(rows->names.empty());
    EXPECT_EQ(source_heading(manifest, *rows), "source_row");
    EXPECT_EQ(verify_files(csv.options.out).failures, std::vector<std::string>{});
}

TEST(SourceRows, AColumnNamesThem) {
    Numbered const csv(k_id_option);
    auto const manifest = csv.run().manifest;
    auto const rows = read_source_rows(csv.options.out, manifest);
    ASSERT_TRUE(rows);
    auto const features = first_features(csv.options.out, manifest);
    ASSERT_EQ(rows->names.size(), features.size());
    for (std::size_t i = 0; i < features.size(); ++i)
        EXPECT_EQ(rows->names[i], fmt::format("person {}", static_cast<int>(features[i]))) << i;
    EXPECT_EQ(source_heading(manifest, *rows), "who");
    EXPECT_EQ(manifest.row_size(), 1);
    EXPECT_TRUE(decided(manifest, "column 'who' names the rows, and is not a feature"));
}

TEST(SourceRows, TwoFilesCountAsOne) {
    Numbered csv("drop");
    write_text(csv.dir / "b.csv", "who,x,y\nz,60.5,no\nz,61.5,yes\n");
    csv.options.sources.push_back(csv.dir / "b.csv");
    auto const manifest = csv.run().manifest;
    auto const rows = read_source_rows(csv.options.out, manifest);
    auto const features = first_features(csv.options.out, manifest);
    ASSERT_EQ(rows->numbers.size(), 50U);
    for (std::size_t i = 0; i < features.size(); ++i)
        EXPECT_EQ(static_cast<float>(rows->numbers[i]) + 0.5F, features[i]) << i;
}

TEST(SourceRows, PicturesAreNamedByTheirPaths) {
    Images images;
    images.two_classes();
    auto const manifest = images.run().manifest;
    auto const rows = read_source_rows(images.options.out, manifest);
    ASSERT_TRUE(rows);
    EXPECT_EQ(source_heading(manifest, *rows), "file");
    std::size_t at = 0;
    for (auto split : {Split::train, Split::valid, Split::test})
        for (auto const& file : manifest.files(split))
            for (auto const label : read_shard(images.options.out, file, manifest).labels) {
                EXPECT_TRUE(rows->names[at].starts_with(label == 0 ? "cat/" : "dog/")) << rows->names[at];
                EXPECT_TRUE(std::filesystem::exists(images.in(rows->names[at++])));
            }
    EXPECT_EQ(at, rows->names.size());
}

TEST(SourceRows, OlderDatasetsHaveNoneAndTheSameHash) {
    Numbered const csv("drop");
    auto manifest = csv.run().manifest;
    auto const hash = dataset_hash(manifest);
    std::filesystem::remove(csv.options.out / "rows.h5");
    manifest.source_rows.reset();
    EXPECT_EQ(dataset_hash(manifest), hash);
    EXPECT_FALSE(read_source_rows(csv.options.out, manifest));
    write_manifest(csv.options.out, manifest);
    EXPECT_EQ(verify_files(csv.options.out).failures, std::vector<std::string>{});
}

TEST(SourceRows, ShardsAreKnownByTheirNames) {
    Numbered const csv("drop");
    auto manifest = csv.run().manifest;
    manifest.train.erase(manifest.train.begin());
    std::swap(manifest.valid[0], manifest.valid[1]);
    auto const rows = *read_source_rows(csv.options.out, manifest);
    auto features = first_features(csv.options.out, manifest);
    auto at = features.begin();
    for (auto split : {Split::train, Split::valid, Split::test})
        for (auto const& file : manifest.files(split))
            for (std::size_t row = 0; row < static_cast<std::size_t>(file.rows); ++row)
                EXPECT_EQ(static_cast<float>(rows.numbers[rows.first.at(file.file) + row]) + 0.5F, *at++);
}

// What data verify says of rows.h5.
std::string said_of(Imported const& csv) {
    auto const failures = verify_files(csv.options.out).failures;
    return failures.empty() ? "" : failures.front().substr(failures.front().find("rows.h5"));
}

// What else may stand there. The hash is wrong in all of these.
TEST(SourceRows, OtherRowsAreFound) {
    Numbered const csv(k_id_option);
    auto const manifest = csv.run().manifest;
    auto const path = csv.options.out / "rows.h5";
    auto const whole = *read_source_rows(csv.options.out, manifest);
    auto const instead = [&](Manifest const& shards, SourceRows const& rows) {
        std::filesystem::remove(path);
        write_source_rows(path, shards, rows.numbers, rows.names);
        return said_of(csv);
    };
    auto one_less = whole;
    one_less.names.pop_back();
    EXPECT_EQ(instead(manifest, one_less), "rows.h5: 47 names (for 48 rows); restore it or import the dataset again");
    one_less.numbers.pop_back();
    EXPECT_EQ(instead(manifest, one_less),
              "rows.h5: 47 rows (dataset.json says 48); restore it or import the dataset again");
    auto one_more = manifest;
    one_more.test.back().rows += 1;
    EXPECT_EQ(instead(one_more, whole),
              "rows.h5: 4 rows of test-00002.h5 (of 48 in all); restore it or import the dataset again");
    auto shards = manifest;
    shards.train.front().rows += 1;
    shards.train.back().rows -= 1;
    EXPECT_TRUE(instead(shards, whole).starts_with("rows.h5: does not know "));
    auto other = whole;
    std::swap(other.numbers[0], other.numbers[1]);
    EXPECT_TRUE(instead(manifest, other).starts_with("rows.h5: hash is "));
}

TEST(SourceRows, DamageIsFound) {
    Numbered const csv(k_id_option);
    csv.run();
    auto const path = csv.options.out / "rows.h5";
    std::filesystem::remove(path);
    {
        auto file = Hdf5File::create(path);
        file.create_dataset("/numbers", {ElementType::float32, {48}});
        file.close();
    }
    EXPECT_EQ(said_of(csv), "rows.h5: '/numbers' is not a list (of int64); restore it or import the dataset again");
    write_text(path, "nothing");
    EXPECT_NE(said_of(csv).find("cannot be read as HDF5"), std::string::npos);
    std::filesystem::remove(path);
    EXPECT_NE(said_of(csv).find("no such file"), std::string::npos);
}

}  // namespace source_rows_test
}  // namespace hopscotch
