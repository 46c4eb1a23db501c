// SPDX-License-Identifier: Apache-2.0
// Files that are not valid CSV, or an odd kind of it.
#include <gtest/gtest.h>

#include "data/imported_csv.hpp"

namespace hopscotch {
namespace csv_robustness_test {

std::string with_nul() { return std::string("a,b\n1,0\n2,1") + '\0' + "\n"; }

TEST(CsvRobustness, carriage_returns_end_lines) {
    Imported import("a,b\r1,0\r2,1\r3,0\r4,1");
    import.run();
    EXPECT_EQ(all_rows(import.options.out), (Rows{{1, 0}, {2, 1}, {3, 0}, {4, 1}}));
    EXPECT_EQ(Imported("a,b\r1,0\r2\r").error<DataError>(),
              "a.csv:3: 1 cells (the first record of a.csv has 2); add or remove cells");
}

TEST(CsvRobustness, a_byte_order_mark_is_no_part_of_the_header) {
    Imported import(
        "\xEF\xBB\xBF"
        "a,b\n1,0\n2,1\n");
    import.options.label = {"a"};
    EXPECT_EQ(import.run().manifest.origin.provenance.at("features").dump(), R"(["b"])");
}

TEST(CsvRobustness, nul_bytes_and_utf16_are_named) {
    EXPECT_EQ(Imported(with_nul()).error<DataError>(),
              "a.csv:3: a NUL byte (UTF-16, or a binary file); save it as UTF-8 text");
    EXPECT_EQ(Imported(std::string("\xFF\xFE"
                                   "a\0,\0b\0\n\0",
                                   10))
                  .error<DataError>(),
              "a.csv: is UTF-16; save it as UTF-8, or choose --encoding UTF-16");
}

TEST(CsvRobustness, a_header_without_rows) {
    Imported import("a,b\n");
    import.options.header = CsvHeader::present;
    EXPECT_EQ(import.error<DataError>(), "a.csv: column 'a' has no value in any row; remove the column, or choose --drop a");
    import.options.missing = MissingValues::drop;
    EXPECT_EQ(import.error<DataError>(),
              "a.csv: column 'a' has no value in any row that is kept; remove the column, or choose --drop a");
    EXPECT_EQ(Imported("a,b\n").error<DataError>(),
              "a.csv: column 'a' has no value in any row; remove the column, or choose --drop a");
}

TEST(CsvRobustness, a_label_that_only_some_rows_have) {
    std::string text = "a,kind\n";
    for (int i = 0; i < 40; ++i) text += std::to_string(i) + (i == 17 ? ",rare\n" : i % 2 == 0 ? ",even\n" : ",odd\n");
    Imported import(text);
    import.options.valid = 0.25;
    auto const manifest = import.run().manifest;
    EXPECT_EQ(manifest.class_names, (std::vector<std::string>{"even", "odd", "rare"}));
    int rare = 0;
    for (auto const& row : all_rows(import.options.out)) rare += row[1] == 2 && row[0] == 17;
    EXPECT_EQ(rare, 1);
    EXPECT_EQ(Imported("a,b\n1,x\n2,y\n3,\n4,x\n").error<DataError>(),
              "a.csv:4: label 'b' has no value here (1 missing in all); fill it in, or choose --missing drop");
}

TEST(CsvRobustness, too_many_columns) {
    std::string line((1 << 20) + 1, ',');  // one cell more than commas
    EXPECT_EQ(
        Imported(line + "\n" + line + "\n").error<DataError>(),
        "a.csv: 1048578 columns (at most 1048576; a table with that many is probably transposed); remove columns, or import "
        "an npy array");
}

TEST(CsvRobustness, ten_thousand_columns) {
    std::string text;
    for (int row = 0; row < 4; ++row) {
        for (int i = 0; i < 10000; ++i) text += std::to_string((i * 7 + row) % 9) + ",";
        text += std::to_string(row % 2) + "\n";
    }
    Imported import(text);
    EXPECT_EQ(import.run().manifest.shape, (std::vector<std::int64_t>{10000}));
    auto const rows = all_rows(import.options.out);
    ASSERT_EQ(rows.size(), 4U);
    for (auto const& row : rows) EXPECT_EQ(row[9999], static_cast<float>((static_cast<int>(row[0]) + 9999 * 7) % 9));
}

TEST(CsvRobustness, a_file_without_line_ends_does_not_swallow_the_memory) {
    EXPECT_EQ(Imported(std::string((64 << 20) + 100, 'a')).error<DataError>(),
              "a.csv:1: a record of more than 64 MiB (a quote that is never closed, or no CSV); check the file");
}

TEST(CsvRobustness, long_cells_survive) {
    std::string const cell(200'000, 'x');
    Imported import("t,y\n" + cell + ",0\nshort,1\n" + cell + ",1\nshort,0\n");
    EXPECT_EQ(import.run().manifest.origin.provenance.at("categories").at("t").array()[1], Json(cell));
}

}  // namespace csv_robustness_test
}  // namespace hopscotch
