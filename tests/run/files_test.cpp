// SPDX-License-Identifier: Apache-2.0
#include "run/files.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "core/error.hpp"
#include "core/file.hpp"
#include "tiny_dataset.hpp"

namespace hopscotch {
namespace files_test {

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

// Half a line in the middle of a journal would make its run one that cannot be resumed.
TEST(AppendFile, ALineThatDoesNotFitLeavesNothing) {
    testing::TemporaryDirectory const scratch;
    auto const path = scratch.path() / "lines";
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
}

}  // namespace files_test
}  // namespace hopscotch
