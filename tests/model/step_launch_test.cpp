// SPDX-License-Identifier: Apache-2.0
// Steps that gather their batch by its number, and several of them in one launch: on a CPU, with shards that lie on a fake
// device. The bits are those of steps by themselves.
#include <gtest/gtest.h>

#include "model/fake_graphs.hpp"
#include "model/step_cases.hpp"

namespace hopscotch::testing {
namespace step_launch_test {

struct Run {
    std::uint64_t hash = 0;
    double loss = 0;
    std::int64_t rows = 0;
    int batches = 0;  // that on_batch has told of
    bool operator==(Run const&) const = default;
};

// Two units on a shard of this many rows, in batches of 7; the second is left and taken up again after `leave` updates.
Run train(TrialConfig const& config, std::shared_ptr<Workspace> const& workspace, std::int64_t rows, int leave = 0) {
    Trial trial(config, digits(rows), workspace);
    auto const shard = source(random_shard(trial.manifest, rows, 1));
    AlignedBlock state(trial->state->layout().bytes);
    trial->state->initialise(state.bytes(), 42, TrialId(3));
    trial->state->bind(state.bytes());
    Run out;
    auto const count = [&] { ++out.batches; };
    auto& training = *trial->training;
    out.loss = training.train_unit(*shard, unit(3, 0, 0), count).loss;
    training.begin_pass(*shard, unit(3, 1, 0), training.batch_size());
    for (int i = 0; i < leave; ++i) training.next_updates(count);
    if (leave > 0) {
        auto const cursor = training.cursor();
        trial->state->bind(state.bytes());
        training.begin_pass(*shard, unit(3, 1, 0), training.batch_size());
        training.skip_to(cursor);
    }
    while (training.next_updates(count) > 0) {
    }
    auto const sums = training.end_pass();
    out.loss += sums.loss;
    out.rows = sums.rows;
    out.hash = trial.hash(state);
    return out;
}

// 40 full batches and one of 3 rows; 41 rows: a last batch of 8, since a single row joins the batch before.
TEST(StepLaunch, SeveralStepsHaveTheBitsOfSteps) {
    for (auto const& config : cases())
        for (std::int64_t const rows : {std::int64_t{283}, std::int64_t{280}, std::int64_t{281}, std::int64_t{20}}) {
            Watched watched;
            auto const expected = train(config, with_shards(), rows);
            auto const found = train(config, captured_in(with_shards(), watched), rows);
            EXPECT_EQ(found, expected) << config.model.name << " " << rows << " rows";
            EXPECT_EQ(found, train(config, with_numbers(), rows)) << "as from host memory";
            EXPECT_EQ(found.rows, rows);
            EXPECT_TRUE(watched.said.empty()) << watched.said.front();
        }
}

// Logistic regression draws no masks. Unit 1: three warm-ups, one captured and checked, then launches of 16 while as many
// are left: 36 = 2 x 16 + 4. Unit 2: 40 = 2 x 16 + 8. The last batch of each unit is warmed up.
TEST(StepLaunch, AFullLaunchHasSixteenSmallSteps) {
    Watched watched;
    train(trial_config("logistic"), captured_in(with_shards(), watched), 283);
    EXPECT_EQ(watched.captures, 2) << "one step, several steps";
    EXPECT_EQ(watched.replays, (1 + 2 + 4) + (2 + 8)) << "the check of the first step is a replay too";
}

TEST(StepLaunch, MasksThatDifferFromStepToStepNeedALaunchEach) {
    Watched watched;
    train(cases()[0], captured_in(with_shards(), watched), 283);
    EXPECT_EQ(watched.captures, 1);
    EXPECT_EQ(watched.replays, 1 + 36 + 40);
}

TEST(StepLaunch, APassIsTakenUpWhereItWasLeft) {
    for (int const leave : {1, 2, 3}) {
        Watched watched;
        auto const config = trial_config("logistic");
        EXPECT_EQ(train(config, captured_in(with_shards(), watched), 283, leave), train(config, with_shards(), 283));
    }
}

TEST(StepLaunch, SeveralStepsThatAreWrongGiveWayToSingleOnes) {
    Watched watched;
    auto const workspace = captured_in(with_shards(), watched);
    auto const config = trial_config("logistic");
    watched.harm = [&, seen = 0]() mutable {
        if (++seen == 2) workspace->impl().gradient(8).add_(1.0);  // the check of the first launch of several
    };
    EXPECT_EQ(train(config, workspace, 283), train(config, with_shards(), 283));
    EXPECT_EQ(watched.said,
              (std::vector<std::string>{"logistic trains without CUDA graphs (several steps at once: the first "
                                        "replay was wrong: the gradient differs)"}));
    EXPECT_EQ(watched.replays, 1 + 1 + (36 - 16) + 40) << "sixteen were trained by the check";
}

// Trials of one structure share the launch of several steps, too.
TEST(StepLaunch, AnotherTrialNeedsNoCapture) {
    Watched watched;
    auto const workspace = captured_in(with_shards(), watched);
    AlignedBlock slot(1 << 16);
    for (int number = 0; number < 3; ++number) {
        auto config = trial_config("logistic");
        config.train.optimizer.lr = 0.1 / (number + 1);
        config.train.optimizer.weight_decay = 0.01 * number;
        Trial trial(config, digits(280), workspace);
        auto const place = slot.bytes().first(trial->state->layout().bytes);
        trial->state->initialise(place, 42, TrialId(number));
        trial->state->bind(place);
        auto const shard = source(random_shard(trial.manifest, 280, static_cast<std::uint64_t>(number)));
        auto const loss = trial->training->train_unit(*shard, unit(number, 0, 0), {}).loss;
        EXPECT_EQ(watched.captures, 2) << number;

        Trial single(config, digits(280), with_shards());
        AlignedBlock state(place.size());
        single->state->initialise(state.bytes(), 42, TrialId(number));
        single->state->bind(state.bytes());
        EXPECT_EQ(loss, single->training->train_unit(*shard, unit(number, 0, 0), {}).loss) << number;
        EXPECT_EQ(state_hash(place, trial->state->layout()), single.hash(state)) << number;
    }
}

TEST(StepLaunch, LargeBatchesAreLaunchedOneByOne) {
    EXPECT_EQ(steps_of_a_launch(0), 16U);
    EXPECT_EQ(steps_of_a_launch(64.0 * 535818), 16U) << "an MLP 784-512-256-10";
    EXPECT_EQ(steps_of_a_launch(5e8), 4U);
    EXPECT_EQ(steps_of_a_launch(1.1e9), 1U);
    EXPECT_EQ(steps_of_a_launch(256 * 4.1e9), 1U) << "ResNet-50";
}

}  // namespace step_launch_test
}  // namespace hopscotch::testing
