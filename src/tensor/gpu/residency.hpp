// SPDX-License-Identifier: Apache-2.0
// Decides which shards lie on the device, from the free memory there; pure. First come, first kept: passes go round over the
// shards, so dropping one to make room for another would copy all of them again in every round.
#pragma once
#include <cstdint>
#include <set>
#include <vector>

namespace hopscotch {

class Residency {
public:
    using Key = void const*;
    enum class Place { device, host };

    // Bytes that shards leave free: for states and for the memory of a step, and the part of them for a step alone.
    struct Reserve {
        std::int64_t training = 0, step = 0;
    };
    explicit Residency(Reserve const& reserve) : reserve_(reserve) {}

    // A pass over this shard begins. device: it lies there, or fits into the `free` bytes and is to be copied there now.
    Place use(Key shard, std::int64_t bytes, std::int64_t free);

    // A state needs these bytes: the fewest shards that must go for it. The shard that was used last goes first, since it is
    // the last to be used again. These shards stay on the host from now on, or they would be copied back and forth.
    std::vector<Key> make_room(std::int64_t bytes, std::int64_t free);

    void give_up(Key shard);  // it did not fit after all: it stays on the host from now on
    void forget(Key shard);   // it exists no more

    Reserve const& reserve() const { return reserve_; }

private:
    struct Entry {
        Key shard;
        std::int64_t bytes;
    };
    Reserve reserve_;
    std::vector<Entry> resident_;  // used last: last
    std::set<Key> moved_out_;
};

}  // namespace hopscotch
