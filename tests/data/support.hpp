// SPDX-License-Identifier: Apache-2.0
// A directory of its own for each test, and the small helpers that the data tests share.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "core/error.hpp"

namespace hopscotch {

class TemporaryDirectory {
public:
    TemporaryDirectory() {
        auto const* test = ::testing::UnitTest::GetInstance()->current_test_info();
        path_ = std::filesystem::temp_directory_path() /
                (std::string("hopscotch-") + test->test_suite_name() + "-" + test->name() + "-" + std::to_string(getpid()));
        for (auto& c : name_ = path_.filename().string())
            if (c == '/') c = '_';
        path_ = std::filesystem::temp_directory_path() / name_;
        std::filesystem::remove_all(path_);
        std::filesystem::create_directories(path_);
    }
    ~TemporaryDirectory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryDirectory(TemporaryDirectory const&) = delete;
    TemporaryDirectory& operator=(TemporaryDirectory const&) = delete;
    std::filesystem::path operator/(std::string const& name) const { return path_ / name; }
    std::filesystem::path const& path() const { return path_; }

private:
    std::string name_;
    std::filesystem::path path_;
};

inline void write_text(std::filesystem::path const& path, std::string const& text) {
    std::ofstream(path, std::ios::binary) << text;
}

inline std::string read_bytes(std::filesystem::path const& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

// What a call throws, which must be exactly an Exception; "" if nothing. Directory names are cut out of the text.
template <class Exception, class Call>
std::string thrown(Call call, std::filesystem::path const& directory = {}) {
    try {
        call();
    } catch (Exception const& error) {
        std::string text = error.what();
        auto const prefix = directory.string() + "/";
        while (!directory.empty() && text.find(prefix) != text.npos) text.erase(text.find(prefix), prefix.size());
        return text;
    }
    return "";
}

}  // namespace hopscotch
