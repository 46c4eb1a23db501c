// SPDX-License-Identifier: Apache-2.0
// Ids are types, so that a trainer is never mistaken for a rank nor a trial for a shard.
#pragma once
#include <compare>
#include <cstdint>
#include <functional>

namespace hopscotch {

template <class Tag>
struct Id {
    std::int32_t value = -1;

    constexpr Id() = default;
    template <class Integer>
    constexpr explicit Id(Integer v) : value(static_cast<std::int32_t>(v)) {}
    constexpr auto operator<=>(Id const&) const = default;
    constexpr std::size_t index() const { return static_cast<std::size_t>(value); }
};

using TrialId = Id<struct TrialTag>;      // one configuration, numbered from 0 in the order the search proposed it
using ShardId = Id<struct ShardTag>;      // one HDF5 file of training rows, 0..S-1
using TrainerId = Id<struct TrainerTag>;  // a rank that trains, 0..W-1; rank 0 is not a trainer
using Rank = Id<struct RankTag>;          // a process (or, in thread_world, a thread) of the job

}  // namespace hopscotch

template <class Tag>
struct std::hash<hopscotch::Id<Tag>> {
    std::size_t operator()(hopscotch::Id<Tag> id) const noexcept { return std::hash<std::int32_t>{}(id.value); }
};
