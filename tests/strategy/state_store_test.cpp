// SPDX-License-Identifier: Apache-2.0
#include "strategy/trainer/state_store.hpp"
#include "comm/buffer_pool.hpp"
#include "strategy/trainer/free_memory.hpp"
#include "strategy/trainer/spill_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <list>
#include <random>

#include "core/error.hpp"
#include "tiny_dataset.hpp"

namespace hopscotch {
namespace state_store_test {

namespace fs = std::filesystem;

constexpr std::size_t k_bytes = 1000;

class StateStoreTest : public ::testing::Test {
protected:
    StateStoreTest() { fs::create_directories(scratch_.path() / "spill"); }
    std::unique_ptr<StateStore> make(std::uint64_t limit) {
        return std::make_unique<StateStore>(*pool_, limit, scratch_.path() / "spill");
    }
    Buffer state(int value) {
        auto buffer = pool_->acquire(k_bytes);
        std::ranges::fill(buffer.bytes(), static_cast<std::byte>(value));
        return buffer;
    }
    static int value_of(ByteView bytes) {
        EXPECT_EQ(bytes.size(), k_bytes);
        EXPECT_TRUE(std::ranges::all_of(bytes, [&](std::byte b) { return b == bytes.front(); }));
        return static_cast<int>(bytes.front());
    }
    static std::vector<WaitingState const*> all(std::list<WaitingState> const& states) {
        std::vector<WaitingState const*> out;
        for (auto const& waiting : states) out.push_back(&waiting);
        return out;
    }
    // Its thread is done with what it was told.
    static void settle(StateStore& store, std::uint64_t bytes_here) {
        while (store.bytes_here() != bytes_here) std::this_thread::yield();
    }

    testing::TemporaryDirectory scratch_;
    std::shared_ptr<BufferPool> pool_ = std::make_shared<BufferPool>();
};

TEST_F(StateStoreTest, BelowTheLimitNothingIsWritten) {
    auto const store = make(3 * k_bytes);
    std::list<WaitingState> states;
    for (int i = 0; i < 3; ++i) states.push_back(store->hold(state(i)));
    EXPECT_FALSE(store->crowded());
    store->balance(all(states));
    EXPECT_EQ(value_of(store->take(std::move(states.back())).bytes()), 2);
    EXPECT_EQ(store->written_bytes(), 0U);
    EXPECT_TRUE(fs::is_empty(scratch_.path() / "spill"));
}

// The trainer makes no further states meanwhile.
TEST_F(StateStoreTest, ThereIsNoRoomUntilTheDiskHasCaughtUp) {
    constexpr std::size_t large = 1 << 20, limit = 10 * large;
    auto const store = make(limit);
    std::list<WaitingState> states;
    for (int i = 0; i < 200; ++i) states.push_back(store->hold(pool_->acquire(large)));
    EXPECT_TRUE(store->has_room()) << "nothing is on its way to the disk, so nothing would change by waiting";
    store->balance(all(states));
    EXPECT_FALSE(store->has_room());
    while (!store->has_room()) std::this_thread::yield();
    EXPECT_LE(store->bytes_here(), limit + 2 * large);
}

TEST_F(StateStoreTest, TheLastOnesLeaveAndTheFirstOnesComeBack) {
    auto const store = make(4 * k_bytes);
    std::list<WaitingState> states;
    for (int i = 0; i < 10; ++i) states.push_back(store->hold(state(i)));
    EXPECT_TRUE(store->crowded());
    store->balance(all(states));
    settle(*store, 4 * k_bytes);
    EXPECT_EQ(store->written_bytes(), 6 * k_bytes);
    states.reverse();  // the next to run are among those that left
    store->balance(all(states));
    settle(*store, 4 * k_bytes);  // two came, two left for them
    for (int i = 9; i >= 0; --i) {
        EXPECT_EQ(value_of(store->take(std::move(states.front())).bytes()), i);
        states.pop_front();
        store->balance(all(states));
    }
    EXPECT_FALSE(store->crowded());
    EXPECT_TRUE(fs::is_empty(scratch_.path() / "spill"));  // the file has no name
}

TEST_F(StateStoreTest, LooksWithoutBringingBack) {
    auto const store = make(1);
    std::list<WaitingState> states;
    for (int i = 0; i < 4; ++i) states.push_back(store->hold(state(i)));
    store->balance(all(states));
    settle(*store, 2 * k_bytes);
    int i = 0;
    for (auto const& waiting : states) store->look(waiting, [&](ByteView bytes) { EXPECT_EQ(value_of(bytes), i++); });
    EXPECT_EQ(i, 4);
    EXPECT_EQ(store->bytes_here(), 2 * k_bytes);
}

TEST_F(StateStoreTest, AnyOrderOfEventsGivesBackWhatWasHeld) {
    std::mt19937 numbers(5);
    auto const below = [&](std::size_t n) { return static_cast<std::size_t>(numbers() % n); };
    for (int round = 0; round < 20; ++round) {
        auto const store = make(below(6) * k_bytes + 1);
        std::list<std::pair<int, WaitingState>> states;
        for (int event = 0; event < 400; ++event) {
            auto const what = below(4);
            if (what == 0 || states.size() < 3) {
                states.emplace_back(event % 251, store->hold(state(event % 251)));
                continue;
            }
            auto const at = std::next(states.begin(), static_cast<std::ptrdiff_t>(below(states.size())));
            if (what == 1) {
                EXPECT_EQ(value_of(store->take(std::move(at->second)).bytes()), at->first);
            }
            if (what == 1 || (what == 2 && below(3) == 0)) states.erase(at);  // some are dropped where they are
            std::vector<WaitingState const*> order;
            for (auto const& [value, waiting] : states) order.push_back(&waiting);
            std::ranges::shuffle(order, numbers);
            store->balance(order);
        }
        states.clear();
        EXPECT_EQ(store->bytes_here(), 0U);
        EXPECT_FALSE(store->crowded());
    }
}

TEST_F(StateStoreTest, AFullDiskKeepsThemInMemory) {
    fs::remove(scratch_.path() / "spill");
    auto const store = make(1);
    std::list<WaitingState> states;
    for (int i = 0; i < 5; ++i) states.push_back(store->hold(state(i)));
    store->balance(all(states));
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(value_of(store->take(std::move(states.front())).bytes()), i);
        states.pop_front();
    }
    EXPECT_EQ(store->written_bytes(), 0U);
}

TEST_F(StateStoreTest, ADamagedOneIsAnErrorOfItsOwn) {
    SpillFile file(scratch_.path());
    auto const one = file.write(state(1).bytes()), two = file.write(state(2).bytes());
    auto damaged = one;
    damaged.hash ^= 1;
    auto const into = state(0);
    EXPECT_THROW(file.read(damaged, into.bytes()), DataError);
    file.read(two, into.bytes());
    EXPECT_EQ(value_of(into.bytes()), 2);
    file.free(one);
    EXPECT_EQ(file.write(state(3).bytes()).offset, one.offset);  // places are used again
}

// A slip of the disk or of memory, which a second look does not find again. Faults are read once in a process, so a process
// of its own reads this one.
TEST_F(StateStoreTest, ASlipIsReadOnceMore) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            ::setenv("HOPSCOTCH_FAULT", "spill.read:1:flip", 1);
            SpillFile file(scratch_.path());
            auto const slot = file.write(state(4).bytes());
            auto const into = state(0);
            file.read(slot, into.bytes());
            std::exit(value_of(into.bytes()));
        },
        ::testing::ExitedWithCode(4), "");
}

TEST(StateMemory, IsWhatWasAskedForOrAPartOfWhatIsFree) {
    EXPECT_EQ(state_memory(12345, 4), 12345U);
    EXPECT_GT(state_memory(0, 1), 3 * state_memory(0, 4));
    EXPECT_GT(state_memory(0, 4), 0U);
}

}  // namespace state_store_test
}  // namespace hopscotch
