// SPDX-License-Identifier: Apache-2.0
// The copies that new rows are read from. (What is read is the matter of tests/e2e/new_rows_test.py.)
#include "data/import/csv/csv_new_rows.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>

#include "data/imported_csv.hpp"

namespace hopscotch {
namespace csv_new_rows_test {

// A signal during the predictions would leave them.
TEST(CsvNewRows, copies_are_gone_when_rows_are_opened) {
    Imported import("x,y\n1,0\n2,1\n3,0\n4,1\n");
    auto const manifest = import.run().manifest;
    auto const packed = import.dir / "new.csv.gz";
    auto* const file = gzopen(packed.c_str(), "wb");
    gzputs(file, "x,y\n5,0\n6,0\n");
    gzclose(file);
    auto const copies = import.dir / "copies";
    std::filesystem::create_directory(copies);
    auto const* const before = getenv("TMPDIR");
    std::string const old = before == nullptr ? "/tmp" : before;
    setenv("TMPDIR", copies.c_str(), 1);
    bool copied = false;
    CsvNewRowsOptions options{packed, "", {}, false, [&] { copied = copied || !std::filesystem::is_empty(copies); }};
    auto const rows = new_csv_rows(options, manifest);
    EXPECT_TRUE(copied);
    EXPECT_TRUE(std::filesystem::is_empty(copies));
    EXPECT_EQ(rows->next(9).ids, (std::vector<std::string>{"0", "1"}));
    setenv("TMPDIR", old.c_str(), 1);
}

}  // namespace csv_new_rows_test
}  // namespace hopscotch
