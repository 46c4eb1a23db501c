// SPDX-License-Identifier: Apache-2.0
#include "rundir/checkpoint.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/rng.hpp"
#include "rundir/records.hpp"

namespace hopscotch {
namespace checkpoint_test {

using namespace testing;

std::vector<std::byte> some_state(std::size_t bytes) {
    std::vector<std::byte> state(bytes);
    Rng rng(7);
    for (auto& each : state) each = static_cast<std::byte>(rng.next_u32());
    return state;
}

Checkpoint some_checkpoint() {
    Checkpoint out;
    out.run_id = "a-run";
    out.record = first_trial();
    out.place = {4, 1, 16};
    out.rows = 512;
    out.loss_sum = 0.1 + 0.2;
    out.layout_hash = 0xfedcba9876543210ULL;
    out.parts = some_state(37);
    return out;
}

std::string complaint_about(std::filesystem::path const& path) {
    try {
        CheckpointFile(path).verify();
    } catch (DataError const& error) {
        return error.what();
    }
    return {};
}

TEST(Checkpoint, ComesBackBitForBit) {
    Scratch scratch;
    auto const state = some_state(1000000);
    auto const path = scratch / "c.ckpt";
    write_checkpoint(path, some_checkpoint(), state);
    CheckpointFile const file(path);
    EXPECT_EQ(file.about().run_id, "a-run");
    EXPECT_EQ(file.about().place, (Place{4, 1, 16}));
    EXPECT_EQ(file.about().rows, 512);
    EXPECT_EQ(file.about().loss_sum, 0.1 + 0.2);
    EXPECT_EQ(file.about().layout_hash, 0xfedcba9876543210ULL);
    EXPECT_EQ(file.about().record.units.size(), 2U);
    EXPECT_EQ(file.about().record.units[1].state_hash, first_trial().units[1].state_hash);
    std::vector<std::byte> back(file.state_bytes());
    file.read_state(back);
    EXPECT_EQ(back, state);
    EXPECT_EQ(file.about().parts, some_state(37));
}

TEST(Checkpoint, PlacesAreOrderedByWhatHasBeenTrained) {
    EXPECT_LT((Place{3, 7, 99}), (Place{4, 0, 0}));
    EXPECT_LT((Place{4, 1, 99}), (Place{4, 2, 0}));
    EXPECT_LT((Place{4, 1, 15}), (Place{4, 1, 16}));
}

// Whatever single byte changes and wherever the file is cut: refused, by name.
TEST(Checkpoint, EveryBitAndEveryByteCounts) {
    Scratch scratch;
    auto const path = scratch / "c.ckpt";
    write_checkpoint(path, some_checkpoint(), some_state(640));
    auto const whole = slurp(path);
    ASSERT_EQ(complaint_about(path), "");
    for (std::size_t at = 0; at < whole.size(); ++at) {
        auto damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
        write(path, damaged);
        ASSERT_NE(complaint_about(path).find("c.ckpt: "), std::string::npos) << "byte " << at;
        write(path, whole.substr(0, at));
        ASSERT_NE(complaint_about(path).find("c.ckpt: "), std::string::npos) << "cut at " << at;
    }
    write(path, whole + "x");
    EXPECT_NE(complaint_about(path), "");
}

// The holes of a file take no room on the disk, but would in memory.
TEST(Checkpoint, AFileFarLongerThanItsStateIsRefused) {
    Scratch scratch;
    auto const path = scratch / "c.ckpt";
    write_checkpoint(path, some_checkpoint(), some_state(640));
    auto const most = most_checkpoint_bytes(640, 3);
    EXPECT_NO_THROW(CheckpointFile(path, most).verify());
    std::filesystem::resize_file(path, most + 1);
    try {
        CheckpointFile const file(path, most);
        FAIL() << "memory was taken for it";
    } catch (DataError const& error) {
        EXPECT_NE(std::string(error.what()).find("c.ckpt: is too long for a state of this run"), std::string::npos);
    }
}

std::vector<std::string> names_in(std::filesystem::path const& folder) {
    std::vector<std::string> names;
    for (auto const& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
    return names;
}

TEST(Checkpoint, WhatCannotBeWrittenLeavesTheOldFileAndNothingElse) {
    Scratch scratch;
    auto const path = scratch / "c.ckpt";
    write(path / "old", "in the way of the new file");
    EXPECT_THROW(write_checkpoint(path, some_checkpoint(), some_state(64)), Error);
    EXPECT_EQ(slurp(path / "old"), "in the way of the new file");
    EXPECT_EQ(names_in(scratch.path()), std::vector<std::string>{"c.ckpt"});
    EXPECT_THROW(write_checkpoint(scratch / "absent" / "c.ckpt", some_checkpoint(), some_state(64)), Error);
}

// A trainer saves a place in the background and sends the state on; the next trainer saves the same place. Each may be the
// first to have it written, and the file is whole at every moment from then on.
TEST(Checkpoint, TwoWritersOfOnePlaceDoNotDisturbEachOther) {
    Scratch scratch;
    auto const path = scratch / "c.ckpt";
    auto const writer = [&] {
        std::string complaints;
        for (int i = 0; i < 100; ++i) try {
                write_checkpoint(path, some_checkpoint(), some_state(300000));
                CheckpointFile(path).verify();
            } catch (Error const& error) {
                complaints += error.what() + std::string("\n");
            }
        return complaints;
    };
    auto other = std::async(std::launch::async, writer);
    EXPECT_EQ(writer(), "");
    EXPECT_EQ(other.get(), "");
    EXPECT_EQ(names_in(scratch.path()), std::vector<std::string>{"c.ckpt"});
}

TEST(Checkpoint, TheUmaskSaysWhoMayReadIt) {
    Scratch scratch;
    auto const before = ::umask(027);
    write_checkpoint(scratch / "c.ckpt", some_checkpoint(), some_state(64));
    ::umask(before);
    EXPECT_EQ(static_cast<int>(std::filesystem::status(scratch / "c.ckpt").permissions()), 0640);
}

TEST(Checkpoint, NamesDifferWhereverTheContentMay) {
    auto const one = some_checkpoint();
    EXPECT_EQ(checkpoint_name(one, 1), "checkpoints/trial-00000-e0004-s0001-b000016-i1.ckpt");
    EXPECT_EQ(checkpoint_name(one, 3), "checkpoints/trial-00000-e0004-s0001-b000016-i3.ckpt");
}

// Written with checksums that fit, by whoever wants to be read.
TEST(Checkpoint, PlacesThatCannotBeAreRefused) {
    Scratch scratch;
    auto const path = scratch / "c.ckpt";
    auto const refused = [&](auto const& change) {
        auto bad = some_checkpoint();
        change(bad);
        write_checkpoint(path, bad, some_state(64));
        return complaint_about(path).starts_with(path.string() + ": ");
    };
    EXPECT_FALSE(refused([](Checkpoint&) {}));
    EXPECT_TRUE(refused([](Checkpoint& c) { c.place.epoch = -1; }));
    EXPECT_TRUE(refused([](Checkpoint& c) { c.place.step = -1; }));
    EXPECT_TRUE(refused([](Checkpoint& c) { c.place.batch = -1; }));
    EXPECT_TRUE(refused([](Checkpoint& c) { c.record.trial = TrialId(-1); }));
    EXPECT_TRUE(refused([](Checkpoint& c) { c.record.units[0].shard = ShardId(-1); }));
}

TEST(Checkpoint, LinksAndPipesAreNotFollowed) {
    Scratch scratch;
    write_checkpoint(scratch / "real", some_checkpoint(), some_state(64));
    std::filesystem::create_symlink(scratch / "real", scratch / "link");
    EXPECT_NE(complaint_about(scratch / "link").find("link: cannot open"), std::string::npos);
    ASSERT_EQ(::mkfifo((scratch / "pipe").c_str(), 0600), 0);
    EXPECT_NE(complaint_about(scratch / "pipe").find("pipe: "), std::string::npos);
}

}  // namespace checkpoint_test
}  // namespace hopscotch
