// SPDX-License-Identifier: Apache-2.0
// What people's tables are like: each kind of trap in several forms. Nothing is changed in silence.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "data/import/csv/csv_columns.hpp"
#include "data/import/readable_sources.hpp"
#include "data/imported_csv.hpp"

namespace hopscotch {
namespace csv_kinds_test {

std::string repeated(std::string const& rows, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += rows;
    return out;
}

// 1: a header that looks like data.
struct HeaderCase {
    std::string name, text;
    bool header;
    std::string decision;
};

class Headers : public ::testing::TestWithParam<HeaderCase> {};

TEST_P(Headers, are_found_by_evidence) {
    Imported import(GetParam().text);
    if (GetParam().name == "regression_of_continuous_numbers") import.options.task = Task::regression;
    auto const report = import.run();
    EXPECT_EQ(report.manifest.origin.provenance.at("header"), Json(GetParam().header));
    EXPECT_EQ(report.manifest.origin.decisions.at(0), GetParam().decision);
}

INSTANTIATE_TEST_SUITE_P(
    Table, Headers,
    ::testing::Values(
        HeaderCase{"texts", "plan,churned\n" + repeated("yes,no\nno,yes\n", 30), true,
                   "header (line 1: 'plan' occurs nowhere below)"},
        HeaderCase{"frame_without_names", "0,1,2\n" + repeated("0.5,3,7\n0.25,4,8\n", 3), true,
                   "header (line 1 counts the columns)"},
        HeaderCase{"frame_with_index", ",0,1\n0,0.5,7\n1,0.25,8\n2,0.75,7\n3,0.1,8\n", true,
                   "header (line 1 counts the columns)"},
        HeaderCase{"years", "id,2019,2020,y\n7,3,4,0\n8,4,5,1\n9,5,6,0\n6,1,2,1\n", true,
                   "header (line 1: 'id' stands above numbers)"},
        HeaderCase{"iris", "5.1,3.5,setosa\n4.9,3.0,setosa\n7.0,3.2,virginica\n6.4,3.1,virginica\n", false,
                   "no header (line 1 has texts that occur below, such as 'setosa')"},
        HeaderCase{"numbers", "3,1,0\n4,1,1\n5,9,0\n2,6,1\n", false, "no header (line 1 has numbers, as the lines below)"},
        HeaderCase{"regression_of_continuous_numbers", "3.25,1.5\n4.125,1.75\n5.5,9.25\n2.5,6.125\n", false,
                   "no header (line 1 has numbers, as the lines below)"},
        HeaderCase{"two_small_numbers", "0,1\n1,0\n2,1\n3,0\n", false, "no header (line 1 has numbers that occur below)"},
        HeaderCase{"the_first_row_twice", "1,x\n2,y\n1,x\n4,y\n3,x\n", false,
                   "no header (line 1 has texts that occur below, such as 'x')"}),
    [](auto const& row) { return row.param.name; });

struct UnclearCase {
    std::string name, text, message;
};

class UnclearHeaders : public ::testing::TestWithParam<UnclearCase> {};

TEST_P(UnclearHeaders, are_asked_for) {
    EXPECT_EQ(Imported(GetParam().text).error<ConfigError>(),
              "a.csv: is line 1 a header or a row? (" + GetParam().message + "); add --header yes or --header no");
    for (auto const header : {CsvHeader::present, CsvHeader::absent}) {
        Imported import(GetParam().text);
        import.options.header = header;
        EXPECT_NO_THROW(import.run());
    }
}

INSTANTIATE_TEST_SUITE_P(Table, UnclearHeaders,
                         ::testing::Values(UnclearCase{"a_name_beside_a_class", "Anna,x\nBob,y\nCarl,x\nDora,y\n",
                                                       "'Anna' occurs nowhere below, but 'x' occurs below too"},
                                           UnclearCase{"a_rare_class", "5.1,rare\n4.9,x\n5.1,y\n6.4,x\n7,y\n",
                                                       "'rare' occurs nowhere below, but '5.1' occurs below too"},
                                           UnclearCase{"a_name_beside_a_fraction",
                                                       "Anna,1.75,x\nBob,2.5,x\nCarl,3.5,y\nBob,4.5,y\n",
                                                       "'Anna' occurs nowhere below, but '1.75' is not a name"},
                                           UnclearCase{"a_count_that_occurs_below", "0,1,2\n0,1,0\n3,4,1\n5,1,0\n",
                                                       "it counts 0, 1, ..., and some of these numbers occur below"}),
                         [](auto const& row) { return row.param.name; });

// 2: texts that are not UTF-8.
TEST(CsvEncodings, other_bytes_are_refused_with_their_line) {
    auto const cure =
        ": text that is not UTF-8; choose --encoding latin-1 (or windows-1252, ...), or save the file as UTF-8";
    EXPECT_EQ(Imported("a,b\n1,caf\xE9\n2,th\xE9\n").error<DataError>(), std::string("a.csv:2") + cure);
    EXPECT_EQ(Imported("gr\xF6\xDF"
                       "e,b\n1,x\n2,y\n")
                  .error<DataError>(),
              std::string("a.csv:1") + cure);
    EXPECT_EQ(Imported("a,b\n1,x\n2,\xC3\n").error<DataError>(), std::string("a.csv:3") + cure);
    EXPECT_EQ(Imported("a,b\n1,x\n2,\xED\xA0\x80\n").error<DataError>(), std::string("a.csv:3") + cure) << "a surrogate";
}

TEST(CsvEncodings, are_decoded_when_they_are_named) {
    Imported import(
        "stadt,y\nMalm\xF6,s\xFC"
        "d\nG\xF6teborg,nord\nMalm\xF8,s\xFC"
        "d\nG\xF6teborg,nord\n");
    ReadableSources const sources(import.options.sources, "latin-1");
    import.options.sources = sources.paths();
    auto const manifest = import_csv_files(import.options).manifest;
    EXPECT_EQ(manifest.class_names, (std::vector<std::string>{"nord",
                                                              "s\xC3\xBC"
                                                              "d"}));
    EXPECT_EQ(manifest.origin.provenance.at("categories").at("stadt").array().size(), 3U);
}

TEST(CsvEncodings, names_that_nobody_knows) {
    Imported import("a,b\n1,0\n2,1\n");
    EXPECT_EQ(thrown<ConfigError>([&] { ReadableSources(import.options.sources, "latn"); }, import.dir.path()),
              "--encoding latn: no such encoding; choose a name that 'iconv -l' lists, such as latin-1, windows-1252 or "
              "UTF-16");
}

// 3: numbers that float32 cannot hold.
TEST(CsvNumbers, offsets_keep_large_numbers_apart) {
    Imported import(
        "t,ns,f,y\n1700000000,1700000000000000001,1000000.001,0\n1700000001,1700000000000000002,1000000.002,1\n"
        "1700000003,1700000000000000004,1000000.003,0\n1700000004,1700000000000000003,1000000.004,1\n");
    auto const report = import.run();
    EXPECT_EQ(report.manifest.features.offset, (std::vector<double>{1700000000, 1.7e18, 1000000}));
    EXPECT_TRUE(decided(report.manifest, "column 't': 1700000000 is subtracted, as float32 has 24 bits"));
    auto const rows = all_rows(import.options.out);
    std::vector<float> seconds, nanoseconds, fractions;
    for (auto const& row : rows) {
        seconds.push_back(row[0]);
        nanoseconds.push_back(row[1]);
        fractions.push_back(row[2]);
    }
    std::ranges::sort(nanoseconds);
    EXPECT_EQ(seconds, (std::vector<float>{0, 1, 3, 4}));
    EXPECT_EQ(nanoseconds, (std::vector<float>{1, 2, 3, 4})) << "64-bit integers are subtracted exactly";
    std::ranges::sort(fractions);
    EXPECT_NEAR(fractions[3], 0.004F, 1e-6F);
}

TEST(CsvNumbers, losses_are_told) {
    Imported ids("id,y\n1000000000000000001,0\n5,1\n1000000000000000002,0\n7,1\n");
    EXPECT_TRUE(decided(ids.run().manifest,
                        "column 'id': integers that differ by less than 68719476736 can become equal (float32 "
                        "has 24 bits)"));
    Imported close("v,y\n0.123456789,0\n0.1234567891,1\n0.1234567892,0\n9.5,1\n");
    EXPECT_TRUE(decided(close.run().manifest,
                        "column 'v': about 67 % of its different values become equal to another one (float32 "
                        "has 24 bits)"));
}

TEST(CsvNumbers, targets_are_stored_in_deviations_from_their_mean) {
    std::string const text = "a,price\n1,100000000.5\n2,100000001.5\n3,100000002.5\n4,100000003.5\n";
    Imported import(text);
    import.options.task = Task::regression;
    import.options.valid = 0;
    auto const manifest = import.run().manifest;
    EXPECT_EQ(manifest.targets.mean, std::vector<double>{100000002});
    ASSERT_EQ(manifest.targets.stddev.size(), 1U);
    EXPECT_DOUBLE_EQ(manifest.targets.stddev[0], std::sqrt(1.25));
    auto const rows = all_rows(import.options.out);
    for (std::size_t i = 0; i < rows.size(); ++i)
        EXPECT_NEAR(target_in_units(manifest, 0, static_cast<double>(rows[i][1])), 100000000.5 + static_cast<double>(i),
                    1e-6);
    auto const again = read_manifest(import.options.out);
    EXPECT_EQ(again.targets.mean, manifest.targets.mean);
    EXPECT_EQ(again.targets.stddev, manifest.targets.stddev);
    Imported raw(text);
    raw.options.task = Task::regression;
    raw.options.standardise = false;
    EXPECT_TRUE(raw.run().manifest.targets.mean.empty());
}

// 4: labels that are codes.
TEST(CsvLabels, codes_are_not_numbers) {
    auto const classes = [](std::string const& text) {
        Imported import(text);
        return import.run().manifest.class_names;
    };
    EXPECT_EQ(classes("a,zip\n1,02134\n2,2134\n3,02134\n4,2134\n"), (std::vector<std::string>{"02134", "2134"}));
    EXPECT_EQ(classes("a,y\n1,9007199254740992\n2,9007199254740993\n3,9007199254740992\n4,9007199254740993\n"),
              (std::vector<std::string>{"9007199254740992", "9007199254740993"}));
    EXPECT_EQ(classes("a,y\n1,18446744073709551615\n2,18446744073709551614\n3,-5\n4,-5\n"),
              (std::vector<std::string>{"-5", "18446744073709551614", "18446744073709551615"}));
    EXPECT_EQ(classes("a,y\n1,184467440737095516150\n2,184467440737095516151\n3,1\n4,1\n"),
              (std::vector<std::string>{"1", "184467440737095516150", "184467440737095516151"}));
    Imported kept("a,y\n1,00\n2,0\n3,00\n4,0\n");
    kept.options.columns = {{"type", "y", ColumnType::category}};
    EXPECT_EQ(kept.run().manifest.class_names, (std::vector<std::string>{"0", "00"}));
}

// 8: equal names.
TEST(CsvNames, equal_ones_are_refused) {
    EXPECT_EQ(Imported("x,label,label\n1,2,0\n2,3,1\n").error<DataError>(),
              "a.csv: columns 1 and 2 (from 0) have the same name, 'label'; rename one of them");
    EXPECT_EQ(Imported("x,,,y\n1,2,3,0\n2,3,4,1\n").error<DataError>(),
              "a.csv: columns 1 and 2 (from 0) have the same name, ''; rename one of them");
    EXPECT_EQ(Imported("\"x\", x,y\n1,2,0\n2,3,1\n").error<DataError>(),
              "a.csv: columns 0 and 1 (from 0) have the same name, 'x'; rename one of them");
}

// 11: odd cells.
struct OddCase {
    std::string name, cell, cells, found;
};

class OddCells : public ::testing::TestWithParam<OddCase> {};

TEST_P(OddCells, are_named) {
    std::string text = "a,w\n";
    for (int i = 0; i < 30; ++i) text += std::to_string(i % 2) + "," + std::to_string(i) + "\n";
    auto const& [name, cell, cells, found] = GetParam();
    Imported import(text + cells);
    import.options.label = {"a"};
    EXPECT_EQ(import.error<DataError>(),
              "a.csv:32: '" + cell + "' in column 'w' " + found + ", or choose --type w=category or --drop w");
    Imported as_category(text + cells);
    as_category.options.label = {"a"};
    as_category.options.columns = {{"type", "w", ColumnType::category}};
    EXPECT_NO_THROW(as_category.run());
}

INSTANTIATE_TEST_SUITE_P(
    Table, OddCells,
    ::testing::Values(OddCase{"unit", "12 kg", "1,12 kg\n", "is not a number (30 of 31 cells are, 1 not); correct it"},
                      OddCase{"word", "none", "0,none\n", "is not a number (30 of 31 cells are, 1 not); correct it"},
                      OddCase{"separators", "1,234", "1,\"1,234\"\n1,\"2,345\"\n1,\"1,111\"\n1,\"9,234\"\n",
                              "is written for people (34 of 34 cells are numbers like it); write plain numbers"},
                      OddCase{"percent", "5%", "1,5%\n1,6%\n1,7%\n1,8%\n",
                              "is written for people (34 of 34 cells are numbers like it); write plain numbers"},
                      OddCase{"minus",
                              "\xE2\x88\x92"
                              "5",
                              "1,\xE2\x88\x92"
                              "5\n1,\xE2\x88\x92"
                              "6\n1,\xE2\x88\x92"
                              "7\n1,\xE2\x88\x92"
                              "8\n",
                              "is written for people (34 of 34 cells are numbers like it); write plain numbers"}),
    [](auto const& row) { return row.param.name; });

TEST(CsvOddCells, spreadsheets_have_words_for_nothing) {
    for (auto const* word : {"#N/A", "N/A", "NULL", "<NA>"})
        EXPECT_NE(Imported(std::string("a,b\n1,0\n") + word + ",1\n").error<DataError>().find("no value here"),
                  std::string::npos)
            << word;
}

TEST(CsvOddCells, a_column_with_many_texts_is_a_category_and_says_so) {
    Imported import("v,y\n1,0\nx,1\n2,0\nx,1\n");
    EXPECT_TRUE(decided(import.run().manifest, "column 'v': category, 3 values (2 of 4 cells are numbers; 'x', " +
                                                   (import.dir / "a.csv").string() + ":3, is the first that is not)"));
}

TEST(CsvOddCells, a_second_header_is_refused) {
    EXPECT_EQ(Imported("a,b\n1,0\n2,1\na,b\n3,0\n4,1\n").error<DataError>(),
              "a.csv:4: the header again, as a row (tables joined end to end?); remove the line, or choose --header no");
    EXPECT_EQ(Imported("a,b\nx,u\ny,v\na,b\nx,v\n").error<DataError>(),
              "a.csv:4: the header again, as a row (tables joined end to end?); remove the line, or choose --header no");
}

// Columns that the options describe.
TEST(CsvColumns, are_dropped_without_a_look) {
    Imported import("id,a,note,y\nu1,1,,0\nu2,2,x,1\nu3,3,,0\nu4,4,\"free text\",1\n");
    import.options.columns = {{"drop", "id", ColumnType::dropped}, {"drop", "note", ColumnType::dropped}};
    import.options.missing = MissingValues::drop;
    auto const report = import.run();
    EXPECT_EQ(report.manifest.origin.provenance.at("features").dump(), R"(["a"])");
    EXPECT_EQ(report.dropped_rows, 0) << "a gap in a column that is dropped is none";
    EXPECT_EQ(report.manifest.origin.provenance.at("dropped").dump(), R"(["id","note"])");
}

TEST(CsvColumns, dates_become_days) {
    Imported import("when,y\n1970-01-02,0\n1970-01-03T12:00:00Z,1\n1970/01/05 06:00,0\n1970-01-01T01:00:00+01:00,1\n");
    import.options.columns = {{"date", "when", ColumnType::date}};
    import.run();
    EXPECT_EQ(all_rows(import.options.out), (Rows{{0, 1}, {1, 0}, {2.5, 1}, {4.25, 0}}));
    Imported bad("when,y\n2024-02-30,0\n2024-02-28,1\n");
    bad.options.columns = {{"date", "when", ColumnType::date}};
    EXPECT_EQ(bad.error<DataError>(),
              "a.csv:2: '2024-02-30' in column 'when' is not a date such as 2024-05-31T12:30:00; correct "
              "it, or choose another --type");
}

TEST(CsvColumns, all_gaps_are_named_at_once) {
    EXPECT_EQ(
        Imported("a,b,y\n1,,0\n,2,1\n,3,0\n").error<DataError>(),
        "a.csv:3: column 'a' has no value here (2 missing in all)\na.csv:2: column 'b' has no value here (1 missing in "
        "all); fill them in, or choose --missing mean or --missing drop");
}

TEST(CsvColumns, other_delimiters) {
    for (char const delimiter : {';', '\t', '|'}) {
        std::string text = "a,b,y\n1,\"x,;|\",0\n2,z,1\n3,,0\n4,z,1\n";
        auto const quoted = text.find("x,");
        for (std::size_t i = 0; i < text.size(); ++i)
            if (text[i] == ',' && i != quoted + 1) text[i] = delimiter;
        Imported import(text);
        import.options.delimiter = delimiter;
        import.options.missing = MissingValues::drop;
        EXPECT_EQ(import.run().manifest.origin.provenance.at("categories").dump(), R"({"b":["x,;|","z"]})");
    }
}

TEST(CsvAccount, one_class_of_nearly_all_rows_is_named) {
    auto const said = [](int rare, std::string const& others) {
        std::string text = "a,y\n";
        for (int i = 0; i < 100; ++i) text += std::to_string(i) + (i < rare ? "," + others : ",no") + "\n";
        Imported import(text);
        import.options.valid = 0;
        std::string out;
        for (auto const& sentence : import.run().manifest.origin.decisions)
            if (sentence.find(" % of the training rows ") != sentence.npos) out += sentence;
        return out;
    };
    EXPECT_EQ(said(1, "yes"),
              "99 % of the training rows have the class 'no': a model that always says so has this accuracy; search.metric "
              "val_f1 or val_auc tells more");
    EXPECT_EQ(said(9, "yes").substr(0, 4), "91 %");
    EXPECT_EQ(said(10, "yes"), "");
    std::string three = "a,y\n0,maybe\n1,yes\n";
    for (int i = 2; i < 100; ++i) three += std::to_string(i) + ",no\n";
    Imported import(three);
    import.options.valid = 0;
    EXPECT_TRUE(decided(import.run().manifest,
                        "98 % of the training rows have the class 'no': a model that always says so has this accuracy; "
                        "search.metric val_f1 tells more"));
}

TEST(CsvAccount, classes_without_validation_rows_are_named) {
    Imported import("a,y\n1,p\n2,p\n3,p\n4,p\n5,rare\n");
    import.options.stratify = true;
    import.options.valid = 0.4;
    auto const report = import.run();
    EXPECT_TRUE(decided(report.manifest, "no validation row of class 'rare'")) << report.manifest.origin.decisions.back();
    EXPECT_EQ(report.manifest.class_rows.valid.back(), 0);
    EXPECT_EQ(read_manifest(import.options.out).origin.decisions, report.manifest.origin.decisions);
}

TEST(CsvNumbers, the_elements_of_a_picture_have_no_offsets_of_their_own) {
    Imported import("a,b,y\n1700000000,1700000300,0\n1700000001,1700000400,1\n");
    import.options.shape = "1x1x2";
    auto const manifest = import.run().manifest;
    EXPECT_EQ(manifest.features.offset, std::vector<double>{});
    EXPECT_TRUE(
        decided(manifest, "column 'a': integers that differ by less than 128 can become equal (float32 has 24 bits)"));
}

TEST(CsvNumbers, an_offset_that_no_import_writes) {
    CsvColumn column;
    column.kind = ColumnKind::number;
    column.offset = 1e300;
    double value = 0;
    EXPECT_EQ(read_value(column, "17", value), CellKind::number);
    EXPECT_EQ(value, -1e300);
}

TEST(CsvColumns, are_one_thing_only) {
    Imported import("a,b,y\n1,2,0\n3,4,1\n");
    import.options.columns = {{"drop", "a", ColumnType::dropped}, {"id", "0", ColumnType::dropped}};
    EXPECT_EQ(import.run().manifest.row_size(), 1);
    std::filesystem::remove_all(import.options.out);
    import.options.columns = {{"id", "a", ColumnType::dropped}, {"type", "0", ColumnType::number}};
    EXPECT_EQ(import.error<ConfigError>(), "--id a and --type 0: the same column (it can be one thing only); choose one");
}

// 13: sources that are not regular files.
TEST(ReadableSources, pipes_and_gzip_are_copied) {
    Imported import("a,b\n1,0\n2,1\n");
    auto const pipe = import.dir / "pipe";
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    std::thread writer([&] { write_text(pipe, "a,b\n1,0\n2,1\n3,0\n4,1\n"); });
    auto const packed = import.dir / "b.csv.gz";
    auto* const file = gzopen(packed.c_str(), "wb");
    gzputs(file, "a,b\n5,0\n6,1\n");
    gzclose(file);
    {
        ReadableSources const sources({pipe, packed}, "");
        writer.join();
        import.options.sources = sources.paths();
        import.run();
        EXPECT_EQ(sources.by_source(sources.paths()[1].string() + ":3: bad"), packed.string() + ":3: bad");
    }
    EXPECT_EQ(all_rows(import.options.out).size(), 6U);
    EXPECT_FALSE(std::filesystem::exists(import.options.sources[0])) << "a copy was left";
}

TEST(ReadableSources, leave_nothing_when_copying_fails) {
    Imported import("a,b\n1,0\n2,1\n");
    auto const packed = import.dir / "b.csv.gz", damaged = import.dir / "c.csv.gz", copies = import.dir / "copies";
    auto* const file = gzopen(packed.c_str(), "wb");
    gzputs(file, "a,b\n5,0\n6,1\n");
    gzclose(file);
    std::filesystem::copy_file(packed, damaged);
    std::filesystem::resize_file(damaged, 20);
    std::filesystem::create_directory(copies);
    auto const* const before = getenv("TMPDIR");
    std::string const old = before == nullptr ? "/tmp" : before;
    setenv("TMPDIR", copies.c_str(), 1);
    EXPECT_EQ(thrown<DataError>([&] { ReadableSources({packed, damaged}, ""); }, import.dir.path()),
              "c.csv.gz: cannot be unpacked (it ends too early); is it damaged?");
    EXPECT_TRUE(std::filesystem::is_empty(copies));
    auto const stopped = [] { throw Error("stopped"); };
    EXPECT_EQ(thrown<Error>([&] { ReadableSources({packed}, "", stopped); }, import.dir.path()), "stopped");
    EXPECT_TRUE(std::filesystem::is_empty(copies));
    setenv("TMPDIR", old.c_str(), 1);
}

}  // namespace csv_kinds_test
}  // namespace hopscotch
