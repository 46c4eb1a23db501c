// SPDX-License-Identifier: Apache-2.0
// A module's tests are one program. --files=rng_test,json_test runs those of these source files.
#pragma once
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

namespace hopscotch::testing {

// Call after InitGoogleTest. Ends the program with 2 if a file has no test: a misspelt name must not pass.
inline void select_files(int argc, char** argv) {
    constexpr std::string_view option = "--files=";
    if (argc < 2 || !std::string_view(argv[1]).starts_with(option)) return;
    std::string filter;
    std::string_view names = std::string_view(argv[1]).substr(option.size());
    auto const& program = *::testing::UnitTest::GetInstance();
    for (bool last = false; !last;) {
        auto const comma = names.find(',');
        last = comma == names.npos;
        std::string const stem(names.substr(0, comma));
        auto const before = filter.size();
        for (int i = 0; i < program.total_test_suite_count(); ++i) {
            auto const& suite = *program.GetTestSuite(i);
            for (int j = 0; j < suite.total_test_count(); ++j) {
                auto const& test = *suite.GetTestInfo(j);
                if (std::filesystem::path(test.file()).stem() != stem) continue;
                filter.append(filter.empty() ? "" : ":").append(suite.name()).append(".").append(test.name());
            }
        }
        if (filter.size() == before) {
            std::fprintf(stderr, "no test of %s.cpp is in this program\n", stem.c_str());
            std::exit(2);
        }
        if (!last) names.remove_prefix(comma + 1);
    }
    GTEST_FLAG_SET(filter, filter);
}

}  // namespace hopscotch::testing
