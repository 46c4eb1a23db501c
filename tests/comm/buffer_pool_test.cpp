// SPDX-License-Identifier: Apache-2.0
#include "comm/buffer_pool.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "comm/shared_memory.hpp"

namespace hopscotch {
namespace buffer_pool_test {

TEST(BufferPool, ReusesMemoryAndKeepsItAligned) {
    auto const pool = std::make_shared<BufferPool>();
    std::byte* first = nullptr;
    {
        auto buffer = pool->acquire(100000);
        first = buffer.bytes().data();
        EXPECT_EQ(buffer.bytes().size(), 100000U);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0U);
    }
    auto again = pool->acquire(99000);
    EXPECT_EQ(again.bytes().data(), first);
    auto other = pool->acquire(99000);
    EXPECT_NE(other.bytes().data(), first);
    auto moved = std::move(again);
    EXPECT_FALSE(again);
    EXPECT_EQ(moved.bytes().data(), first);
    EXPECT_LE(pool->allocated_bytes(), 2U * 110000U);
}

TEST(BufferPool, ABufferOutlivesItsPoolsOwner) {
    auto pool = std::make_shared<BufferPool>();
    auto buffer = pool->acquire(64);
    pool.reset();
    buffer.bytes()[0] = std::byte{3};
    EXPECT_EQ(buffer.bytes()[0], std::byte{3});
}

// As where the system has too little memory. The sanitizers end a process that asks for too much, so the pinning says so.
TEST(BufferPool, MemoryThatCannotBeMadeDoesNotCount) {
    auto const pool = std::make_shared<BufferPool>();
    pool->set_pinning({[](void*, std::size_t) -> bool { throw std::bad_alloc(); }, {}});
    EXPECT_THROW(pool->acquire(100'000), std::bad_alloc);
    EXPECT_EQ(pool->allocated_bytes(), 0U);
    pool->set_pinning({});
    auto const buffer = pool->acquire(100'000);
    EXPECT_LT(pool->allocated_bytes(), 110'000U);
}

// Twenty at once, and then always two: the memory of the others goes back to the system.
void expect_to_shrink_after_a_crowd(BufferPool& pool, std::size_t bytes) {
    std::vector<Buffer> crowd;
    for (int i = 0; i < 20; ++i) crowd.push_back(pool.acquire(bytes));
    auto const most = pool.allocated_bytes();
    crowd.clear();
    EXPECT_EQ(pool.allocated_bytes(), most);
    for (int i = 0; i < 1000; ++i) {
        auto const one = pool.acquire(bytes), other = pool.acquire(bytes);
        EXPECT_LE(pool.allocated_bytes(), most);
    }
    EXPECT_LE(pool.allocated_bytes(), most / 10);
}

TEST(BufferPool, AfterACrowdItGivesMemoryBack) { expect_to_shrink_after_a_crowd(*std::make_shared<BufferPool>(), 10000); }

constexpr int k_node = 0;

std::shared_ptr<BufferPool> sharing_pool(int node = k_node) {
    auto pool = std::make_shared<BufferPool>();
    pool->share_memory(node);
    return pool;
}

constexpr std::size_t k_bytes = 3000000;

TEST(SharedMemory, AfterACrowdItGoesBackToTheSystem) { expect_to_shrink_after_a_crowd(*sharing_pool(), 100000); }

// A trainer that made many blocks for others, and then keeps the states that end here.
TEST(SharedMemory, FewLargeBlocksWaitForTheNextState) {
    constexpr std::size_t large = 30 << 20;
    auto const one = sharing_pool(), other = sharing_pool();
    std::vector<Buffer> sent;
    for (int i = 0; i < 20; ++i) {
        auto block = one->acquire(large);
        sent.push_back(other->adopt(one->offer(block), large));
        one->hand_over(std::move(block));
    }
    std::vector<Buffer> back;
    for (auto& block : sent) {
        back.push_back(one->adopt(other->offer(block), large));
        other->hand_over(std::move(block));
    }
    back.clear();
    EXPECT_LE(one->allocated_bytes(), std::size_t{256} << 20);
    EXPECT_GE(one->allocated_bytes(), 4 * large);
}

// Two pools, as of two ranks, whose mappings of one piece lie at two addresses.
TEST(SharedMemory, ABlockChangesHandsWithWhatIsInIt) {
    auto const one = sharing_pool(), other = sharing_pool();
    auto mine = one->acquire(k_bytes);
    auto* const address = mine.bytes().data();
    std::ranges::fill(mine.bytes(), std::byte{7});
    auto theirs = other->adopt(one->offer(mine), k_bytes);
    ASSERT_TRUE(theirs);
    one->hand_over(std::move(mine));
    EXPECT_EQ(one->allocated_bytes(), 0U);
    EXPECT_GE(other->allocated_bytes(), k_bytes);
    EXPECT_EQ(theirs.bytes().size(), k_bytes);
    EXPECT_NE(theirs.bytes().data(), address);
    EXPECT_TRUE(std::ranges::all_of(theirs.bytes(), [](std::byte b) { return b == std::byte{7}; }));
    theirs.bytes()[k_bytes - 1] = std::byte{9};

    auto back = one->adopt(other->offer(theirs), k_bytes);
    other->hand_over(std::move(theirs));
    EXPECT_EQ(back.bytes().data(), address);  // mapped still
    EXPECT_EQ(back.bytes()[k_bytes - 1], std::byte{9});
}

TEST(SharedMemory, AThirdPoolGetsItFromTheSecond) {
    auto one = sharing_pool();
    auto const second = sharing_pool(), third = sharing_pool();
    auto first = one->acquire(k_bytes);
    first.bytes()[5] = std::byte{5};
    auto adopted = second->adopt(one->offer(first), k_bytes);
    one->hand_over(std::move(first));
    one.reset();  // who made it may have ended
    auto const last = third->adopt(second->offer(adopted), k_bytes);
    second->hand_over(std::move(adopted));
    ASSERT_TRUE(last);
    EXPECT_EQ(last.bytes()[5], std::byte{5});
}

TEST(SharedMemory, WhatCannotBeHadHasToBeCopied) {
    auto const one = sharing_pool(), other = sharing_pool(), apart = std::make_shared<BufferPool>();
    auto const mine = one->acquire(k_bytes);
    auto const good = one->offer(mine);
    ASSERT_TRUE(good);
    EXPECT_FALSE(apart->adopt(good, k_bytes));
    EXPECT_FALSE(other->adopt(good, good.piece.bytes + 1));
    auto const refused = [&](auto change) {
        auto offer = good;
        change(offer);
        return !other->adopt(offer, k_bytes);
    };
    EXPECT_TRUE(refused([](PieceOffer& o) { o.piece.file ^= 1; }));  // another file lies there
    EXPECT_TRUE(refused([](PieceOffer& o) { o.host ^= 1; }));
    EXPECT_TRUE(other->adopt(good, k_bytes));

    EXPECT_FALSE(one->offer(one->acquire(100)));  // sooner copied
    EXPECT_FALSE(apart->offer(apart->acquire(k_bytes)));
}

// What is far stays so, whatever core a thread is on at the moment: an answer "unreachable" counts for all later hops.
TEST(SharedMemory, IsFarOnlyBetweenTrainersThatAreBoundToTwoNodes) {
    auto const adopts = [](int owner, int taker) {
        auto const one = sharing_pool(owner);
        return static_cast<bool>(sharing_pool(taker)->adopt(one->offer(one->acquire(k_bytes)), k_bytes));
    };
    EXPECT_TRUE(adopts(1, 1));
    EXPECT_FALSE(adopts(0, 1));
    EXPECT_TRUE(adopts(k_any_node, 1));
    EXPECT_TRUE(adopts(0, k_any_node));
}

TEST(SharedMemory, TheNodeIsOfAllCoresOfAThread) {
    auto const root = std::filesystem::temp_directory_path() / ("hopscotch-nodes-" + std::to_string(::getpid()));
    auto const cpus = root / "sys/devices/system/cpu";
    cpu_set_t cores;
    CPU_ZERO(&cores);
    ASSERT_EQ(::sched_getaffinity(0, sizeof cores, &cores), 0);
    int last = -1;
    EXPECT_EQ(home_node(root), k_any_node) << "a system that does not say";
    for (int core = 0; core < CPU_SETSIZE; ++core) {
        if (core >= 64 && !CPU_ISSET(core, &cores)) continue;
        auto const of = [&](int node) { return cpus / ("cpu" + std::to_string(core)) / ("node" + std::to_string(node)); };
        std::filesystem::create_directories(of(CPU_ISSET(core, &cores) ? 3 : 1));
        if (CPU_ISSET(core, &cores)) last = core;
    }
    EXPECT_EQ(home_node(root), 3) << "other cores do not count";
    auto const moved = cpus / ("cpu" + std::to_string(last));
    std::filesystem::rename(moved / "node3", moved / "node12");
    EXPECT_EQ(home_node(root), CPU_COUNT(&cores) == 1 ? 12 : k_any_node);
    std::filesystem::remove_all(root);
}

// A piece goes round three pools of a host, and comes back before its first owner has heard that the second has it: so it is
// mapped twice there, once a round, and handed over twice. The pool must not count it twice: it would believe that it keeps
// too many mappings, and map the piece anew for each hop.
TEST(SharedMemory, APieceThatComesBackSoonerThanTheAnswerIsCountedOnce) {
    std::vector<std::future<std::size_t>> asked;
    bool looks = true;
    auto const one = std::make_shared<BufferPool>();
    int mapped = 0;
    auto const unlock = [&, of = one.get()](void*) {  // another thread takes the pool's lock meanwhile
        if (!looks) return;
        asked.push_back(std::async(std::launch::async, [of] { return of->allocated_bytes(); }));
        looks = asked.back().wait_for(std::chrono::seconds(10)) == std::future_status::ready;
        EXPECT_TRUE(looks);
    };
    one->set_pinning({[&](void*, std::size_t) { return ++mapped > 0; }, unlock});
    one->share_memory(k_node);
    auto const second = sharing_pool(), third = sharing_pool();
    auto mine = one->acquire(k_bytes);
    mine.bytes()[7] = std::byte{7};
    constexpr int rounds = 100;
    for (int round = 0; round < rounds; ++round) {
        auto at_second = second->adopt(one->offer(mine), k_bytes);
        auto at_third = third->adopt(second->offer(at_second), k_bytes);
        second->hand_over(std::move(at_second));
        auto back = one->adopt(third->offer(at_third), k_bytes);
        third->hand_over(std::move(at_third));
        one->hand_over(std::move(mine));  // the answer to the first offer
        auto away = second->adopt(one->offer(back), k_bytes);
        one->hand_over(std::move(back));
        mine = one->adopt(second->offer(away), k_bytes);
        second->hand_over(std::move(away));
        ASSERT_TRUE(mine);
        EXPECT_EQ(mine.bytes()[7], std::byte{7});
    }
    EXPECT_EQ(mapped, 1 + rounds);
    EXPECT_GT(asked.size(), 0U);
    looks = false;
}

// A child that makes a block, tells of it, and lives until it is told to end. Its exit code if all went well is not 0: TSan
// replaces a 0 by its own code if the parent had a report before the fork.
class OtherProcess {
public:
    static constexpr int k_well = 3;

    OtherProcess() {
        EXPECT_EQ(::pipe(told_.data()), 0);
        EXPECT_EQ(::pipe(end_.data()), 0);
        child_ = ::fork();
        if (child_ != 0) return;
        auto const pool = sharing_pool();
        auto const mine = pool->acquire(k_bytes);
        std::ranges::fill(mine.bytes(), std::byte{7});
        auto const offer = pool->offer(mine);
        char byte = 0;
        ::close(end_[1]);
        if (::write(told_[1], &offer, sizeof offer) == sizeof offer) byte = static_cast<char>(::read(end_[0], &byte, 1));
        ::_exit(byte == 0 && mine.bytes()[k_bytes - 1] == std::byte{9} ? k_well : 1);  // what the parent has written
    }
    PieceOffer offer() const {
        PieceOffer offer;
        EXPECT_EQ(::read(told_[0], &offer, sizeof offer), static_cast<ssize_t>(sizeof offer));
        return offer;
    }
    int end() {
        for (int const fd : {told_[0], told_[1], end_[0], end_[1]}) ::close(fd);
        int status = 0;
        ::waitpid(child_, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

private:
    std::array<int, 2> told_{}, end_{};
    pid_t child_ = 0;
};

TEST(SharedMemory, OfAnotherProcessIsFoundByProcessAndDescriptor) {
    OtherProcess other;
    auto const good = other.offer();
    auto const pool = sharing_pool();
    auto wrong = good;
    wrong.process = 1 << 30;
    EXPECT_FALSE(pool->adopt(wrong, k_bytes));
    wrong = good;
    wrong.descriptor = 9999;
    EXPECT_FALSE(pool->adopt(wrong, k_bytes));
    wrong = good;
    wrong.piece.file ^= 1;  // another file lies there
    EXPECT_FALSE(pool->adopt(wrong, k_bytes));
    auto const block = pool->adopt(good, k_bytes);
    ASSERT_TRUE(block);
    EXPECT_EQ(block.bytes()[0], std::byte{7});
    block.bytes()[k_bytes - 1] = std::byte{9};
    EXPECT_EQ(other.end(), OtherProcess::k_well);
    EXPECT_EQ(block.bytes()[1], std::byte{7});  // also when its maker has ended
}

int pinned = 0;

TEST(SharedMemory, EachProcessLocksPagesForItsOwnGpuWhereverTheMemoryIs) {
    pinned = 0;
    {
        auto const one = sharing_pool(), other = sharing_pool();
        for (auto const& pool : {one, other})
            pool->set_pinning({[](void*, std::size_t) { return ++pinned > 0; }, [](void*) { --pinned; }});
        auto mine = one->acquire(k_bytes);
        EXPECT_EQ(pinned, 1);
        auto offer = one->offer(mine);
        offer.node = 5;  // far from the CPU: a GPU copies it anyway
        auto const theirs = other->adopt(offer, k_bytes);
        EXPECT_TRUE(theirs);
        one->hand_over(std::move(mine));
        EXPECT_EQ(pinned, 2);
    }
    EXPECT_EQ(pinned, 0);
}

// To lock and unlock pages takes milliseconds, for which the courier must not have to wait. So another thread can use the
// pool meanwhile.
TEST(SharedMemory, PagesAreLockedAndUnlockedWithoutThePoolsLock) {
    std::vector<std::future<std::size_t>> asked;
    int locked = 0, unlocked = 0, in_time = 0;
    bool lives = true;
    auto const one = sharing_pool(), other = sharing_pool();
    for (auto const& pool : {one, other}) {
        auto const ask = [&asked, &in_time, &lives, of = pool.get()](int& count) {
            if (!lives) return;
            ++count;
            asked.push_back(std::async(std::launch::async, [of] { return of->allocated_bytes(); }));
            in_time += asked.back().wait_for(std::chrono::seconds(10)) == std::future_status::ready ? 1 : 0;
        };
        pool->set_pinning(
            {[&locked, ask](void*, std::size_t) { return ask(locked), true; }, [&unlocked, ask](void*) { ask(unlocked); }});
    }
    for (int i = 0; i < 20; ++i) {  // the first pool forgets what it has handed over, the second gives idle blocks back
        auto mine = one->acquire(k_bytes);
        auto const theirs = other->adopt(one->offer(mine), k_bytes);
        one->hand_over(std::move(mine));
    }
    static_cast<void>(one->acquire(8 * k_bytes));
    for (int i = 0; i < 1001; ++i) static_cast<void>(one->acquire(k_bytes));  // no one wants the large one
    EXPECT_GE(locked, 41);
    EXPECT_GT(unlocked, 15);
    EXPECT_EQ(in_time, locked + unlocked);
    lives = false;
}

// Twenty blocks arrive and none leaves: a few are kept for the next, the others' memory goes back to the system.
TEST(SharedMemory, APoolThatOnlyGetsDoesNotGrow) {
    auto const giver = sharing_pool(), taker = sharing_pool();
    std::size_t most = 0;
    for (int i = 0; i < 20; ++i) {
        auto mine = giver->acquire(k_bytes);
        auto const theirs = taker->adopt(giver->offer(mine), k_bytes);
        giver->hand_over(std::move(mine));
        most = std::max(most, taker->allocated_bytes());
    }
    EXPECT_LE(most, 6 * (k_bytes + (std::size_t{2} << 20)));
    EXPECT_EQ(giver->allocated_bytes(), 0U);
}

}  // namespace buffer_pool_test
}  // namespace hopscotch
