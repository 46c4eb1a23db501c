// SPDX-License-Identifier: Apache-2.0
#include "core/durable_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "core/error.hpp"
#include "core/file.hpp"

namespace hopscotch {
namespace durable_file_test {

// Files of this process may not grow beyond that; a write that would is cut short, and the next one fails: as on a disk that
// is full.
class NoMoreThan {
public:
    explicit NoMoreThan(rlim_t bytes) {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        auto limit = before_;
        limit.rlim_cur = bytes;
        ::setrlimit(RLIMIT_FSIZE, &limit);
        handler_ = std::signal(SIGXFSZ, SIG_IGN);
    }
    ~NoMoreThan() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }

private:
    rlimit before_{};
    void (*handler_)(int) = SIG_DFL;
};

// Files of this process are refused as to a plain user, also if the tests run as root.
class PlainUser {
public:
    static constexpr uid_t k_other = 65534;
    explicit PlainUser(std::filesystem::path const& folder) {
        if (before_ == 0 && (::chown(folder.c_str(), k_other, k_other) != 0 || ::seteuid(k_other) != 0))
            ADD_FAILURE() << "cannot become a plain user";
    }
    ~PlainUser() { EXPECT_EQ(::seteuid(before_), 0); }

private:
    uid_t before_ = ::geteuid();
};

// The directory cannot be opened, and so not be synced.
TEST(WriteAtomically, ADirectoryThatCannotBeOpenedLeavesTheOldFile) {
    auto const folder = std::filesystem::temp_directory_path() / ("hopscotch-folder-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    write_atomically(folder / "facts.json", "old");
    {
        PlainUser const user(folder);
        std::filesystem::permissions(folder, std::filesystem::perms::owner_write | std::filesystem::perms::owner_exec);
        EXPECT_THROW(write_atomically(folder / "facts.json", "new"), IoError);
        EXPECT_EQ(read_whole(folder / "facts.json"), "old");
        EXPECT_FALSE(std::filesystem::exists(folder / "facts.json.tmp"));
        std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
    }
    std::filesystem::remove_all(folder);
}

// A job that stood still must not write over the files of the job after it, even if it had looked before.
TEST(WriteAtomically, AnOwnerOfBeforeChangesNothing) {
    auto const folder = std::filesystem::temp_directory_path() / ("hopscotch-owner-" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder);
    std::filesystem::create_directory(folder);
    AppendFile const journal(folder / "journal");
    auto const owner = journal.identity();
    write_atomically(folder / "a", "first", &owner);
    replace_quickly(folder / "b", "first", &owner);
    write_atomically(folder / "journal", "of the next");
    write_atomically(folder / "a", "second", &owner);
    replace_quickly(folder / "b", "second", &owner);
    EXPECT_EQ(read_whole(folder / "a"), "first");
    EXPECT_EQ(read_whole(folder / "b"), "first");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 3) << "a temporary file is left";
    std::filesystem::remove_all(folder);
}

TEST(RunFiles, LinksLeadNowhere) {
    auto const folder = std::filesystem::temp_directory_path() / ("hopscotch-links-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder / "elsewhere");
    write_atomically(folder / "file", "kept");
    std::filesystem::create_symlink(folder / "file", folder / "link");
    EXPECT_THROW(AppendFile(folder / "link"), IoError);
    EXPECT_EQ(read_whole(folder / "file"), "kept");
    ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
    EXPECT_THROW(AppendFile(folder / "pipe"), IoError) << "which does not wait for a reader";
    EXPECT_EQ(make_folders(folder, "best/trial-0"), folder / "best/trial-0");
    EXPECT_EQ(make_folders(folder, "best/trial-0"), folder / "best/trial-0") << "is there";
    std::filesystem::create_directory_symlink(folder / "elsewhere", folder / "best/trial-1");
    std::filesystem::create_directory_symlink(folder / "nothing", folder / "tb");
    for (auto const* below : {"best/trial-1", "best/trial-1/deeper", "tb/trial-0", "file"})
        EXPECT_THROW(make_folders(folder, below), DataError) << below;
    EXPECT_TRUE(std::filesystem::is_empty(folder / "elsewhere"));
    std::filesystem::remove_all(folder);
}

// Half a line in the middle of a journal would make its run one that cannot be resumed.
TEST(AppendFile, ALineThatDoesNotFitLeavesNothing) {
    auto const path = std::filesystem::temp_directory_path() / ("hopscotch-lines-" + std::to_string(::getpid()));
    AppendFile file(path);
    file.append("first\n");
    {
        NoMoreThan const limit(6 + 10);
        EXPECT_THROW(file.append(std::string(100, 'x') + "\n"), IoError);
        EXPECT_EQ(read_whole(path), "first\n");
        EXPECT_THROW(file.append(std::string(100, 'x') + "\n"), IoError);
        file.append("short\n");
    }
    file.append("last\n");
    EXPECT_EQ(read_whole(path), "first\nshort\nlast\n");
    std::filesystem::remove(path);
}

}  // namespace durable_file_test
}  // namespace hopscotch
