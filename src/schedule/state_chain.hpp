// SPDX-License-Identifier: Apache-2.0
// With which state each lap must begin: that of its trial's lap before, or of the lap whose clone it is. PURE. The hashes in
// the lap records prove it, whatever a file's name says:
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
    // trained_again: what comes of a lap that is trained twice. Where that may be other bits, each life of a trial has
    // hashes of its own, and nothing is known of any.
    enum class TrainedAgain { same_bits, other_bits };
    explicit StateChain(TrainedAgain trained_again = TrainedAgain::same_bits) : trained_again_(trained_again) {}

    void released(Lap const& lap);        // again: its beginning is what this release says
    void ended(LapRecord const& record);  // finished ones count; again: it ends with what this record says

    // None: not known, because the lap has not ended, or its record is of an older version.
    std::optional<std::uint64_t> at_end_of(LapId lap) const;
    // None: not known, or the initial state.
    std::optional<std::uint64_t> at_begin_of(LapId lap) const;

    // Whether this file can be what its place says. A file whose hash is not known can.
    bool may_be(LapSink::Saved const& file) const;
    // "trial 3, epoch 5 began with state X instead of Y"; empty: it began with the right one, or nobody knows.
    std::string complaint(LapRecord const& record) const;

private:
    TrainedAgain trained_again_;
    std::map<TrialId, std::vector<std::uint64_t>> ends_;  // by epoch; 0: not known
    std::map<LapId, LapId> clones_;                       // lap: with whose end it begins
};

}  // namespace hopscotch
