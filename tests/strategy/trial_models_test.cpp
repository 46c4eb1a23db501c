// SPDX-License-Identifier: Apache-2.0
// The models that a trainer keeps: of the trials that it trained last.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "comm/buffer_pool.hpp"
#include "core/hash.hpp"
#include "experiment/reader.hpp"
#include "job_harness.hpp"
#include "model/state/state.hpp"
#include "model/trial/trial_model.hpp"
#include "model/trial/trial_state.hpp"
#include "schedule/lap.hpp"
#include "strategy/common/journey.hpp"
#include "strategy/trainer/trial_runner.hpp"

namespace hopscotch {
namespace trial_models_test {

constexpr int k_many = 400;  // trials that are alive at a time; more than a trainer keeps models

class TrialModelsTest : public ::testing::Test {
protected:
    TrialModelsTest()
        : experiment_(testing::read_document(
              testing::document(testing::make_tiny_dataset(scratch_.path() / "data", 2, 20).string(), 7, "sequential"))),
          runner_(make([this](TrialConfig const& config, Manifest const& manifest, Workspace& workspace) {
              auto model = make_trial_model(config, manifest, workspace);
              ++made_[config.train.optimizer.lr];
              alive_.push_back(model.state);
              return model;
          })) {}
    std::unique_ptr<TrialRunner> make(ModelFactory factory) const {
        return std::make_unique<TrialRunner>(experiment_, std::vector{ShardId(0), ShardId(1)}, TrialRunner::Seat{},
                                             std::move(factory));
    }
    static double lr_of(int trial) { return 0.001 * (trial + 1); }
    static Lap lap_of(int trial) {
        Lap lap;
        lap.trial = TrialId(trial);
        lap.assignment = {{"train.optimizer.lr", Json(lr_of(trial))}};
        return lap;
    }
    static Journey journey_of(int trial) {
        Journey journey;
        journey.lap = lap_of(trial);
        journey.record.trial = TrialId(trial);
        return journey;
    }
    int made(int trial) const { return made_.at(lr_of(trial)); }
    std::ptrdiff_t alive() const {
        return std::ranges::count_if(alive_, [](auto const& model) { return !model.expired(); });
    }

    testing::TemporaryDirectory scratch_;
    Experiment const experiment_;
    std::shared_ptr<BufferPool> pool_ = std::make_shared<BufferPool>();
    std::map<double, int> made_;  // by learning rate
    std::vector<std::weak_ptr<TrialState>> alive_;
    std::unique_ptr<TrialRunner> runner_;
};

TEST_F(TrialModelsTest, ThoseUsedLastAreKept) {
    for (int trial = 0; trial < k_many; ++trial) {
        runner_->initial_state(lap_of(trial), *pool_);
        runner_->initial_state(lap_of(0), *pool_);  // one that is used all the time
    }
    EXPECT_EQ(made(0), 1);
    EXPECT_LT(alive(), k_many);
    EXPECT_GE(alive(), 64);
    auto const kept = static_cast<int>(alive());
    for (int trial = k_many - kept + 2; trial < k_many; ++trial) runner_->initial_state(lap_of(trial), *pool_);
    EXPECT_EQ(made(k_many - kept + 2), 1);
    EXPECT_EQ(made(k_many - 1), 1);
    runner_->initial_state(lap_of(1), *pool_);
    EXPECT_EQ(made(1), 2);
}

// Models of 32 million parameters, on a CPU: two of them are more than the limit.
TEST_F(TrialModelsTest, OfLargeModelsFewAreKept) {
    auto const large = [](int trial) {
        auto lap = lap_of(trial);
        lap.assignment.emplace_back("model.hidden", Json(Json::Array{Json(4000), Json(4000), Json(4000)}));
        return lap;
    };
    for (int trial = 0; trial < 4; ++trial) {
        runner_->model(large(trial));
        EXPECT_LE(alive(), 2);
    }
    EXPECT_EQ(made(3), 1);
}

// A plateau schedule's counters are part of the state, and a validation moves them.
TEST_F(TrialModelsTest, TheHashAtTheEndIsTheStates) {
    for (bool const plateau : {false, true}) {
        auto journey = journey_of(plateau ? 1 : 0);
        if (plateau) journey.lap.assignment.emplace_back("train.schedule", Json::object({{"name", Json("plateau")}}));
        auto const state = runner_->initial_state(journey.lap, *pool_);
        while (journey.step < runner_->visits()) runner_->run_unit(journey, state.bytes(), nullptr);
        while (!runner_->run_validation_piece(journey, state.bytes(), nullptr)) {
        }
        auto const& record = journey.record;
        ASSERT_EQ(record.outcome, Outcome::finished) << record.reason;
        EXPECT_GT(record.valid.rows, 0);
        EXPECT_EQ(record.state.end_hash, state_hash(state.bytes(), runner_->layout(journey.lap)));
        EXPECT_EQ(record.state.end_hash != record.state.hash, plateau);
    }
}

// A question about a state that waits needs no model: the answer outlives it.
TEST_F(TrialModelsTest, ALayoutStaysAndCostsNoModel) {
    auto const& layout = runner_->layout(lap_of(0));
    auto const hash = layout.hash();
    for (int trial = 1; trial < k_many; ++trial) runner_->initial_state(lap_of(trial), *pool_);
    auto const before = alive_.size();
    EXPECT_EQ(&runner_->layout(lap_of(0)), &layout);
    EXPECT_EQ(layout.hash(), hash);
    EXPECT_EQ(alive_.size(), before);
}

// What is kept of trials is bounded: a search may pause any number of them.
TEST_F(TrialModelsTest, OfThousandsOfTrialsFewAreKnown) {
    auto const hash = runner_->layout(lap_of(0)).hash();
    for (int trial = 1; trial < 3000; ++trial) runner_->layout(lap_of(trial));
    EXPECT_EQ(runner_->layout(lap_of(0)).hash(), hash);
    EXPECT_EQ(made(0), 2);
    runner_->layout(lap_of(2999));
    EXPECT_EQ(made(2999), 1);
}

// A lap on two shards with a validation, whose model is made anew between any two steps, has the same bits.
TEST_F(TrialModelsTest, AModelThatIsMadeAgainComputesTheSameBits) {
    auto const lap = [&](TrialRunner& runner, std::function<void()> const& between) {
        auto journey = journey_of(0);
        auto const state = runner.initial_state(journey.lap, *pool_);
        for (int step = 0; step < 2; ++step) {
            between();
            runner.run_unit(journey, state.bytes(), nullptr);
        }
        do between();
        while (!runner.run_validation_piece(journey, state.bytes(), nullptr));
        EXPECT_EQ(journey.record.outcome, Outcome::finished) << journey.record.reason;
        return journey.record;
    };
    auto const alone = lap(*make(make_trial_model), [] {});
    int others = 1;
    auto const among_many = lap(*runner_, [&] {
        for (int i = 0; i < k_many; ++i) runner_->initial_state(lap_of(others++), *pool_);
    });
    EXPECT_GE(made(0), 4) << "once before each step";
    ASSERT_EQ(among_many.units.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(among_many.units[i].state_hash, alone.units[i].state_hash) << i;
    EXPECT_EQ(among_many.state.end_hash, alone.state.end_hash);
    EXPECT_NE(alone.state.end_hash, 0U);
    EXPECT_EQ(among_many.valid.loss, alone.valid.loss);
}

}  // namespace trial_models_test
}  // namespace hopscotch
