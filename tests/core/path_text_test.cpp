// SPDX-License-Identifier: Apache-2.0
#include "core/path_text.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace hopscotch {
namespace path_text_test {

TEST(PathText, NamesThatNoFileCanHave) {
    std::string const long_name(300, 'x'), limit(255, 'x'), made(230, 'x');
    EXPECT_EQ(too_long("runs/" + long_name + "/a", PathUse::made),
              "the name \"xxxxxxxxxxxxxxxxxxxx...\" has 300 bytes (at most 230 are possible); choose a shorter name");
    EXPECT_EQ(too_long(limit, PathUse::found), "");
    EXPECT_NE(too_long(limit, PathUse::made), "") << "files beside it have longer names";
    EXPECT_EQ(too_long(made + "/" + made, PathUse::made), "");
    std::string deep;
    for (int i = 0; i < 1000; ++i) deep += "abcd/";
    EXPECT_EQ(too_long(deep, PathUse::found),
              "the path \"abcd/abcd/abcd/abcd/...\" has 5000 bytes (at most 4095 are possible); choose a shorter path");
    std::string umlauts;
    for (int i = 0; i < 150; ++i) umlauts += "\u00e4";
    EXPECT_EQ(too_long("a" + umlauts, PathUse::found).substr(0, 33), "the name \"a" + umlauts.substr(0, 18) + "...\"")
        << "cut between letters";
    EXPECT_EQ(too_long("", PathUse::made), "");
}

TEST(PathText, HomeIsExpandedAndOtherUsersAreRefused) {
    std::string const before = std::getenv("HOME") != nullptr ? std::getenv("HOME") : "";
    ::setenv("HOME", "/home/me", 1);
    EXPECT_EQ(with_home("~").path, "/home/me");
    EXPECT_EQ(with_home("~/runs/a b").path, "/home/me/runs/a b");
    for (auto const* path : {"runs/~", "a~", "./~anna", "", "/~"}) {
        EXPECT_EQ(with_home(path).path, path);
        EXPECT_EQ(with_home(path).problem, "");
    }
    EXPECT_EQ(with_home("~anna/runs").problem,
              "~anna is not known (only ~ and ~/ are: your own home directory); write the whole path, or ./~anna for a file "
              "of that name");
    ::unsetenv("HOME");
    EXPECT_EQ(with_home("~/x").problem, "~ has no meaning here (HOME is not set); write the whole path");
    ::setenv("HOME", before.c_str(), 1);
}

}  // namespace path_text_test
}  // namespace hopscotch
