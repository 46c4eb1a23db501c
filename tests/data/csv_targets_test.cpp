// SPDX-License-Identifier: Apache-2.0
// Several targets, and categories by hash.
#include <gtest/gtest.h>

#include "core/hash.hpp"
#include "data/dataset/verify.hpp"
#include "data/imported_csv.hpp"

namespace hopscotch {
namespace csv_targets_test {

float bucket(std::string const& column, std::string const& text, std::uint64_t buckets) {
    auto const seed = xxh3(std::as_bytes(std::span(column)));
    return static_cast<float>(1 + xxh3(std::as_bytes(std::span(text)), seed) % (buckets - 1));
}

TEST(CsvTargets, several_targets_in_the_order_of_the_options) {
    Imported import("a,y,b,z\n1,0.5,10,7\n2,-1,20,8\n3,2,30,9\n4,1e3,40,6\n");
    import.options.task = Task::regression;
    import.options.standardise = false;
    import.options.label = {"z", "y"};
    auto const manifest = import.run().manifest;
    EXPECT_EQ(manifest.outputs, 2);
    EXPECT_EQ(manifest.origin.provenance.at("label").dump(), R"(["z","y"])");
    EXPECT_EQ(all_rows(import.options.out), (Rows{{1, 10, 7, 0.5F}, {2, 20, 8, -1}, {3, 30, 9, 2}, {4, 40, 6, 1000}}));
    EXPECT_EQ(verify_files(import.options.out).failures, std::vector<std::string>{});
}

TEST(CsvTargets, multilabel) {
    Imported import("a,dog,cat\n1,0,1\n2,1,1\n3,0,0\n4,1,0\n");
    import.options.task = Task::multilabel;
    import.options.label = {"dog", "cat"};
    auto const manifest = import.run().manifest;
    EXPECT_EQ(manifest.task, Task::multilabel);
    EXPECT_EQ(manifest.class_names, (std::vector<std::string>{"dog", "cat"}));
    EXPECT_EQ(all_rows(import.options.out), (Rows{{1, 0, 1}, {2, 1, 1}, {3, 0, 0}, {4, 1, 0}}));
}

TEST(CsvTargets, bad_targets_are_named) {
    Imported import("a,dog,cat\n1,0,1\n2,1,2\n3,0,0\n");
    import.options.task = Task::multilabel;
    import.options.label = {"dog", "cat"};
    EXPECT_EQ(import.error<DataError>(),
              "a.csv:3: target '2' is neither 0 nor 1 (--multilabel); correct it, choose another --label or --regression");
    write_text(import.dir / "a.csv", "a,dog,cat\n1,0,1\n2,yes,1\n");
    EXPECT_EQ(import.error<DataError>(),
              "a.csv:3: target 'yes' is not a number (--multilabel predicts 0 or 1); correct it or choose another --label");
    import.options.task = Task::regression;
    EXPECT_EQ(import.error<DataError>(),
              "a.csv:3: target 'yes' is not a number (--regression predicts numbers); correct it or choose another --label");
    write_text(import.dir / "a.csv", "a,dog,cat\n1,0,1\n2,1,\n");
    EXPECT_EQ(import.error<DataError>(),
              "a.csv:3: label 'cat' has no value here (1 missing in all); fill it in, or choose --missing drop");
}

TEST(CsvHash, texts_become_one_feature_each) {
    Imported import("c,n,d,y\nred,1.5,red,0\nblue,2,,1\n?,3,red,0\nred,4,x,1\n");
    import.options.hash_buckets = 1000;
    auto const manifest = import.run().manifest;
    EXPECT_EQ(manifest.shape, (std::vector<std::int64_t>{3}));
    EXPECT_EQ(manifest.categories, (std::vector<std::int64_t>{1000, 0, 1000}));
    EXPECT_EQ(manifest.type, FeatureType::float32);
    EXPECT_EQ(manifest.origin.provenance.at("hash_buckets"), Json(1000));
    auto const red = bucket("c", "red", 1000), blue = bucket("c", "blue", 1000);
    Rows expected{{red, 1.5F, bucket("d", "red", 1000), 0},
                  {blue, 2, 0, 1},
                  {0, 3, bucket("d", "red", 1000), 0},
                  {red, 4, bucket("d", "x", 1000), 1}};
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(all_rows(import.options.out), expected);
    EXPECT_NE(red, bucket("d", "red", 1000)) << "columns do not share their ids";
    EXPECT_EQ(verify_files(import.options.out).failures, std::vector<std::string>{});
}

TEST(CsvHash, numbers_are_categories_when_named) {
    Imported import("zip,n,y\n10115,1,0\n80331,2,1\n10115,3,0\n,4,1\n");
    import.options.hash_buckets = 16;
    import.options.columns = {{"categorical", "zip", ColumnType::category}};
    auto const manifest = import.run().manifest;
    EXPECT_EQ(manifest.type, FeatureType::uint8);
    EXPECT_EQ(manifest.categories, (std::vector<std::int64_t>{16, 0}));
    Rows expected{{bucket("zip", "10115", 16), 1, 0},
                  {bucket("zip", "80331", 16), 2, 1},
                  {bucket("zip", "10115", 16), 3, 0},
                  {0, 4, 1}};
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(all_rows(import.options.out), expected);
}

TEST(CsvHash, any_number_of_different_texts) {
    std::string text = "id,y\n";
    for (int i = 0; i < 3000; ++i) text += "user" + std::to_string(i) + "," + std::to_string(i % 2) + "\n";
    Imported import(text);
    import.options.hash_buckets = 100;
    import.run();
    std::vector<int> hits(100);
    for (auto const& row : all_rows(import.options.out)) ++hits.at(static_cast<std::size_t>(row[0]));
    EXPECT_EQ(hits[0], 0) << "0 is for missing values";
    for (std::size_t i = 1; i < hits.size(); ++i) EXPECT_GT(hits[i], 5) << i;  // 30 expected, 5 is 4.6 deviations away
}

}  // namespace csv_targets_test
}  // namespace hopscotch
