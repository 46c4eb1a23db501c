// SPDX-License-Identifier: Apache-2.0
#include "tensor/gpu/residency.hpp"

#include <algorithm>

namespace hopscotch {

Residency::Place Residency::use(Key shard, std::int64_t bytes, std::int64_t free) {
    auto const found =
        std::find_if(resident_.begin(), resident_.end(), [&](auto const& entry) { return entry.shard == shard; });
    if (found != resident_.end()) {
        std::rotate(found, found + 1, resident_.end());
        return Place::device;
    }
    if (moved_out_.contains(shard) || bytes > free - reserve_.training) return Place::host;
    resident_.push_back({shard, bytes});
    return Place::device;
}

std::vector<Residency::Key> Residency::make_room(std::int64_t bytes, std::int64_t free) {
    std::vector<Key> out;
    while (!resident_.empty() && free < bytes + reserve_.step) {
        free += resident_.back().bytes;
        out.push_back(resident_.back().shard);
        moved_out_.insert(resident_.back().shard);
        resident_.pop_back();
    }
    return out;
}

void Residency::give_up(Key shard) {
    forget(shard);
    moved_out_.insert(shard);
}

void Residency::forget(Key shard) {
    std::erase_if(resident_, [&](auto const& entry) { return entry.shard == shard; });
    moved_out_.erase(shard);
}

}  // namespace hopscotch
