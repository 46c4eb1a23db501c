// SPDX-License-Identifier: Apache-2.0
#include "data/dataset/stage.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "core/error.hpp"
#include "tiny_dataset.hpp"

namespace hopscotch {
namespace stage_test {

namespace fs = std::filesystem;

class Stage : public ::testing::Test {
protected:
    Stage() : manifest_(read_manifest(testing::make_tiny_dataset(source_, 2, 20))) {}

    ShardFile const& file() const { return manifest_.train.front(); }
    fs::path copy() const { return stage_file(source_, file(), manifest_, stage_) / file().file; }
    std::string refusal(fs::path const& stage) const {
        try {
            stage_file(source_, file(), manifest_, stage);
        } catch (DataError const& error) {
            return error.what();
        }
        return "";
    }
    static void damage(fs::path const& path) {
        std::fstream out(path, std::ios::in | std::ios::out | std::ios::binary);
        out.seekp(100);
        out.put('!');
    }
    std::size_t files() const {
        return static_cast<std::size_t>(std::distance(fs::recursive_directory_iterator(stage_), {})) - 1;
    }

    testing::TemporaryDirectory scratch_;
    fs::path source_ = scratch_.path() / "shared", stage_ = scratch_.path() / "local";
    Manifest manifest_;
};

TEST_F(Stage, CopiesOnceAndMendsWhatIsDamaged) {
    auto const path = copy();
    EXPECT_EQ(fs::file_size(path), fs::file_size(source_ / file().file));
    fs::remove(source_ / file().file);  // the copy is enough
    EXPECT_EQ(copy(), path);
    EXPECT_EQ(files(), 1U);
    damage(path);
    EXPECT_NE(refusal(stage_).find("cannot be copied"), std::string::npos) << "a damaged copy does not count";
}

TEST_F(Stage, ADamagedSourceIsNamedAndLeavesNothing) {
    damage(source_ / file().file);
    auto const text = refusal(stage_);
    EXPECT_EQ(text.find((source_ / file().file).string()), 0U) << text;
    EXPECT_NE(text.find("does not have the hash"), std::string::npos) << text;
    EXPECT_EQ(files(), 0U);
}

TEST_F(Stage, NoRoomIsAnErrorThatNamesBothPlaces) {
    auto const text = refusal("/proc/nowhere");
    EXPECT_NE(text.find("/proc/nowhere"), std::string::npos) << text;
    EXPECT_NE(text.find("data.stage"), std::string::npos) << text;
}

// In containers that share a disk, process ids repeat: what a killed process left is not in the way of the next.
TEST_F(Stage, UnfinishedCopiesOfAnotherProcessDoNotMatter) {
    auto const path = copy();
    fs::remove(path);
    for (int i = 0; i < 100; ++i)
        std::ofstream(path.string() + "." + std::to_string(::getpid()) + "-" + std::to_string(i) + ".tmp") << "half";
    EXPECT_EQ(refusal(stage_), "");
    EXPECT_EQ(fs::file_size(path), fs::file_size(source_ / file().file));
}

TEST_F(Stage, ManyAtOnce) {
    std::vector<std::thread> trainers;
    for (int i = 0; i < 8; ++i) trainers.emplace_back([this] { copy(); });
    for (auto& trainer : trainers) trainer.join();
    EXPECT_EQ(files(), 1U);
    EXPECT_EQ(refusal(stage_), "");
}

}  // namespace stage_test
}  // namespace hopscotch
