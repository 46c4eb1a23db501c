// SPDX-License-Identifier: Apache-2.0
#include "data/import/csv/csv_import.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>

#include "data/dataset/verify.hpp"
#include "data/imported_csv.hpp"
#include "data/support.hpp"

namespace hopscotch {
namespace csv_import_test {

ImportCsvOptions digits_options(TemporaryDirectory const& dir) {
    ImportCsvOptions options;
    options.sources = {std::filesystem::path(HOPSCOTCH_SOURCE_DIR) / "data/digits.csv"};
    options.out = dir / "digits";
    options.shards = 12;
    options.shape = "1x8x8";
    return options;
}

void expect_statistics_of_the_rows(Manifest const& manifest, std::filesystem::path const& directory) {
    double sum = 0, squares = 0, count = 0;
    for (auto const& file : manifest.train)
        for (auto const byte : read_shard(directory, file, manifest).features) {
            auto const value = std::to_integer<int>(byte);
            sum += value;
            squares += value * value;
            ++count;
        }
    ASSERT_EQ(manifest.features.mean.size(), 1U);
    EXPECT_NEAR(manifest.features.mean[0], sum / count, 1e-12);
    EXPECT_NEAR(manifest.features.stddev[0], std::sqrt(squares / count - sum / count * sum / count), 1e-9);
}

Rows rows_of_csv(std::filesystem::path const& path) {
    Rows rows;
    std::ifstream in(path);
    std::string line, cell;
    std::getline(in, line);
    while (std::getline(in, line)) {
        std::istringstream cells(line);
        rows.emplace_back();
        while (std::getline(cells, cell, ',')) rows.back().push_back(std::stof(cell));
    }
    std::sort(rows.begin(), rows.end());
    return rows;
}

TEST(CsvImport, digits) {
    TemporaryDirectory const dir;
    auto const options = digits_options(dir);
    auto const manifest = import_csv_files(options).manifest;
    EXPECT_EQ(manifest.type, FeatureType::uint8);
    EXPECT_EQ(manifest.outputs, 10);
    EXPECT_TRUE(manifest.class_names.empty());
    EXPECT_EQ(manifest.shape, (std::vector<std::int64_t>{1, 8, 8}));
    EXPECT_EQ(manifest.train.size(), 12U);
    EXPECT_EQ(manifest.valid.size(), 12U);
    EXPECT_EQ(manifest.rows(Split::train), 1438);
    EXPECT_EQ(manifest.rows(Split::valid), 359);
    for (auto const& file : manifest.train) EXPECT_TRUE(file.rows == 119 || file.rows == 120) << file.rows;
    auto const report = verify_files(options.out);
    EXPECT_EQ(report.failures, std::vector<std::string>{});
    EXPECT_EQ(report.rows, 1797);
    expect_statistics_of_the_rows(manifest, options.out);
    EXPECT_EQ(all_rows(options.out), rows_of_csv(options.sources[0]));
    if (auto const* keep = std::getenv("HOPSCOTCH_KEEP_DIGITS")) {  // for read_with_h5py.py
        std::filesystem::remove_all(keep);
        std::filesystem::copy(options.out, keep, std::filesystem::copy_options::recursive);
    }
}

TEST(CsvImport, a_named_label_of_a_table_of_texts_is_a_header) {
    TemporaryDirectory dir;
    write_text(dir / "t.csv", "a,b,y\nu,v,p\nw,v,q\nu,x,p\nw,x,q\n");
    ImportCsvOptions options;
    options.sources = {dir / "t.csv"};
    options.out = dir / "out";
    options.valid = 0.5;
    options.label = {"y"};
    EXPECT_EQ(import_csv_files(options).manifest.class_names, (std::vector<std::string>{"p", "q"}));
    EXPECT_EQ(all_rows(options.out).size(), 4U);
}

TEST(CsvImport, same_seed_same_bytes) {
    TemporaryDirectory const dir;
    ImportCsvOptions options;
    options.sources = {std::filesystem::path(HOPSCOTCH_SOURCE_DIR) / "data/digits.csv"};
    options.shards = 3;
    auto const bytes = [&](std::string const& name, std::uint64_t seed) {
        options.out = dir / name;
        options.seed = seed;
        import_csv_files(options);
        std::map<std::string, std::string> out;
        for (auto const& entry : std::filesystem::directory_iterator(options.out))
            out[entry.path().filename().string()] = read_bytes(entry.path());
        return out;
    };
    auto const first = bytes("a", 5);
    EXPECT_EQ(first.size(), 8U);
    EXPECT_TRUE(first == bytes("b", 5));
    auto const other = bytes("c", 6);
    for (auto const& [name, content] : other) EXPECT_FALSE(content == first.at(name)) << name;
}

TEST(CsvImport, text_labels_and_categories_are_mapped_and_recorded) {
    Imported import("colour,size,kind\nred,1,dog\nblue,2.5,cat\nred,3,dog\n\"a,b\",4,cat\n");
    auto const manifest = import.run().manifest;
    EXPECT_EQ(manifest.type, FeatureType::float32);
    EXPECT_EQ(manifest.class_names, (std::vector<std::string>{"cat", "dog"}));
    EXPECT_EQ(manifest.shape, (std::vector<std::int64_t>{4}));
    EXPECT_EQ(manifest.origin.provenance.at("features").dump(), R"(["colour=a,b","colour=blue","colour=red","size"])");
    EXPECT_EQ(manifest.origin.provenance.at("categories").dump(), R"({"colour":["a,b","blue","red"]})");
    EXPECT_EQ(all_rows(import.options.out), (Rows{{0, 0, 1, 1, 1}, {0, 0, 1, 3, 1}, {0, 1, 0, 2.5F, 0}, {1, 0, 0, 4, 0}}));
}

TEST(CsvImport, integer_labels) {
    Imported kept("1,0\n2,1\n3,2\n4,0\n");
    EXPECT_TRUE(kept.run().manifest.class_names.empty());
    EXPECT_EQ(all_rows(kept.options.out), (Rows{{1, 0}, {2, 1}, {3, 2}, {4, 0}}));
    Imported mapped("1,10\n2,-3\n3,10.0\n4,7\n");
    EXPECT_EQ(mapped.run().manifest.class_names, (std::vector<std::string>{"-3", "7", "10"}));
    EXPECT_EQ(all_rows(mapped.options.out), (Rows{{1, 2}, {2, 0}, {3, 2}, {4, 1}}));
}

TEST(CsvImport, header_is_found_or_forced) {
    Imported found("a,b\n1,0\n2,1\n");
    EXPECT_EQ(found.run().manifest.origin.provenance.at("header"), Json(true));
    Imported none("1,x\n2,y\n3,x\n4,y\n");
    EXPECT_EQ(none.run().manifest.origin.provenance.at("header"), Json(false));
    EXPECT_EQ(all_rows(none.options.out).size(), 4U);
    Imported forced("1,0\n2,1\n3,0\n");
    forced.options.header = CsvHeader::present;
    EXPECT_EQ(forced.run().manifest.origin.provenance.at("features").dump(), R"(["1"])");
    EXPECT_EQ(all_rows(forced.options.out), (Rows{{2, 1}, {3, 0}}));
    Imported absent("a,b\nb,c\na,c\nb,b\n");
    absent.options.header = CsvHeader::absent;
    EXPECT_EQ(absent.run().manifest.origin.provenance.at("features").dump(), R"(["column 0=a","column 0=b"])");
    EXPECT_EQ(all_rows(absent.options.out).size(), 4U);
}

TEST(CsvImport, label_by_name_or_index) {
    for (auto const* label : {"kind", "0"}) {
        Imported import("kind,a,b\n0,10,20\n1,30,40\n");
        import.options.label = {label};
        import.run();
        EXPECT_EQ(all_rows(import.options.out), (Rows{{10, 20, 0}, {30, 40, 1}}));
    }
}

TEST(CsvImport, several_files) {
    Imported import("a,b\n1,0\n2,1\n");
    write_text(import.dir / "b.csv",
               "\xEF\xBB\xBF"
               "a,b\r\n3,0\r\n4,1\r\n");
    import.options.sources.push_back(import.dir / "b.csv");
    import.run();
    EXPECT_EQ(all_rows(import.options.out), (Rows{{1, 0}, {2, 1}, {3, 0}, {4, 1}}));
    import.options.out = import.dir / "out2";
    write_text(import.dir / "b.csv", "c,b\n3,0\n");
    EXPECT_EQ(thrown<DataError>([&] { import.run(); }, import.dir.path()),
              "b.csv:1: the header differs from that of a.csv; import files with the same columns only");
}

TEST(CsvImport, regression) {
    Imported import("a,y\n1,0.5\n2,-1.5\n300,2\n4,1e3\n");
    import.options.task = Task::regression;
    import.options.standardise = false;
    auto const manifest = import.run().manifest;
    EXPECT_EQ(manifest.task, Task::regression);
    EXPECT_EQ(manifest.outputs, 1);
    EXPECT_EQ(all_rows(import.options.out), (Rows{{1, 0.5F}, {2, -1.5F}, {4, 1000}, {300, 2}}));
}

TEST(CsvImport, missing_values_become_the_training_mean) {
    Imported import("a,c,y\n1,u,0\n3,v,1\n,u,0\n5,?,1\nNA,v,0\n9,u,1\nNaN,v,1\n11,u,0\n");
    import.options.missing = MissingValues::mean;
    auto const manifest = import.run().manifest;
    EXPECT_EQ(manifest.type, FeatureType::float32);
    double sum = 0, present = 0;
    std::vector<float> filled;
    for (auto const& file : manifest.train) {
        auto const shard = read_shard(import.options.out, file, manifest);
        for (std::size_t r = 0; r < static_cast<std::size_t>(shard.rows); ++r) {
            float value;
            std::memcpy(&value, shard.features.data() + r * 12, 4);
            if (value == std::floor(value) && static_cast<int>(value) % 2 == 1) {  // the source has odd values only
                sum += value;
                ++present;
            }
        }
    }
    int rows_with_mean = 0, rows_without_category = 0;
    for (auto const& row : all_rows(import.options.out)) {
        ASSERT_TRUE(std::isfinite(row[0]));
        rows_with_mean += row[0] == static_cast<float>(sum / present);
        rows_without_category += row[1] == 0 && row[2] == 0;
    }
    EXPECT_GE(rows_with_mean, 3);
    EXPECT_EQ(rows_without_category, 1);
    EXPECT_NEAR(manifest.features.mean[0], sum / present, 1e-12);
}

TEST(CsvImport, rows_with_missing_values_can_be_dropped) {
    Imported import("a,c,y\n1,u,0\n3,v,1\n,z,0\n5,?,1\n7,v,\n9,u,0\n2,v,1\n");
    import.options.missing = MissingValues::drop;
    auto const report = import.run();
    EXPECT_EQ(report.dropped_rows, 3);
    EXPECT_EQ(report.manifest.type, FeatureType::uint8);
    EXPECT_EQ(all_rows(import.options.out), (Rows{{1, 1, 0, 0}, {2, 0, 1, 1}, {3, 0, 1, 1}, {9, 1, 0, 0}}));
}

TEST(CsvImport, constant_features_have_stddev_one) {
    Imported import("a,b,y\n5,1,0\n5,2,1\n5,3,0\n5,4,1\n");
    auto const manifest = import.run().manifest;
    EXPECT_EQ(manifest.features.mean[0], 5);
    EXPECT_EQ(manifest.features.stddev[0], 1);
    EXPECT_GT(manifest.features.stddev[1], 0);
}

struct BadCsv {
    std::string name, text, message;
};

class BadCsvs : public ::testing::TestWithParam<BadCsv> {};

TEST_P(BadCsvs, are_refused_with_file_and_line) {
    EXPECT_EQ(Imported(GetParam().text).error<DataError>(), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadCsvs,
    ::testing::Values(
        BadCsv{"empty", "", "a.csv: the file is empty"},
        BadCsv{"one_column", "a;b\n1;2\n",
               "a.csv: only one column (a row needs features and a label); choose --delimiter ';'"},
        BadCsv{"one_column_tabs", "a\tb\n1\t2\n",
               "a.csv: only one column (a row needs features and a label); choose --delimiter tab"},
        BadCsv{"one_column_only", "a\n1\n2\n",
               "a.csv: only one column (a row needs features and a label); separate the cells by commas, or choose "
               "--delimiter"},
        BadCsv{"ragged", "a,b\n1,2\n\n1,2,3\n", "a.csv:4: 3 cells (the first record of a.csv has 2); add or remove cells"},
        BadCsv{"quote", "a,b\n\"1,2\n",
               "a.csv:2: a quote (\") that opens in this record is never closed; close it, or double it inside a cell"},
        BadCsv{"missing", "a,b\n1,2\n,3\n?,4\n",
               "a.csv:3: column 'a' has no value here (2 missing in all); fill it in, or choose --missing mean or --missing "
               "drop"},
        BadCsv{"missing_without_header", "NA,2\n1,3\n",
               "a.csv:1: column 'column 0' has no value here (1 missing in all); fill it in, or choose --missing mean or "
               "--missing drop"},
        BadCsv{"missing_label", "a,b\n1,2\n2,\n",
               "a.csv:3: label 'b' has no value here (1 missing in all); fill it in, or choose --missing drop"},
        BadCsv{"infinite", "a,b\n1,2\ninf,3\n", "a.csv:3: 'inf' in column 'a' is not a finite float32 number; correct it"},
        BadCsv{"huge", "a,b\n1,2\n-1e39,3\n", "a.csv:3: '-1e39' in column 'a' is not a finite float32 number; correct it"},
        BadCsv{"fraction_label", "a,b\n1,2\n2,2.5\n",
               "a.csv:3: label '2.5' in column 'b' is not an integer (a class); use --regression to predict numbers, or "
               "choose another --label"},
        BadCsv{"one_class", "a,b\n1,x\n2,x\n", "a.csv:2: every row has the label 'x' in column 'b'; choose another --label"},
        BadCsv{"semicolons_and_a_comma", "a;b\n1;x\n2;y\n3,5;z\n",
               "a.csv:4: 2 cells (the first record of a.csv has 1); choose --delimiter ';'"},
        BadCsv{"no_value", "a,b\n,1\n,2\n",
               "a.csv: column 'a' has no value in any row; remove the column, or choose --drop a"}),
    [](auto const& row) { return row.param.name; });

TEST(CsvImport, a_target_that_never_changes_is_refused) {
    Imported import("a,b,c\n1,7,5.0\n2,8,5\n3,9,5\n");
    import.options.task = Task::regression;
    EXPECT_EQ(import.error<DataError>(), "a.csv: every row has the target 5 in column 'c'; choose another --label");
    import.options.label = {"b", "c"};
    auto const manifest = import.run().manifest;
    EXPECT_EQ(manifest.outputs, 2);
    EXPECT_EQ(std::ranges::count(manifest.origin.decisions, "column 'c': the same number in every row"), 1);
}

TEST(CsvImport, a_typing_error_in_a_long_column_of_numbers_is_named) {
    std::string text = "a,b\n";
    for (int i = 0; i < 1100; ++i)
        text += (i == 500 ? std::string("1.2.3") : std::to_string(i)) + "," + std::to_string(i % 2) + "\n";
    EXPECT_EQ(
        Imported(text).error<DataError>(),
        "a.csv:502: '1.2.3' in column 'a' is not a number (1099 of 1100 cells are, 1 not); correct it, or choose --type "
        "a=category or --drop a");
}

struct BadOption {
    std::string name;
    void (*set)(ImportCsvOptions&);
    std::string message;
};

class BadOptions : public ::testing::TestWithParam<BadOption> {};

TEST_P(BadOptions, are_refused_before_anything_is_written) {
    Imported import("aa,bb,cc\n1,2,0\n3,4,1\n5,6,0\n7,8,1\n");
    GetParam().set(import.options);
    EXPECT_EQ(import.error<ConfigError>(), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadOptions,
    ::testing::Values(
        BadOption{"shards", [](auto& o) { o.shards = 0; }, "--shards 0: must be at least 1"},
        BadOption{"language", [](auto& o) { o.task = Task::language; },
                  "tokens are not rows of features; use 'hopscotch data import tokens'"},
        BadOption{"two_classes", [](auto& o) { o.label = {"aa", "cc"}; },
                  "--label aa and 1 more: a class is one column (several are targets); add --regression or "
                  "--multilabel"},
        BadOption{"label_twice",
                  [](auto& o) {
                      o.label = {"aa", "0"};
                      o.task = Task::regression;
                  },
                  "--label aa: named twice; name each column once"},
        BadOption{"only_labels",
                  [](auto& o) {
                      o.label = {"aa", "bb", "cc"};
                      o.task = Task::regression;
                  },
                  "--label: every column is a label (a row needs features too); name fewer"},
        BadOption{"one_bucket", [](auto& o) { o.hash_buckets = 1; },
                  "--hash-buckets 1: must be between 2 and 2^24 (0: one-hot)"},
        BadOption{"category_name",
                  [](auto& o) {
                      o.hash_buckets = 9;
                      o.columns = {{"categorical", "ab", ColumnType::category}};
                  },
                  "--categorical ab: no such column (a.csv has aa, bb, cc); did you mean aa?"},
        BadOption{"category_label",
                  [](auto& o) {
                      o.hash_buckets = 9;
                      o.task = Task::regression;
                      o.columns = {{"categorical", "cc", ColumnType::category}};
                  },
                  "--categorical cc: is a label; name a feature"},
        BadOption{"many_shards", [](auto& o) { o.shards = 3; },
                  "--shards 3: 2 training rows (4 rows, --valid 0.5) cannot fill 3 shards; use at most 2 shards"},
        BadOption{"shape", [](auto& o) { o.shape = "1x3"; },
                  "--shape 1x3: 3 elements (the file has 2 feature columns); choose a shape with 2 elements"},
        BadOption{"shape_text", [](auto& o) { o.shape = "1x"; },
                  "--shape 1x: expected up to four sizes with an x between them, such as 1x8x8"},
        BadOption{"label", [](auto& o) { o.label = {"c"}; },
                  "--label c: no such column (a.csv has aa, bb, cc); did you mean cc?"},
        BadOption{"label_index", [](auto& o) { o.label = {"3"}; },
                  "--label 3: no such column (a.csv has aa, bb, cc); give a column's name, or its index from 0"}),
    [](auto const& row) { return row.param.name; });

TEST(CsvImport, never_overwrites) {
    Imported import("a,b\n1,0\n2,1\n");
    std::filesystem::create_directory(import.options.out);
    import.run();  // an empty directory is as good as none
    auto const before = read_bytes(import.options.out / "dataset.json");
    EXPECT_EQ(thrown<ConfigError>([&] { import.run(); }, import.dir.path()),
              "out: exists already (an import never overwrites); remove it or choose another --out");
    EXPECT_EQ(read_bytes(import.options.out / "dataset.json"), before);
}

}  // namespace csv_import_test
}  // namespace hopscotch
