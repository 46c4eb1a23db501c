// SPDX-License-Identifier: Apache-2.0
#include "schedule/state_chain.hpp"

#include <fmt/format.h>

#include "core/hash.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_longest_gap = 1000;  // between the epochs of two laps of a trial, for which room is made

// told: the record is of this version. Then 0 is the initial state, and only a trial's first lap begins with it.
bool differ(std::uint64_t hash, bool told, std::optional<std::uint64_t> expected) {
    return told && expected && hash != *expected;
}

}  // namespace

void StateChain::released(Lap const& lap) {
    if (lap.clone_of)
        clones_[lap.id()] = *lap.clone_of;
    else
        clones_.erase(lap.id());
}

void StateChain::ended(LapRecord const& record) {
    if (record.outcome != Outcome::finished || trained_again_ == TrainedAgain::other_bits) return;
    auto& ends = ends_[record.trial];
    auto const epoch = static_cast<std::size_t>(record.epoch);
    if (epoch > ends.size() + k_longest_gap) {
        far_ends_[record.id()] = record.state.end_hash;
        return;
    }
    if (ends.size() <= epoch) ends.resize(epoch + 1);
    ends[epoch] = record.state.end_hash;
    far_ends_.erase(record.id());
}

std::optional<std::uint64_t> StateChain::at_end_of(LapId lap) const {
    if (auto const far = far_ends_.find(lap); far != far_ends_.end() && far->second != 0) return far->second;
    auto const found = ends_.find(lap.trial);
    if (lap.epoch < 0 || found == ends_.end() || found->second.size() <= static_cast<std::size_t>(lap.epoch))
        return std::nullopt;
    auto const hash = found->second[static_cast<std::size_t>(lap.epoch)];
    return hash == 0 ? std::nullopt : std::optional(hash);
}

std::optional<std::uint64_t> StateChain::at_begin_of(LapId lap) const {
    auto const clone = clones_.find(lap);
    return at_end_of(clone != clones_.end() ? clone->second : LapId{lap.trial, lap.epoch - 1});
}

bool StateChain::may_be(SavedState const& file) const {
    if (!file.whole) return true;
    bool const between_laps = file.step == 0 && file.batch == 0;
    bool const told = file.state_hash != 0;
    if (between_laps) return !differ(file.state_hash, told, at_end_of({file.trial, file.epoch - 1}));
    return !differ(file.begin_hash, told, at_begin_of({file.trial, file.epoch}));
}

std::string StateChain::complaint(LapRecord const& record) const {
    auto const expected = at_begin_of(record.id());
    if (!differ(record.state.begin_hash, record.state.begin_hash != 0 || record.state.end_hash != 0, expected)) return {};
    return fmt::format("trial {}, epoch {} began with {} instead of state {}", record.trial.value, record.epoch,
                       record.state.begin_hash == 0 ? "the initial state" : "state " + to_hex(record.state.begin_hash),
                       to_hex(*expected));
}

}  // namespace hopscotch
