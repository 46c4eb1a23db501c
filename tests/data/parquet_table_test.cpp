// SPDX-License-Identifier: Apache-2.0
// Programs that stand in for Python with pyarrow: parquet_to_csv() ends them, and reads what they tell. (The real one is in
// tests/e2e/parquet_test.py.)
#include "data/import/csv/parquet_table.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/error.hpp"
#include "data/support.hpp"

namespace hopscotch {
namespace parquet_table_test {

namespace fs = std::filesystem;

struct Stand {
    TemporaryDirectory dir;
    ParquetWishes wishes;

    explicit Stand(std::string const& program) {
        wishes.python = (dir / "python3").string();
        write_text(wishes.python, "#!/bin/sh\n" + program);
        fs::permissions(wishes.python, fs::perms::owner_all);
    }
    ParquetTable read() const { return parquet_to_csv(dir / "t.parquet", dir / "t.csv", wishes); }
    std::string error() const {
        return thrown<DataError>([&] { read(); }, dir.path());
    }
};

TEST(ParquetTable, is_what_the_program_tells) {
    Stand const stand(
        "test \"$1 $2\" = '-I -c' || exit 9\n"
        R"(echo '{"by": "pyarrow 20", "rows": 2, "columns": [)"
        R"({"name": "zip", "type": "string", "kind": "category", "empty": 1, "words": 2, "blanks": 3},)"
        R"({"name": "l", "type": "list", "kind": "other", "empty": 0, "words": 0, "blanks": 0}]}' > "$6")");
    auto const table = stand.read();
    EXPECT_EQ(table.by, "pyarrow 20");
    EXPECT_EQ(table.rows, 2);
    ASSERT_EQ(table.columns.size(), 2U);
    EXPECT_EQ(table.columns[0].kind, ParquetKind::category);
    EXPECT_EQ(table.columns[0].blanks, 3);
    EXPECT_EQ(table.columns[1].kind, ParquetKind::other);
}

TEST(ParquetTable, a_silent_program_is_killed) {
    Stand stand("echo some > \"$5\"\nexec sleep 1000\n");
    stand.wishes.silent_s = 0.05;
    EXPECT_EQ(stand.error(),
              "t.parquet: is a Parquet file, and python3 wrote nothing for 0.05 s (it was killed); "
              "try again, or save the table as CSV text");
}

TEST(ParquetTable, what_poll_throws_ends_the_program) {
    Stand stand("exec sleep 1000\n");
    stand.wishes.poll = [] { throw ConfigError("interrupted"); };
    EXPECT_THROW(stand.read(), ConfigError);
}

TEST(ParquetTable, nonsense_is_an_error_that_names_the_source) {
    for (auto const* const answer : {"{\"by\": 1}", "{\"by\": \"x\", \"rows\": 2}", "nonsense", ""}) {
        auto const error = Stand(fmt::format("echo '{}' > \"$6\"\n", answer)).error();
        EXPECT_TRUE(error.starts_with("t.parquet: is a Parquet file, and python3 with pyarrow must read it, and fails ("))
            << error;
    }
}

}  // namespace parquet_table_test
}  // namespace hopscotch
