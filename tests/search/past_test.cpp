// SPDX-License-Identifier: Apache-2.0
// search.start_from, as the search sees it: what earlier trials teach, and that nothing is tried again.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "experiment/measures.hpp"
#include "fake_director.hpp"
#include "search/plan.hpp"
#include "search/tpe.hpp"

namespace hopscotch {
namespace past_test {

std::string const k_unit = R"({"train.optimizer.lr": {"type": "float", "low": 0, "high": 1}})";
std::string const k_six = R"({"train.optimizer.lr": [0.1, 0.2, 0.3], "train.batch_size": [8, 16]})";

Assignment rate(double value) { return {{"train.optimizer.lr", Json(value)}}; }

// Best near 0.7.
std::vector<PastTrial> results(int count, int epochs = 1) {
    std::vector<PastTrial> out;
    for (int i = 0; i < count; ++i) {
        double const x = (i + 0.5) / count;
        out.push_back({rate(x), std::vector<double>(static_cast<std::size_t>(epochs), std::abs(x - 0.7))});
    }
    return out;
}

std::vector<Assignment> all(Search& search) {
    std::vector<Assignment> out;
    while (auto const next = search.next()) out.push_back(next->assignment);
    return out;
}

Assignment both(double lr, int size) { return {{"train.optimizer.lr", Json(lr)}, {"train.batch_size", Json(size)}}; }

TEST(Past, OnlyWhatTheSpaceCouldPropose) {
    auto const experiment = search_experiment(
        R"({"procedure": "random", "trials": 9, "forbid": [{"train.optimizer.momentum": 0.5}]})",
        R"({"train.optimizer.name": ["sgd", "adam"], "train.batch_size": {"type": "int", "low": 8, "high": 32},
            "train.optimizer.momentum": {"type": "float", "low": 0, "high": 0.9, "when": {"train.optimizer.name":
"sgd"}}})");
    Problems told("");
    auto const space = read_space(experiment, told);
    auto const fits = [&](char const* text) { return is_in(space, assignment_from_json(parse_json(text, told))); };
    EXPECT_TRUE(fits(R"({"train.optimizer.name": "adam", "train.batch_size": 8})"));
    EXPECT_TRUE(fits(R"({"train.batch_size": 32, "train.optimizer.momentum": 0.9, "train.optimizer.name": "sgd"})"))
        << "any order";
    EXPECT_FALSE(fits(R"({"train.optimizer.name": "adam", "train.batch_size": 33})")) << "outside";
    EXPECT_FALSE(fits(R"({"train.optimizer.name": "adam", "train.batch_size": 8.5})")) << "not whole";
    EXPECT_FALSE(fits(R"({"train.optimizer.name": "lamb", "train.batch_size": 8})")) << "not on the list";
    EXPECT_FALSE(fits(R"({"train.optimizer.name": "adam"})")) << "a key is missing";
    EXPECT_FALSE(fits(R"({"train.optimizer.name": "sgd", "train.batch_size": 8})")) << "an active key is missing";
    EXPECT_FALSE(fits(R"({"train.optimizer.name": "adam", "train.batch_size": 8, "train.optimizer.momentum": 0.1})"))
        << "not active";
    EXPECT_FALSE(fits(R"({"train.optimizer.name": "adam", "train.batch_size": 8, "train.epochs": 3})")) << "not searched";
    EXPECT_FALSE(fits(R"({"train.optimizer.name": "sgd", "train.batch_size": 8, "train.optimizer.momentum": 0.5})"))
        << "forbidden";
    auto const read = [&](char const* text) { return assignment_from_json(parse_json(text, told)); };
    auto const usable = usable_past(space, {{read(R"({"train.batch_size": 8, "train.optimizer.name": "adam"})"), {1, 2}},
                                            {read(R"({"train.batch_size": 8, "train.optimizer.name": "lamb"})"), {1}},
                                            {read(R"({"train.batch_size": 9, "train.optimizer.name": "adam"})"), {}}});
    ASSERT_EQ(usable.size(), 1U) << "lamb is not on the list, and the last one has learnt nothing";
    EXPECT_EQ(to_json(usable[0].assignment).dump(), R"({"train.optimizer.name":"adam","train.batch_size":8})");
    EXPECT_EQ(usable[0].losses, (std::vector<double>{1, 2}));
}

TEST(Past, AFiniteSpaceIsGoneOnWith) {
    SearchContext context;
    context.past = {{both(0.2, 16), {1}}, {both(0.1, 8), {k_worst}}, {both(0.3, 8), {1}, PastTrial::Progress::cut_off}};
    std::set<std::string> const left{R"({"train.optimizer.lr":0.1,"train.batch_size":16})",
                                     R"({"train.optimizer.lr":0.2,"train.batch_size":8})",
                                     R"({"train.optimizer.lr":0.3,"train.batch_size":8})",
                                     R"({"train.optimizer.lr":0.3,"train.batch_size":16})"};
    for (auto const* search :
         {R"({"procedure": "grid"})", R"({"procedure": "random", "trials": 9})", R"({"procedure": "sobol", "trials": 9})"}) {
        std::set<std::string> tried;
        auto const experiment = search_experiment(search, k_six);
        auto const made = all(*make_search(experiment, context));
        for (auto const& each : made) tried.insert(to_json(each).dump());
        EXPECT_EQ(made.size(), 4U) << search;
        EXPECT_EQ(tried, left) << search;
        EXPECT_EQ(plan_of(experiment, context).trials, 4) << search;
    }
}

TEST(Past, BracketsAreAsLargeAsWhatIsLeft) {
    SearchContext context;
    context.past = {{both(0.2, 16), {1}}, {both(0.1, 8), {1}}, {both(0.3, 8), {1}}};
    auto const experiment =
        search_experiment(R"({"procedure": "successive_halving", "sampler": "grid"})", k_six, R"({"epochs": 3})");
    EXPECT_EQ(text_of(plan_of(experiment)), "rungs: 6 to epoch 1, 2 to epoch 3\n6 trials, 10 epochs in all\n");
    EXPECT_EQ(text_of(plan_of(experiment, context)), "rungs: 3 to epoch 1, 1 to epoch 3\n3 trials, 5 epochs in all\n");
    auto const search = make_search(experiment, context);
    FakeDirector director(*search, 2, [](TrialId id, auto const&, int) { return 1.0 + id.value; }, 1);
    ASSERT_TRUE(director.run());
    EXPECT_EQ(director.trials().size(), 3U);
    EXPECT_EQ(director.count_at(3), 1U);
}

TEST(Past, EverythingWasTriedBefore) {
    SearchContext context;
    for (double lr : {0.1, 0.2, 0.3})
        for (int size : {8, 16}) context.past.push_back({both(lr, size), {1}});
    for (auto const* text :
         {R"({"procedure": "grid"})", R"({"procedure": "random", "trials": 9})", R"({"procedure": "tpe", "trials": 9})"}) {
        auto const search = make_search(search_experiment(text, k_six), context);
        EXPECT_FALSE(search->next()) << text;
        EXPECT_TRUE(search->finished()) << text;
    }
}

TEST(Past, TpeNeedsNoStartup) {
    auto const experiment = search_experiment(R"({"procedure": "tpe", "trials": 8, "startup": 10})", k_unit);
    int near = 0, near_without = 0;
    for (auto const& each : all(*make_search(experiment, {results(40)})))
        near += std::abs(each[0].second.number() - 0.7) < 0.2 ? 1 : 0;
    for (auto const& each : all(*make_search(experiment)))
        near_without += std::abs(each[0].second.number() - 0.7) < 0.2 ? 1 : 0;
    EXPECT_GE(near, 7) << "from the first trial on";
    EXPECT_LE(near_without, 6) << "(otherwise this test says nothing)";
    auto const first = [&](std::vector<PastTrial> past) { return all(*make_search(experiment, {std::move(past)})).front(); };
    EXPECT_EQ(first(results(9)), first({})) << "nine are too few";
}

TEST(Past, WhatWasCutOffOrFailedIsNoGoodResult) {
    History history;
    for (auto& each : results(12)) history.add_past(std::move(each));
    EXPECT_EQ(split_results(history, {Fidelity::last, 10}).good, (std::vector<std::size_t>{7, 8}));
    history.add_past({rate(0.69), {0.001}, PastTrial::Progress::cut_off});
    history.add_past({rate(0.71), {0.001, k_worst}});
    history.add(rate(0.5), 1);
    history.add_loss(TrialId(0), 0.0001);
    history.of(TrialId(0)).state = TrialHistory::State::ended;
    auto const split = split_results(history, {Fidelity::last, 10});
    EXPECT_EQ(split.good, (std::vector<std::size_t>{8, 14})) << "trials of this run come after those of the past";
    EXPECT_EQ(std::count(split.bad.begin(), split.bad.end(), 12U), 0) << "cut off";
    EXPECT_EQ(std::count(split.bad.begin(), split.bad.end(), 13U), 1) << "failed";
    EXPECT_FALSE(history.has_seen(rate(0.69)));
    EXPECT_TRUE(history.has_seen(rate(0.71)));
    EXPECT_EQ(history.size(), 1U) << "ids are dense";
}

// Rungs and medians know nothing of the past: the same trials go on as if there were none.
TEST(Past, RulesDoNotSeeIt) {
    for (auto const* text : {R"({"procedure": "asha", "trials": 27})", R"({"procedure": "hyperband"})",
                             R"({"procedure": "median", "trials": 20})", R"({"procedure": "pbt"})"}) {
        auto const experiment = search_experiment(text, k_unit, R"({"epochs": 9})");
        auto const log_of = [&](SearchContext const& context) {
            auto const search = make_search(experiment, context);
            FakeDirector director(
                *search, 4,
                [](TrialId id, auto const&, int epochs) { return std::fmod(id.value * 0.618, 1) + 1.0 / epochs; }, 3);
            EXPECT_TRUE(director.run());
            auto out = director.log();
            for (auto const& each : director.trials()) out.push_back(std::to_string(each.epochs) + " " + each.why);
            return out;
        };
        EXPECT_EQ(log_of({}), log_of({results(30, 20)})) << text;
    }
}

// Past results of longer trainings than this run's do not hide its own.
TEST(Past, LongerTrainingsCountUpToMaxEpochs) {
    auto const experiment = search_experiment(R"({"procedure": "bohb", "max_epochs": 9})", k_unit, R"({"epochs": 20})");
    auto past = results(30, 20);
    for (auto& each : past)
        for (std::size_t i = 9; i < 20; ++i)
            each.losses[i] = std::abs(each.assignment[0].second.number() - 0.2);  // it turns
    auto const search = make_search(experiment, {past});
    EXPECT_NEAR(search->next()->assignment[0].second.number(), 0.7, 0.25);
}

std::vector<Assignment> starts_with(std::string const& more, std::vector<PastTrial> past) {
    SearchContext context;
    context.past = std::move(past);
    auto const experiment = search_experiment(
        R"({"procedure": "random", "trials": 4, "start_from": "runs/first")" + more + "}", k_unit, R"({"epochs": 1})");
    return all(*make_search(experiment, context));
}

TEST(Past, TheBestAreTriedFirst) {
    auto past = results(10);  // 0.65 and 0.75 are the best ones, then 0.55 and 0.85; equals by their order
    past[3].losses = {0.01, 0.5};
    past[6].losses.back() = k_worst;  // 0.65 has failed
    auto const tried = starts_with(R"(, "start_with_best": 3)", past);
    ASSERT_EQ(tried.size(), 4U);
    EXPECT_EQ(tried[0], rate(0.75));
    EXPECT_EQ(tried[1], rate(0.55)) << "the last result counts, not the best one on the way";
    EXPECT_EQ(tried[2], rate(0.85));
    auto const after =
        starts_with(R"(, "start_with_best": 2, "start_with": [{"train.optimizer.lr": 0.75}, {"train.optimizer.lr":
                                   0.1}])",
                    past);
    EXPECT_EQ(after[0], rate(0.75));
    EXPECT_EQ(after[1], rate(0.1));
    EXPECT_EQ(after[2], rate(0.55)) << "a configuration is not tried twice";
}

TEST(Past, FewerThanTheBestThatWereWanted) {
    auto past = results(2);
    past[1].progress = PastTrial::Progress::cut_off;
    auto const tried = starts_with(R"(, "start_with_best": 5)", past);
    ASSERT_EQ(tried.size(), 4U);
    EXPECT_EQ(tried[0], rate(0.25));
    EXPECT_NE(tried[1], rate(0.75)) << "its last result means little";
}

// It names no configuration, so what this experiment refuses is left out.
TEST(Past, TheBestThatAreAllowed) {
    SearchContext context;
    context.past = {{both(0.1, 8), {3}}, {both(0.2, 16), {1}}, {both(0.3, 8), {2}}};
    context.measure = [](Assignment const& each) {
        return Measures{100 * value_of(each, "train.batch_size")->number(), 0, 0};
    };
    auto const experiment = search_experiment(R"({"procedure": "random", "trials": 3, "start_from": "runs/first",
                                                  "start_with_best": 2, "subject_to": {"parameters": {"below": 1000}}})",
                                              k_six, R"({"epochs": 1})");
    auto const tried = all(*make_search(experiment, context));
    ASSERT_GE(tried.size(), 2U);
    EXPECT_EQ(tried[0], both(0.3, 8));
    EXPECT_EQ(tried[1], both(0.1, 8));
}

TEST(Past, TheBestOfAGridAreTrainedBesideTheRest) {
    SearchContext context;
    context.past = {{both(0.1, 8), {3}}, {both(0.2, 8), {1}}, {both(0.3, 8), {2}}};
    auto const experiment = search_experiment(R"({"procedure": "grid", "start_from": "runs/first", "start_with_best": 2})",
                                              k_six, R"({"epochs": 1})");
    auto const tried = all(*make_search(experiment, context));
    EXPECT_EQ(tried, (std::vector<Assignment>{both(0.2, 8), both(0.3, 8), both(0.1, 16), both(0.2, 16), both(0.3, 16)}));
    EXPECT_EQ(plan_of(experiment, context).trials, 5);
}

}  // namespace past_test
}  // namespace hopscotch
