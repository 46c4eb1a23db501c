// SPDX-License-Identifier: Apache-2.0
#include "schedule/state_chain.hpp"

#include <gtest/gtest.h>

namespace hopscotch {
namespace state_chain_test {

Lap lap(int trial, int epoch, std::optional<LapId> clone_of = {}) {
    Lap out;
    out.trial = TrialId(trial);
    out.epoch = epoch;
    out.clone_of = clone_of;
    return out;
}

LapRecord record(int trial, int epoch, std::uint64_t begin_hash, std::uint64_t end_hash) {
    LapRecord out;
    out.trial = TrialId(trial);
    out.epoch = epoch;
    out.state.begin_hash = begin_hash;
    out.state.end_hash = end_hash;
    return out;
}

SavedState file(int trial, int epoch, int step, std::uint64_t state_hash, std::uint64_t begin_hash) {
    return {.trial = TrialId(trial),
            .epoch = epoch,
            .step = step,
            .file = "file",
            .state_hash = state_hash,
            .begin_hash = begin_hash};
}

TEST(StateChain, ALapBeginsWhereTheOneBeforeEnded) {
    StateChain chain;
    EXPECT_EQ(chain.at_begin_of({TrialId(0), 0}), std::nullopt);
    chain.ended(record(0, 0, 0, 0xa0));
    EXPECT_EQ(chain.at_begin_of({TrialId(0), 1}), 0xa0);
    EXPECT_EQ(chain.at_begin_of({TrialId(0), 2}), std::nullopt) << "no one knows yet";
    EXPECT_EQ(chain.complaint(record(0, 1, 0xa0, 0xa1)), "");
    EXPECT_EQ(chain.complaint(record(0, 1, 0xb0, 0xa1)),
              "trial 0, epoch 1 began with state 00000000000000b0 instead of state 00000000000000a0");
    EXPECT_EQ(chain.complaint(record(0, 1, 0, 0xa1)),
              "trial 0, epoch 1 began with the initial state instead of state 00000000000000a0");
    EXPECT_EQ(chain.complaint(record(0, 1, 0, 0)), "") << "of an older version";
}

TEST(StateChain, ACloneBeginsWithItsSource) {
    StateChain chain;
    chain.ended(record(0, 0, 0, 0xa0));
    chain.ended(record(1, 0, 0, 0xb0));
    chain.released(lap(0, 1, LapId{TrialId(1), 0}));
    EXPECT_EQ(chain.at_begin_of({TrialId(0), 1}), 0xb0);
    chain.released(lap(0, 1));  // an order has taken it back
    EXPECT_EQ(chain.at_begin_of({TrialId(0), 1}), 0xa0);
}

// The journal of someone else may name any epoch: no memory is taken for those between.
TEST(StateChain, AFarEpochIsKnownToo) {
    StateChain chain;
    int const far = 2'000'000'000;
    for (int trial = 0; trial < 100; ++trial) chain.ended(record(trial, far, 0, 0xf0));
    chain.ended(record(0, 0, 0, 0xa0));
    EXPECT_EQ(chain.at_begin_of({TrialId(0), far + 1}), 0xf0);
    EXPECT_EQ(chain.at_begin_of({TrialId(0), far}), std::nullopt);
    EXPECT_EQ(chain.at_begin_of({TrialId(0), 1}), 0xa0);
}

// One name, two contents: what stood behind resumed runs of pbt that had other bits.
TEST(StateChain, AFileIsOnlyWhatItsPlaceSays) {
    StateChain chain;
    for (int trial : {0, 1}) chain.ended(record(trial, 5, 0, trial == 0 ? 0xa5 : 0xb5));
    chain.released(lap(0, 6, LapId{TrialId(1), 5}));
    EXPECT_TRUE(chain.may_be(file(0, 6, 0, 0xa5, 0xa5)));
    EXPECT_FALSE(chain.may_be(file(0, 6, 0, 0xb5, 0xb5)))
        << "what the clone began with is not what its own lap 5 ended with";
    EXPECT_TRUE(chain.may_be(file(0, 6, 3, 0xc0, 0xb5)));
    EXPECT_FALSE(chain.may_be(file(0, 6, 3, 0xc0, 0xa5))) << "a lap that did not begin as the clone";
    EXPECT_TRUE(chain.may_be(file(0, 6, 3, 0, 0))) << "of an older version";
    EXPECT_FALSE(chain.may_be(file(0, 6, 3, 0xc0, 0))) << "a lap that began with the initial state";
    EXPECT_TRUE(chain.may_be(file(2, 6, 0, 0xd0, 0xd0))) << "its lap's record was lost with the journal's end";
    auto part = file(0, 6, 0, 0xb5, 0);
    part.whole = false;
    EXPECT_TRUE(chain.may_be(part)) << "the best state of trainers that hold parts";
}

// A lap that was trained twice, to other bits: files of either life are good.
TEST(StateChain, WithoutBitsNothingIsKnown) {
    StateChain chain(StateChain::TrainedAgain::other_bits);
    chain.ended(record(0, 0, 0, 0xa0));
    EXPECT_EQ(chain.at_begin_of({TrialId(0), 1}), std::nullopt);
    EXPECT_TRUE(chain.may_be(file(0, 1, 0, 0xa1, 0)));
    EXPECT_EQ(chain.complaint(record(0, 1, 0xa1, 0xa2)), "");
}

TEST(StateChain, WhatDidNotFinishEndsWithNothing) {
    StateChain chain;
    auto left = record(0, 0, 0, 0xa0);
    left.outcome = Outcome::stopped;
    chain.ended(left);
    EXPECT_EQ(chain.at_end_of({TrialId(0), 0}), std::nullopt);
    chain.ended(record(0, 0, 0, 0xa1));
    EXPECT_EQ(chain.at_end_of({TrialId(0), 0}), 0xa1);
    EXPECT_EQ(chain.at_end_of({TrialId(0), -1}), std::nullopt);
}

}  // namespace state_chain_test
}  // namespace hopscotch
