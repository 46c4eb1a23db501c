// SPDX-License-Identifier: Apache-2.0
// The state that each lap must begin with: the state at the end of the trial's lap before, or of the lap that it clones.
// PURE. The hashes in the lap records prove it; names of files do not:
//   lap (trial 0, epoch 5)                 ends with    a1   ->  lap (trial 0, epoch 6) must begin with a1,
//   lap (trial 3, epoch 5)                 ends with    b2   ->  or, if it was released as the clone of (3, 5), with b2
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "schedule/lap.hpp"

namespace hopscotch {

class StateChain {
public:
    // Whether a lap that is trained twice gives the same bits. If not, hashes of different attempts cannot be compared, and
    // no hash counts as known.
    enum class TrainedAgain { same_bits, other_bits };
    explicit StateChain(TrainedAgain trained_again = TrainedAgain::same_bits) : trained_again_(trained_again) {}

    void released(Lap const& lap);        // the last release of a lap counts
    void ended(LapRecord const& record);  // the last finished record of a lap counts

    // None: not known, because the lap has not ended, or its record is of an older version.
    std::optional<std::uint64_t> at_end_of(LapId lap) const;
    // None: not known, or the initial state.
    std::optional<std::uint64_t> at_begin_of(LapId lap) const;

    // False: the file does not hold the state of its place. True if the hash is not known.
    bool may_be(SavedState const& file) const;
    // "trial 3, epoch 5 began with state X instead of Y"; empty: it began with the right state, or the hash is not known.
    std::string complaint(LapRecord const& record) const;

private:
    TrainedAgain trained_again_;
    std::map<TrialId, std::vector<std::uint64_t>> ends_;  // by epoch; 0: not known
    std::map<LapId, std::uint64_t> far_ends_;             // of epochs far beyond those: a damaged journal may name any
    std::map<LapId, LapId> clones_;                       // by lap: the lap whose end it begins with
};

}  // namespace hopscotch
