// SPDX-License-Identifier: Apache-2.0
#include "strategy/trainer/checkpointer.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <future>
#include <mutex>

#include "comm/codec.hpp"
#include "core/clock.hpp"
#include "strategy/common/lap_codec.hpp"
#include "tiny_dataset.hpp"

namespace hopscotch {
namespace checkpointer_test {

namespace fs = std::filesystem;

class CheckpointerTest : public ::testing::Test {
protected:
    CheckpointerTest() { fs::create_directories(run_dir_ / "checkpoints"); }  // as rank 0 does
    std::unique_ptr<Checkpointer> make(double every_s, double mbps = 0) {
        CheckpointTarget const target{run_dir_, "run", 1, every_s, mbps};
        return std::make_unique<Checkpointer>(target, *pool_, [this](SavedState const& saved) {
            std::lock_guard const lock(mutex_);
            saved_.push_back(saved);
        });
    }
    static Checkpoint at(int trial, int epoch, int step = 0) {
        Checkpoint about;
        about.place = {epoch, step, 0};
        about.record.trial = TrialId(trial);
        about.record.epoch = epoch;
        return about;
    }
    static std::vector<std::byte> state(int value) { return std::vector<std::byte>(1000, static_cast<std::byte>(value)); }
    std::vector<std::byte> read(std::string const& name) const {
        CheckpointFile const file(run_dir_ / name);
        std::vector<std::byte> out(file.state_bytes());
        file.read_state(out);
        return out;
    }
    std::vector<SavedState> saved() {
        std::lock_guard const lock(mutex_);
        return saved_;
    }

    testing::TemporaryDirectory scratch_;
    fs::path run_dir_ = scratch_.path() / "run";
    std::shared_ptr<BufferPool> pool_ = std::make_shared<BufferPool>();
    std::mutex mutex_;
    std::vector<SavedState> saved_;
};

TEST_F(CheckpointerTest, WhatIsToldIsOnTheDisk) {
    auto const checkpointer = make(60);
    auto bytes = state(7);
    checkpointer->save(at(3, 2, 1), bytes, std::nullopt);
    std::ranges::fill(bytes, std::byte{9});  // the trial trains on; the copy does not
    EXPECT_EQ(checkpointer->drain(10), 0U);
    ASSERT_EQ(saved().size(), 1U);
    EXPECT_EQ(saved()[0].trial, TrialId(3));
    EXPECT_EQ(std::pair(saved()[0].epoch, saved()[0].step), std::pair(2, 1));
    EXPECT_EQ(read(saved()[0].file), state(7));
}

TEST_F(CheckpointerTest, OfATrialThatWaitsTheNewestIsWrittenAndWhatIsKeptToo) {
    fs::remove_all(run_dir_);  // nothing can be written yet
    auto const checkpointer = make(60);
    checkpointer->save(at(0, 1), state(1), std::nullopt);
    checkpointer->keep(at(0, 1), state(2), Checkpointer::Kept::best_of_run);
    checkpointer->save(at(1, 1), state(3), std::nullopt);
    EXPECT_EQ(checkpointer->drain(10), 3U);
    checkpointer->save(at(0, 2), state(4), std::nullopt);
    EXPECT_EQ(checkpointer->drain(10), 3U) << "the newer one of trial 0 takes the place of the older";
    for (auto const& each : saved()) EXPECT_EQ(each.file, "");
    EXPECT_EQ(saved().size(), 2U) << "each trial is said to be at risk, once";
    fs::create_directories(run_dir_ / "checkpoints");
    EXPECT_EQ(checkpointer->drain(10), 0U);
    std::map<std::pair<int, int>, std::vector<std::byte>> there;
    for (auto const& each : saved())
        if (!each.file.empty()) there[{each.trial.value, each.epoch}] = read(each.file);
    EXPECT_EQ(there, (std::map<std::pair<int, int>, std::vector<std::byte>>{
                         {{0, 1}, state(2)}, {{0, 2}, state(4)}, {{1, 1}, state(3)}}));
}

TEST_F(CheckpointerTest, OfTheBestsOfATrialTheNewestIsWritten) {
    fs::remove_all(run_dir_);
    auto const checkpointer = make(60);
    for (int epoch = 1; epoch <= 3; ++epoch)
        checkpointer->keep(at(0, epoch), state(epoch), Checkpointer::Kept::best_of_trial);
    checkpointer->keep(at(1, 1), state(9), Checkpointer::Kept::best_of_trial);
    checkpointer->save(at(0, 4), state(4), std::nullopt);
    EXPECT_EQ(checkpointer->drain(10), 3U);
}

TEST_F(CheckpointerTest, TellsWhatALossWouldHaveCost) {
    fs::remove_all(run_dir_);
    auto const checkpointer = make(60);
    checkpointer->save(at(0, 1), state(3), std::nullopt);  // of a trial that has only begun
    EXPECT_EQ(checkpointer->drain(10), 1U);
    auto const since_s = monotonic_s() - 100;
    checkpointer->save(at(0, 1), state(1), since_s);
    EXPECT_EQ(checkpointer->drain(10), 1U);
    checkpointer->save(at(0, 2), state(2), monotonic_s());  // the one before was never written
    EXPECT_EQ(checkpointer->drain(10), 1U);
    checkpointer->save(at(0, 3), state(4), std::nullopt);
    fs::create_directories(run_dir_ / "checkpoints");
    EXPECT_EQ(checkpointer->drain(10), 0U);
    EXPECT_GE(saved().back().gap_s, 100);
    EXPECT_LE(saved().back().gap_s, monotonic_s() - since_s);
}

// Within an attempt that has failed and is not put back yet.
class CheckpointerUnderWayTest : public CheckpointerTest {
protected:
    SavedState written_after(std::function<void(Checkpointer&)> within_the_attempt) {
        fs::remove_all(run_dir_);
        std::promise<SavedState> written;
        Checkpointer* self = nullptr;
        Checkpointer checkpointer({run_dir_, "run", 1, 60, 0}, *pool_, [&](SavedState const& saved) {
            if (!saved.file.empty()) return written.set_value(saved);
            fs::create_directories(run_dir_ / "checkpoints");
            within_the_attempt(*self);
        });
        self = &checkpointer;
        checkpointer.save(at(0, 1), state(1), monotonic_s() - 100);
        auto result = written.get_future();
        if (result.wait_for(std::chrono::seconds(20)) != std::future_status::ready) throw std::runtime_error("not written");
        return result.get();
    }
};

TEST_F(CheckpointerUnderWayTest, ADrainTriesItAgain) {
    auto const saved = written_after([](Checkpointer& self) { EXPECT_EQ(self.drain(0), 1U); });
    EXPECT_EQ(read(saved.file), state(1));
}

TEST_F(CheckpointerUnderWayTest, WhatIsNewerTakesItsPlaceAndItsGap) {
    auto const since_s = monotonic_s() - 100;  // not after the one that is saved first
    auto const saved = written_after([](Checkpointer& self) { self.save(at(0, 2), state(2), monotonic_s()); });
    EXPECT_EQ(read(saved.file), state(2));
    EXPECT_GE(saved.gap_s, 100);
    EXPECT_LE(saved.gap_s, monotonic_s() - since_s);
}

TEST_F(CheckpointerTest, DueIsWhatIsOldUnlessTheDiskRests) {
    auto const now = monotonic_s();
    auto const patient = make(60);
    EXPECT_FALSE(patient->due(now - 59));
    EXPECT_TRUE(patient->due(now - 61));
    auto const slow = make(0.001, 1e-6);  // a byte a second
    EXPECT_TRUE(slow->due(now - 1));
    slow->save(at(0, 1), state(1), std::nullopt);
    EXPECT_EQ(slow->drain(10), 0U);
    EXPECT_FALSE(slow->due(now - 1)) << "a thousand bytes at a byte a second";
}

// Two hosts whose clocks have nothing in common: one has been up for an hour, the other for a minute. The age counts.
TEST_F(CheckpointerTest, AHopBringsTheAgeOfTheNewestFileWhateverTheClocksSay) {
    double const now = monotonic_s();
    auto const hop = [](double saved_ago, double leaves_at, double arrives_at) {
        Journey journey;
        journey.saved.at_s = leaves_at - saved_ago;
        depart(journey, leaves_at);
        auto there = decode<Journey>(encode(journey));
        arrive(there, arrives_at);
        return there;
    };
    auto const checkpointer = make(60);
    EXPECT_TRUE(checkpointer->due(hop(90, now + 600, now).saved.at_s)) << "from a host whose clock is ten minutes ahead";
    EXPECT_FALSE(checkpointer->due(hop(30, now - 600, now).saved.at_s)) << "from a host whose clock is ten minutes behind";
    auto second = hop(40, 3600, 60);
    depart(second, 85);  // 25 s later
    arrive(second, now);
    EXPECT_TRUE(checkpointer->due(second.saved.at_s)) << "each holder adds its time";
    Journey fresh;
    depart(fresh, 3600);
    arrive(fresh, 60);
    EXPECT_FALSE(fresh.saved.at_s) << "no unit has begun";
}

}  // namespace checkpointer_test
}  // namespace hopscotch
