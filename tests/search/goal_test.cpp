// SPDX-License-Identifier: Apache-2.0
// search.budget.target and search.budget.patience: when they end a search, and what they leave alone.
#include <gtest/gtest.h>

#include "fake_director.hpp"
#include "search/goal.hpp"
#include "search/history.hpp"
#include "search/plan.hpp"

namespace hopscotch {
namespace goal_test {

using State = FakeDirector::State;
std::string const k_unit = R"({"train.optimizer.lr": {"type": "float", "low": 0, "high": 1}})";

SearchConfig config(Mode mode, std::optional<double> target, std::optional<std::int64_t> patience) {
    SearchConfig out;
    out.metric = mode == Mode::max ? "val_accuracy" : "val_loss";
    out.mode = mode;
    out.budget.target = target;
    out.budget.patience = patience;
    return out;
}

std::string random_until(std::string const& budget, int trials = 50) {
    return R"({"procedure": "random", "metric": "val_loss", "trials": )" + std::to_string(trials) + R"(, "budget": )" +
           budget + "}";
}

TEST(Goal, TargetIsReachedByEquals) {
    Goal max(config(Mode::max, 0.9, {}));
    max.report(TrialId(3), 2, -0.8999, {{-0.8999}});
    EXPECT_FALSE(max.is_over());
    max.report(TrialId(4), 5, -0.9, {{-0.9}});
    EXPECT_EQ(max.why(), "budget.target: trial 4 has val_accuracy 0.9 after epoch 5");
    max.report(TrialId(5), 1, -0.95, {{-0.95}});
    EXPECT_EQ(max.why(), "budget.target: trial 4 has val_accuracy 0.9 after epoch 5") << "the first one";
    Goal min(config(Mode::min, 0.25, {}));
    min.report(TrialId(0), 1, 0.26, {{0.26}});
    EXPECT_FALSE(min.is_over());
    min.report(TrialId(0), 2, 0.2, {{0.2}});
    EXPECT_TRUE(min.is_over());
}

TEST(Goal, PatienceCountsTrialsThatLeaveWithoutABest) {
    Goal goal(config(Mode::min, {}, 2));
    goal.report(TrialId(0), 1, 5, {{5}});
    goal.report(TrialId(1), 1, 6, {{6}});
    goal.rests(TrialId(1));  // 1
    goal.rests(TrialId(0));  // its own best: does not count
    goal.report(TrialId(2), 1, 5, {{5}});
    goal.report(TrialId(3), 1, 4, {{4}});  // from 0 again
    goal.rests(TrialId(2));                // 1: as good is not better
    EXPECT_FALSE(goal.is_over());
    goal.rests(TrialId(3));  // a best of its own, though it has left before
    EXPECT_FALSE(goal.is_over());
    goal.rests(TrialId(3));  // taken up again and paused again, without
    EXPECT_EQ(goal.why(), "budget.patience: 2 trials in a row without a better val_loss");
}

TEST(Goal, OfSeveralObjectivesATrialIsBetterIfNoneDominatesIt) {
    auto search = config(Mode::min, {}, 1);
    search.front = {{"val_loss", "parameters"}, {}, true};
    Goal goal(search);
    goal.report(TrialId(0), 1, 5, {{5, 100}});
    goal.report(TrialId(1), 1, 6, {{6, 50}});  // worse in val_loss, and smaller
    goal.rests(TrialId(1));
    goal.rests(TrialId(0));
    EXPECT_FALSE(goal.is_over());
    goal.report(TrialId(2), 1, 6, {{6, 50}});  // as good as trial 1
    goal.rests(TrialId(2));
    EXPECT_EQ(goal.why(), "budget.patience: 1 trial in a row without one that joins the Pareto front");
}

TEST(Goal, NobodyStartsOrGoesOnOnceTheTargetIsReached) {
    auto const search = make_search(search_experiment(random_until(R"({"target": 0.5})"), k_unit, R"({"epochs": 10})"));
    EXPECT_FALSE(search->decides_nothing()) << "the order of events matters now";
    // Trial 4 reaches it in its fourth epoch.
    FakeDirector director(
        *search, 3, [](TrialId id, auto const&, int epochs) { return id.value == 4 && epochs == 4 ? 0.5 : 1.0 + id.value; },
        7);
    ASSERT_TRUE(director.run());
    auto const stopped = director.count(State::stopped);
    EXPECT_GE(stopped, 1U);
    EXPECT_LE(stopped, 3U) << "who was in training";
    EXPECT_EQ(director.trials().at(4).epochs, 4);
    for (auto const& each : director.trials())
        EXPECT_EQ(each.why, each.state == State::stopped ? "budget.target: trial 4 has val_loss 0.5 after epoch 4" : "");
    EXPECT_LT(director.trials().size(), 20U);
}

TEST(Goal, PatienceEndsARandomSearch) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        auto const search = make_search(
            search_experiment(random_until(R"({"patience": 4})"), k_unit, R"({"epochs": 3})", std::to_string(seed)));
        std::vector<double> losses(50);
        Rng rng(seed);
        for (auto& each : losses) each = rng.below(5) == 0 ? k_worst : rng.uniform();
        // One at a time: plain counting tells where it ends.
        std::size_t expected = 0;
        for (double best = 2, bad = 0; expected < losses.size() && bad < 4; ++expected) {
            bad = losses[expected] < best ? 0 : bad + 1;
            best = std::min(best, losses[expected]);
        }
        auto const loss_of = [&](TrialId id, auto const&, int) {
            double const loss = losses[id.index()];
            return loss == k_worst ? std::nullopt : std::optional(loss);
        };
        FakeDirector director(*search, 1, loss_of, seed);
        ASSERT_TRUE(director.run());
        EXPECT_EQ(director.trials().size(), expected);
        EXPECT_EQ(director.count(State::stopped), 0U) << "the last one had come to its end";
        bool const told = expected < 50 && director.trials().back().state == State::finished;
        EXPECT_EQ(director.trials().back().why, told ? "budget.patience: 4 trials in a row without a better val_loss" : "");
    }
}

TEST(Goal, WhoIsPausedIsToldWhy) {
    auto const search = make_search(search_experiment(
        R"({"procedure": "successive_halving", "trials": 9, "metric": "val_loss", "budget": {"target": 0.5}})", k_unit,
        R"({"epochs": 9})"));
    FakeDirector director(*search, 1, [](TrialId id, auto const&, int) { return id.value == 5 ? 0.1 : 1.0; }, 1);
    ASSERT_TRUE(director.run());
    EXPECT_EQ(director.trials().size(), 6U);
    EXPECT_EQ(director.count(State::paused) + director.count(State::stopped), 6U);
    EXPECT_GE(director.count(State::paused), 3U) << "(otherwise this test says nothing)";
    EXPECT_EQ(director.trials()[5].state, State::stopped) << "it would wait for nothing";
    EXPECT_EQ(search->why_not_resumed(), "budget.target: trial 5 has val_loss 0.1 after epoch 1");
}

// An experiment with a target that random losses reach, and perhaps patience. Returns the target.
double draw_goal(std::string const& procedure, std::uint64_t seed, Rng& rng, std::unique_ptr<Search>& search) {
    double const target = 0.05 * rng.uniform();
    bool const patient = procedure.find("pbt") == std::string::npos && rng.below(2) == 0;
    auto const budget = R"({"target": )" + std::to_string(target) + (patient ? R"(, "patience": 9})" : "}");
    std::string const grid = R"({"train.optimizer.lr": {"type": "float", "low": 0, "high": 1, "count": 20}})";
    search = make_search(search_experiment("{" + procedure + R"(, "metric": "val_loss", "budget": )" + budget + "}",
                                           procedure.find("grid") == std::string::npos ? k_unit : grid, R"({"epochs": 9})",
                                           std::to_string(seed)));
    return std::stod(std::to_string(target));
}

// From the moment the target is reached nothing starts, is taken up again or goes beyond its next decision.
void expect_goal_holds(std::string const& procedure, std::uint64_t seed) {
    SCOPED_TRACE(procedure + " " + std::to_string(seed));
    Rng rng(seed);
    std::unique_ptr<Search> search;
    double const target = draw_goal(procedure, seed, rng, search);
    FakeDirector* running = nullptr;
    std::optional<std::size_t> steps;
    std::vector<int> most;
    auto const loss_of = [&](TrialId, auto const&, int) -> std::optional<double> {
        if (rng.below(20) == 0) return std::nullopt;
        double const loss = rng.uniform();
        if (loss <= target && !steps) {
            steps = running->log().size();
            for (auto const& each : running->trials()) most.push_back(each.until);
        }
        return loss;
    };
    FakeDirector director(*search, 1 + seed % 5, loss_of, seed);
    running = &director;
    ASSERT_TRUE(director.run());
    if (!steps) return;
    EXPECT_EQ(director.log().size(), *steps);
    for (std::size_t i = 0; i < most.size(); ++i) EXPECT_LE(director.trials()[i].epochs, most[i]);
}

// Whatever the procedure, the losses and the failures.
TEST(Goal, HoldsForEveryProcedure) {
    for (auto const* procedure :
         {R"("procedure": "random", "trials": 30)", R"("procedure": "tpe", "trials": 30)", R"("procedure": "grid")",
          R"("procedure": "successive_halving", "trials": 27)", R"("procedure": "hyperband")", R"("procedure": "bohb")",
          R"("procedure": "asha", "trials": 30)", R"("procedure": "asha", "variant": "stop", "trials": 30)",
          R"("procedure": "median", "trials": 30)", R"("procedure": "pbt", "population": 8, "interval": 2)"})
        for (std::uint64_t seed = 0; seed < 60; ++seed) expect_goal_holds(procedure, seed);
}

TEST(Goal, PlanIsAnUpperBound) {
    auto const plan = plan_of(search_experiment(random_until(R"({"target": 0.5})", 12), k_unit, R"({"epochs": 10})"));
    EXPECT_EQ(text_of(plan), "at most 12 trials, at most 120 epochs in all\n");
}

}  // namespace goal_test
}  // namespace hopscotch
