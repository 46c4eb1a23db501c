// SPDX-License-Identifier: Apache-2.0
#include "core/file.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/error.hpp"

namespace hopscotch {
namespace file_test {

class FileTest : public ::testing::Test {
protected:
    FileTest() {
        auto name = (std::filesystem::temp_directory_path() / "hopscotch-file-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) throw Error("no temporary directory");
        folder_ = name;
    }
    ~FileTest() override { std::filesystem::remove_all(folder_); }
    std::filesystem::path holding(std::string_view text) const {
        std::ofstream(folder_ / "file", std::ios::binary) << text;
        return folder_ / "file";
    }
    template <class Work>
    static std::string complaint(Work const& work) {
        try {
            work();
        } catch (DataError const& error) {
            return error.what();
        }
        return "none";
    }

    std::filesystem::path folder_;
};

TEST_F(FileTest, LinesOfEveryLengthComeOneAfterAnother) {
    std::vector<std::string> wanted{"", "one", std::string(3 << 20, 'x'), "", std::string((1 << 20) - 1, 'y'), "last"};
    for (int i = 0; i < 300'000; ++i) wanted.push_back(std::string(static_cast<std::size_t>(i % 10), 'z'));
    std::string text;
    for (auto const& line : wanted) text += line + "\n";
    LineReader lines(holding(text + "torn"));
    std::vector<std::string> found;
    while (auto const line = lines.next()) {
        found.emplace_back(*line);
        ASSERT_EQ(static_cast<std::size_t>(lines.number()), found.size());
    }
    EXPECT_EQ(found, wanted);
    EXPECT_EQ(lines.bytes_of_lines(), text.size()) << "a text without a line end is not a line";
    EXPECT_EQ(lines.next(), std::nullopt) << "nor does it become one";
    EXPECT_EQ(read_whole(folder_ / "file"), text + "torn");
}

TEST_F(FileTest, ALineWithoutEndIsRefused) {
    auto const path = holding("first\n" + std::string(18 << 20, 'x'));
    LineReader lines(path);
    EXPECT_EQ(lines.next(), "first");
    EXPECT_NE(complaint([&] { lines.next(); }).find("file:2: the line is longer than 16777216 bytes"), std::string::npos);
}

TEST_F(FileTest, HolesAreNoText) {
    auto const path = holding("{}\n");
    std::filesystem::resize_file(path, std::uintmax_t{1} << 40);
    EXPECT_NE(complaint([&] { read_whole(path); }).find("is not a text (it contains a zero byte)"), std::string::npos);
    LineReader lines(path);
    EXPECT_EQ(lines.next(), "{}");
    EXPECT_NE(complaint([&] { lines.next(); }).find("file:2: the line is longer"), std::string::npos);
}

// A file system that had made the file longer, but had not written the new bytes yet.
TEST_F(FileTest, TheZerosOfAPowerCutAreNoLine) {
    auto const path = holding("one\ntwo\n");
    std::filesystem::resize_file(path, 3 << 20);
    LineReader lines(path);
    EXPECT_EQ(lines.next(), "one");
    EXPECT_EQ(lines.next(), "two");
    EXPECT_EQ(lines.next(), std::nullopt);
    EXPECT_EQ(lines.bytes_of_lines(), 8U);
}

TEST_F(FileTest, OnlyFilesAreRead) {
    auto const pipe = folder_ / "pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    std::filesystem::create_symlink("/dev/zero", folder_ / "link");
    for (auto const& path : {folder_, pipe, folder_ / "link"})
        for (auto const& said : {complaint([&] { read_whole(path); }), complaint([&] { hash_file(path); }),
                                 complaint([&] { LineReader(path).next(); })})
            EXPECT_NE(said.find("cannot be read (it is not a file)"), std::string::npos) << path << said;
    EXPECT_NE(complaint([&] { read_whole(folder_ / "absent"); }).find("No such file"), std::string::npos);
}

}  // namespace file_test
}  // namespace hopscotch
