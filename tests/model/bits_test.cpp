// SPDX-License-Identifier: Apache-2.0
// The same bits wherever and whenever a unit runs: any thread, any address, any model in between.
#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <thread>

#include "fixture.hpp"

namespace hopscotch::testing {
namespace bits_test {

struct Case {
    std::string model;
    Json arguments;
    OptimizerKind optimizer;
    double momentum;
};

std::vector<Case> cases() {
    return {{"logistic", Json(Json::Object{}), OptimizerKind::sgd, 0.0},
            {"mlp", Json::object({{"hidden", Json(Json::Array{33, 17})}, {"dropout", 0.3}}), OptimizerKind::sgd, 0.9},
            {"mlp", Json::object({{"activation", "tanh"}}), OptimizerKind::adamw, 0.0},
            {"lenet", Json::object({{"dropout", 0.5}}), OptimizerKind::adam, 0.0}};
}

TrialConfig config_of(Case const& c) {
    auto config = trial_config(c.model, c.arguments);
    config.train.optimizer.kind = c.optimizer;
    config.train.optimizer.lr = 0.01;
    config.train.optimizer.momentum = c.momentum;
    config.train.schedule = {.kind = ScheduleKind::cosine, .warmup_epochs = 0.5};
    return config;
}

// Two epochs over two shards whose rows batches of 7 do not divide.
std::uint64_t trained_hash(Case const& c, int trial_id, std::size_t shift = 0) {
    Trial trial(config_of(c), digits(61));
    auto const first = random_shard(trial.manifest, 30, 1), second = random_shard(trial.manifest, 31, 2);
    AlignedBlock state(trial->state->layout().bytes, shift);
    trial->state->initialise(state.bytes(), 42, TrialId(trial_id));
    trial->state->bind(state.bytes());
    for (int epoch = 0; epoch < 2; ++epoch) {
        trial->training->train_unit(*source(first), unit(trial_id, epoch, 0), {});
        trial->training->train_unit(*source(second), unit(trial_id, epoch, 1), {});
    }
    EXPECT_TRUE(trial->state->finite());
    return trial.hash(state);
}

// A unit that is left between two updates and taken up by another model object, as after a checkpoint.
TEST(Bits, AUnitMayBeLeftAtAnyBatchAndTakenUpElsewhere) {
    auto all = cases();
    all.push_back({"mlp", Json::object({{"batch_norm", true}}), OptimizerKind::adam, 0.0});
    for (auto const& c : all) {
        auto config = config_of(c);
        config.train.accumulate = 2;  // 5 batches of 30 rows: the last update is of one
        Trial whole(config, digits(30));
        auto const shard = source(random_shard(whole.manifest, 30, 1));
        AlignedBlock expected(whole->state->layout().bytes);
        whole->state->initialise(expected.bytes(), 42, TrialId(3));
        whole->state->bind(expected.bytes());
        auto const sums = whole->training->train_unit(*shard, unit(3, 0, 0), {});
        for (std::int64_t updates = 0; updates <= 3; ++updates) {
            Trial first(config, digits(30)), second(config, digits(30));
            AlignedBlock left(first->state->layout().bytes), taken(first->state->layout().bytes, 64);
            first->state->initialise(left.bytes(), 42, TrialId(3));
            first->state->bind(left.bytes());
            first->training->begin_pass(*shard, unit(3, 0, 0), first->training->batch_size());
            for (std::int64_t i = 0; i < updates; ++i) first->training->update(first->training->next_gradient({}, {}));
            auto const cursor = first->training->cursor();
            std::memcpy(taken.bytes().data(), left.bytes().data(), left.bytes().size());
            second->state->bind(taken.bytes());
            second->training->begin_pass(*shard, unit(3, 0, 0), second->training->batch_size());
            second->training->skip_to(cursor);
            while (auto const rows = second->training->next_gradient({}, {})) second->training->update(rows);
            auto const found = second->training->end_pass();
            EXPECT_EQ(second.hash(taken), whole.hash(expected)) << c.model << " left after " << updates << " updates";
            EXPECT_EQ(found.rows, sums.rows);
            EXPECT_EQ(found.loss, sums.loss);
        }
    }
}

TEST(Bits, ACursorBehindTheEndOfItsPassIsRefused) {
    Trial trial(trial_config("logistic"), digits(30));
    auto const shard = source(random_shard(trial.manifest, 30, 1));
    AlignedBlock state(trial->state->layout().bytes);
    trial->state->initialise(state.bytes(), 42, TrialId(0));
    trial->state->bind(state.bytes());
    trial->training->begin_pass(*shard, unit(0, 0, 0), trial->training->batch_size());
    EXPECT_THROW(trial->training->skip_to({6, {}}), Error);
    EXPECT_THROW(trial->training->skip_to({-1, {}}), Error);
}

TEST(Bits, ThreeThreadsAtOnceEqualTheMainThread) {
    for (auto const& c : cases()) {
        auto const expected = trained_hash(c, 3);
        std::vector<std::uint64_t> found(3);
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < found.size(); ++i) threads.emplace_back([&, i] { found[i] = trained_hash(c, 3); });
        for (auto& thread : threads) thread.join();
        for (auto const hash : found) EXPECT_EQ(hash, expected) << c.model;
    }
}

TEST(Bits, TheAddressOfTheBlockDoesNotMatterButTheTrialDoes) {
    for (auto const& c : cases()) {
        auto const expected = trained_hash(c, 3);
        for (std::size_t const shift : {64U, 192U, 2112U}) EXPECT_EQ(trained_hash(c, 3, shift), expected) << c.model;
        EXPECT_NE(trained_hash(c, 4), expected) << c.model;
    }
}

// One model object that hops between two states trains both as two models would, though a larger model of the same
// workspace leaves its gradients in the shared buffer in between.
TEST(Bits, StatesThatAlternateInOneModelEqualSeparateModels) {
    for (auto const& c : cases()) {
        auto const workspace = std::make_shared<Workspace>("cpu", 1);
        Trial trial(config_of(c), digits(61), workspace);
        Trial other(trial_config("mlp", Json::object({{"hidden", Json(Json::Array{500})}})), digits(61), workspace);
        auto const first = random_shard(trial.manifest, 30, 1), second = random_shard(trial.manifest, 31, 2);
        AlignedBlock a(trial->state->layout().bytes), b(trial->state->layout().bytes), o(other->state->layout().bytes);
        trial->state->initialise(a.bytes(), 42, TrialId(3));
        trial->state->initialise(b.bytes(), 42, TrialId(4));
        other->state->initialise(o.bytes(), 42, TrialId(5));
        for (int epoch = 0; epoch < 2; ++epoch) {
            for (int s = 0; s < 2; ++s) {
                for (auto* state : {&a, &b}) {
                    trial->state->bind(state->bytes());
                    other->state->bind(o.bytes());
                    other->training->train_unit(*source(first), unit(5, epoch, s), {});
                    trial->training->train_unit(*source(s == 0 ? first : second), unit(state == &a ? 3 : 4, epoch, s), {});
                }
            }
        }
        EXPECT_EQ(trial.hash(a), trained_hash(c, 3)) << c.model;
        EXPECT_EQ(trial.hash(b), trained_hash(c, 4)) << c.model;
    }
}

// A state that comes back to its address finds the model bound to it. Another state may have been there meanwhile, and an
// evaluation may have left the averaged weights bound.
TEST(Bits, AStateMayComeBackToItsAddress) {
    for (auto const& c : cases()) {
        auto config = config_of(c);
        config.train.ema = 0.9;
        config.train.accumulate = 2;
        auto const trained = [&](bool comes_back) {
            Trial trial(config, digits(61));
            auto const shard = random_shard(trial.manifest, 30, 1);
            std::list<AlignedBlock> blocks;
            AlignedBlock state(trial->state->layout().bytes);
            trial->state->initialise(state.bytes(), 42, TrialId(3));
            for (int epoch = 0; epoch < 4; ++epoch) {
                if (blocks.empty() || !comes_back) blocks.emplace_back(trial->state->layout().bytes);
                auto const at = blocks.back().bytes();
                std::ranges::copy(state.bytes(), at.begin());
                trial->state->bind(at);
                trial->training->train_unit(*source(shard), unit(3, epoch, 0), {});
                if (epoch % 2 == 0) trial->evaluation->predict(*source(shard), {0, 2});
                std::ranges::copy(at, state.bytes().begin());
                std::ranges::fill(at, std::byte{0x7f});
            }
            return trial.hash(state);
        };
        EXPECT_EQ(trained(true), trained(false)) << c.model;
    }
}

TEST(Bits, DropoutDoesNotRememberWhatRanBefore) {
    auto const c = cases()[1];
    auto const after = [&](int units_before) {
        Trial trial(config_of(c), digits(61));
        auto const shard = random_shard(trial.manifest, 30, 1);
        AlignedBlock scratch(trial->state->layout().bytes), state(trial->state->layout().bytes);
        trial->state->initialise(scratch.bytes(), 1, TrialId(9));
        trial->state->bind(scratch.bytes());
        for (int i = 0; i < units_before; ++i) trial->training->train_unit(*source(shard), unit(9, i, 0), {});
        trial->state->initialise(state.bytes(), 42, TrialId(3));
        trial->state->bind(state.bytes());
        trial->training->train_unit(*source(shard), unit(3, 0, 0), {});
        return trial.hash(state);
    };
    EXPECT_EQ(after(0), after(3));
}

TEST(Bits, DropoutIsAddressedByTheUnit) {
    auto config = config_of(cases()[1]);
    Trial trial(config, digits(30));
    auto shard = random_shard(trial.manifest, 30, 1);
    config.train.batch_size = 30;
    for (std::int64_t r = 1; r < shard.rows; ++r) {  // equal rows: the order of a shuffle cannot matter
        auto const bytes = static_cast<std::size_t>(trial.manifest.row_size()) * sizeof(float);
        std::memcpy(shard.features.own().data() + static_cast<std::size_t>(r) * bytes, shard.features.data(), bytes);
        shard.labels[static_cast<std::size_t>(r)] = shard.labels[0];
    }
    auto const trained = [&](UnitAddress const& address) {
        AlignedBlock state(trial->state->layout().bytes);
        trial->state->initialise(state.bytes(), 42, TrialId(0));
        trial->state->bind(state.bytes());
        trial->training->train_unit(*source(shard), address, {});
        return trial.hash(state);
    };
    EXPECT_EQ(trained(unit(0, 0, 0)), trained(unit(0, 0, 0)));
    EXPECT_NE(trained(unit(0, 0, 0)), trained(unit(0, 1, 0)));
    EXPECT_NE(trained(unit(0, 0, 0)), trained(unit(0, 0, 1)));
    EXPECT_NE(trained(unit(0, 0, 0)), trained(unit(1, 0, 0)));
}

TEST(Bits, EvaluationInPiecesEqualsEvaluationAtOnce) {
    for (auto const& c : cases()) {
        Trial trial(config_of(c), digits(61));
        auto const shard = random_shard(trial.manifest, 700, 5);
        AlignedBlock state(trial->state->layout().bytes);
        trial->state->initialise(state.bytes(), 42, TrialId(3));
        trial->state->bind(state.bytes());
        ASSERT_EQ(trial->evaluation->evaluation_batches(700), 3);
        Evaluation whole(trial.manifest.task, trial.manifest.outputs), pieces = whole;
        trial->evaluation->evaluate(*source(shard), {0, 3}, whole);
        trial->evaluation->evaluate(*source(shard), {0, 1}, pieces);
        trial->evaluation->evaluate(*source(shard), {1, 2}, pieces);
        EXPECT_EQ(whole.rows(), 700);
        EXPECT_EQ(pieces.rows(), whole.rows());
        EXPECT_EQ(pieces.loss(), whole.loss());
        EXPECT_EQ(pieces.correct(), whole.correct());
        EXPECT_EQ(pieces.top5(), whole.top5());
        EXPECT_GE(whole.top5(), whole.correct());
        EXPECT_NEAR(whole.loss() / 700, 2.3, 1.0) << "about log(10) for an untrained network";
    }
}

}  // namespace bits_test
}  // namespace hopscotch::testing
