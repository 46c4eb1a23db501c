// SPDX-License-Identifier: Apache-2.0
#include "data/import/csv/csv_reader.hpp"

#include <gtest/gtest.h>

#include "data/support.hpp"

namespace hopscotch {
namespace csv_reader_test {

using Records = std::vector<std::vector<std::string>>;

Records read_all(std::filesystem::path const& path, std::vector<std::int64_t>* lines = nullptr) {
    CsvReader reader(path);
    std::vector<std::string_view> cells;
    Records out;
    while (reader.next(cells)) {
        out.emplace_back(cells.begin(), cells.end());
        if (lines != nullptr) lines->push_back(reader.line());
    }
    return out;
}

struct CsvCase {
    std::string name, text;
    Records records;
};

class CsvTexts : public ::testing::TestWithParam<CsvCase> {};

TEST_P(CsvTexts, are_split) {
    TemporaryDirectory const dir;
    write_text(dir / "a.csv", GetParam().text);
    EXPECT_EQ(read_all(dir / "a.csv"), GetParam().records);
}

INSTANTIATE_TEST_SUITE_P(Table, CsvTexts,
                         ::testing::Values(CsvCase{"plain", "a,b\n1,2\n", {{"a", "b"}, {"1", "2"}}},  //
                                           CsvCase{"no_last_newline", "a,b\n1,2", {{"a", "b"}, {"1", "2"}}},
                                           CsvCase{"crlf", "a,b\r\n1,2\r\n", {{"a", "b"}, {"1", "2"}}},
                                           CsvCase{"bom",
                                                   "\xEF\xBB\xBF"
                                                   "a,b\n",
                                                   {{"a", "b"}}},
                                           CsvCase{"empty_file", "", {}}, CsvCase{"short_file", "a", {{"a"}}},
                                           CsvCase{"empty_cells", ",a,\n,,\n", {{"", "a", ""}, {"", "", ""}}},
                                           CsvCase{"empty_lines", "a,b\n\n\r\n1,2\n", {{"a", "b"}, {"1", "2"}}},
                                           CsvCase{"blanks", " a , b\t\n", {{"a", "b"}}},
                                           CsvCase{"quotes", "\"a,b\",\"c \"\"d\"\"\"\n", {{"a,b", "c \"d\""}}},
                                           CsvCase{"blank_before_quote", "1, \"a,b\" ,2\n", {{"1", "a,b", "2"}}},
                                           CsvCase{"empty_quotes", "\"\",\"\"\"\"\n", {{"", "\""}}},
                                           CsvCase{"newline_in_quotes", "\"a\nb\",1\r\n2,3\n", {{"a\nb", "1"}, {"2", "3"}}},
                                           CsvCase{"doubled_before_newline", "\"a\"\"\nb\",1\n", {{"a\"\nb", "1"}}},
                                           CsvCase{"quote_inside", "5\" pipe,1\n", {{"5\" pipe", "1"}}},
                                           // As Python's csv module: only a cell that begins with a quote is quoted.
                                           CsvCase{"doubled_in_unquoted", "5\"\"x,1\n2,3\n", {{"5\"\"x", "1"}, {"2", "3"}}},
                                           CsvCase{"doubled_at_the_end", "5\"\"\n2\n", {{"5\"\""}, {"2"}}},
                                           CsvCase{
                                               "tripled", "5\"\"\"x,\"1\n2\"\n3,4\n", {{"5\"\"\"x", "1\n2"}, {"3", "4"}}},
                                           CsvCase{"four_quotes", "5\"\"\"\",6\n2,3\n", {{"5\"\"\"\"", "6"}, {"2", "3"}}}),
                         [](auto const& row) { return row.param.name; });

TEST(CsvReader, lines_are_counted_through_quotes_and_empty_lines) {
    TemporaryDirectory const dir;
    write_text(dir / "a.csv", "a\n\n\"b\nc\"\nd\n");
    std::vector<std::int64_t> lines;
    read_all(dir / "a.csv", &lines);
    EXPECT_EQ(lines, (std::vector<std::int64_t>{1, 3, 5}));
}

TEST(CsvReader, bad_quotes_name_file_and_line) {
    TemporaryDirectory const dir;
    write_text(dir / "a.csv", "a,b\n1,\"2\n3,4\n");
    EXPECT_EQ(thrown<DataError>([&] { read_all(dir / "a.csv"); }, dir.path()),
              "a.csv:2: a quote (\") that opens in this record is never closed; close it, or double it inside a cell");
    write_text(dir / "a.csv", "a,b\n\"1\"x,2\n");
    EXPECT_EQ(thrown<DataError>([&] { read_all(dir / "a.csv"); }, dir.path()),
              "a.csv:2: text behind a closing quote (\") in cell 1; double the quotes inside a cell");
    write_text(dir / "a.csv", "a,b\n\"1\"x\"\"y,2\n");
    EXPECT_EQ(thrown<DataError>([&] { read_all(dir / "a.csv"); }, dir.path()),
              "a.csv:2: text behind a closing quote (\") in cell 1; double the quotes inside a cell");
    EXPECT_EQ(thrown<DataError>([&] { CsvReader(dir / "b.csv"); }, dir.path()),
              "b.csv: cannot be read; check the path and its permissions");
    EXPECT_EQ(thrown<DataError>([&] { CsvReader(dir.path()); }, dir.path().parent_path()),
              dir.path().filename().string() + ": cannot be read; check the path and its permissions");
}

}  // namespace csv_reader_test
}  // namespace hopscotch
