// SPDX-License-Identifier: Apache-2.0
#include "tensor/gpu/residency.hpp"

#include <gtest/gtest.h>

#include <map>

#include "core/rng.hpp"

namespace hopscotch {
namespace residency_test {

using Place = Residency::Place;
using Keys = std::vector<Residency::Key>;

char const k_shards[8] = {};  // keys are addresses

TEST(Residency, keeps_the_shards_that_came_first_as_long_as_they_fit) {
    Residency residency({100, 50});
    EXPECT_EQ(residency.use(&k_shards[0], 400, 1000), Place::device);
    EXPECT_EQ(residency.use(&k_shards[1], 400, 600), Place::device);
    EXPECT_EQ(residency.use(&k_shards[2], 101, 200), Place::host);  // 100 of them are not for shards
    EXPECT_EQ(residency.use(&k_shards[3], 100, 200), Place::device);
    EXPECT_EQ(residency.use(&k_shards[0], 400, 0), Place::device);    // is there
    EXPECT_EQ(residency.use(&k_shards[2], 101, 300), Place::device);  // someone freed memory
}

TEST(Residency, makes_room_with_the_shard_that_was_used_last_and_never_takes_it_back) {
    Residency residency({100, 50});
    for (int i = 0; i < 3; ++i) residency.use(&k_shards[i], 200, 1000);
    residency.use(&k_shards[0], 200, 400);
    EXPECT_EQ(residency.make_room(350, 400), Keys{});  // they leave more than 50
    EXPECT_EQ(residency.make_room(500, 400), Keys{&k_shards[0]});
    EXPECT_EQ(residency.use(&k_shards[0], 200, 10000), Place::host);
    EXPECT_EQ(residency.use(&k_shards[1], 200, 0), Place::device);
    EXPECT_EQ(residency.make_room(100000, 0), (Keys{&k_shards[1], &k_shards[2]}));
    EXPECT_EQ(residency.make_room(100000, 0), Keys{});
    residency.forget(&k_shards[0]);  // another shard at the same address
    EXPECT_EQ(residency.use(&k_shards[0], 200, 10000), Place::device);
}

TEST(Residency, gives_up_for_good) {
    Residency residency({100, 50});
    residency.use(&k_shards[0], 200, 1000);
    residency.give_up(&k_shards[0]);
    EXPECT_EQ(residency.use(&k_shards[0], 200, 1000), Place::host);
    EXPECT_EQ(residency.make_room(10000, 0), Keys{});
}

// Random uses and states on a device that counts: shards alone never take the reserve, and after make_room a state fits or
// no shard is left.
TEST(Residency, never_promises_memory_that_is_not_there) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        Rng rng(seed);
        std::int64_t const total = 1000, reserve = 250, step = 125;
        Residency residency({reserve, step});
        std::map<Residency::Key, std::int64_t> there;
        std::int64_t state = 0;
        auto const free = [&] {
            auto left = total - state;
            for (auto const& [key, bytes] : there) left -= bytes;
            return left;
        };
        for (int i = 0; i < 60; ++i) {
            auto const key = &k_shards[rng.below(8)];
            auto const bytes = 50 * (1 + (key - k_shards));
            if (rng.below(4) > 0) {
                auto const before = free();
                auto const place = residency.use(key, bytes, before);
                ASSERT_TRUE(place == Place::device || !there.contains(key));
                auto const copied = place == Place::device && there.emplace(key, bytes).second;
                ASSERT_TRUE(!copied || free() >= reserve);
            } else {
                state = 0;
                auto const wanted = static_cast<std::int64_t>(rng.below(800));
                for (auto const gone : residency.make_room(wanted, free())) {
                    ASSERT_LT(free(), wanted + step) << "one too many";
                    ASSERT_EQ(there.erase(gone), 1U);
                }
                ASSERT_TRUE(there.empty() || free() >= wanted + step);
                state = std::min(wanted, free());
            }
        }
    }
}

}  // namespace residency_test
}  // namespace hopscotch
