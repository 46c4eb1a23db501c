// SPDX-License-Identifier: Apache-2.0
#include "cli/common/wrapped_text.hpp"

#include <gtest/gtest.h>

namespace hopscotch {
namespace wrapped_text_test {

TEST(Wrapped, LongLinesGoOnUnderTheirLastColumn) {
    EXPECT_EQ(wrapped("", 20), "");
    EXPECT_EQ(wrapped("short\n\nlines\n", 20), "short\n\nlines\n");
    EXPECT_EQ(wrapped("one two three four five six", 10), "one two\nthree four\nfive six");
    EXPECT_EQ(wrapped("  --out FILE  The file to write into\n  --no\n", 24),
              "  --out FILE  The file\n"
              "to write into\n"
              "  --no\n")
        << "a column beyond the middle leaves no room";
    EXPECT_EQ(wrapped("  -o F  The file to write\n", 16),
              "  -o F  The file\n"
              "        to write\n");
}

TEST(Wrapped, ALongWordStaysWhole) {
    EXPECT_EQ(wrapped("a_word_of_more_columns and", 10), "a_word_of_more_columns\nand");
    EXPECT_EQ(wrapped("  x  /a/path/that/is/long then", 14), "  x  /a/path/that/is/long\n     then");
}

}  // namespace wrapped_text_test
}  // namespace hopscotch
