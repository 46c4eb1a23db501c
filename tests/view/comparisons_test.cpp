// SPDX-License-Identifier: Apache-2.0
// Groups, the Pareto front and an ablation's table, in summary.json and as text.
#include "view/comparisons.hpp"

#include <gtest/gtest.h>

#include "experiment/reader.hpp"
#include "view/leaderboard.hpp"

namespace hopscotch {
namespace comparisons_test {

TrialSummary trial(int id, double accuracy, double train_s, Assignment assignment) {
    TrialSummary out;
    out.id = TrialId(id);
    out.status = "finished";
    out.assignment = std::move(assignment);
    out.tally.train_s = train_s;
    out.tally.best.emplace();
    metric_place(*out.tally.best, "val_accuracy") = accuracy;
    out.tally.last = out.tally.best;
    return out;
}

Summary with_trials(std::vector<TrialSummary> trials) {
    Summary out;
    out.result.metric = "val_accuracy";
    out.trials = std::move(trials);
    return out;
}

SearchConfig searching(std::string const& first, std::string const& second) {
    SearchConfig out;
    out.front.names = {first, second};
    return out;
}

// Trial 4 has no best epoch, trial 3 another, worse trial of its size.
Summary five_trials() {
    auto out = with_trials(
        {trial(0, 0.9, 1, {}), trial(1, 0.8, 2, {}), trial(2, 0.95, 3, {}), trial(3, 0.7, 4, {}), trial(4, 1, 5, {})});
    double const parameters[] = {100, 50, 400, 60, 10}, megabytes[] = {3, 2, 1, 1, 1};
    for (std::size_t i = 0; i < 5; ++i) out.trials[i].measures = {{"parameters", parameters[i]}, {"state_mb", megabytes[i]}};
    out.trials[4].tally.best.reset();
    return out;
}

TEST(Comparisons, ParetoOfAMetricAndAMeasure) {
    auto summary = five_trials();
    summary.pareto = pareto_of(summary, searching("val_accuracy", "parameters"));
    auto const json = to_json(summary);
    EXPECT_EQ(json.at("pareto").at("trials").dump() + json.at("pareto").at("values").dump(),
              "[2,0,1][[0.95,400.0],[0.9,100.0],[0.8,50.0]]");
    EXPECT_EQ(json.at("pareto").at("knee").integer(), 0);
    // Of .25 x 350: .25 x 50 at 50, .1 x 250 less from 100 on, and so on.
    EXPECT_NEAR(json.at("pareto").at("hypervolume").number(), (.1 * 350 + .1 * 300) / (.25 * 350), 1e-12);
    EXPECT_EQ(json.at("trials").array()[0].at("measures").dump(), R"({"parameters":100.0,"state_mb":3.0})");
    EXPECT_EQ(pareto_text(summary),
              "Pareto front of val_accuracy and parameters: 3 of 5 trials, hypervolume 0.7429\n"
              "     trial  epochs  val_accuracy    parameters\n"
              "         2       0          0.95           400\n"
              "         0       0           0.9           100  knee\n"
              "         1       0           0.8            50\n");
    auto const front = pareto_of(summary, searching("state_mb", "train_s"));
    ASSERT_EQ(front->points.size(), 3U);
    EXPECT_EQ(front->points[0].trial, TrialId(2)) << "of 1 MB: 3 s rather than 4 s";
    EXPECT_FALSE(pareto_of(summary, SearchConfig{}));
    for (auto& each : summary.trials) each.measures.clear();
    EXPECT_FALSE(pareto_of(summary, searching("val_accuracy", "parameters"))) << "no one has measured";
    EXPECT_EQ(pareto_text(with_trials({})), "");
}

TEST(Comparisons, ObjectivesWithABoundAndAsColumns) {
    auto summary = five_trials();
    SearchConfig search;
    search.front = {{"val_accuracy", "parameters", "state_mb"}, {}, true};
    search.proposals.subject_to = {{"val_accuracy", 0.85, {}}};
    summary.pareto = pareto_of(summary, search);
    ASSERT_EQ(summary.pareto->points.size(), 2U) << "trials 1 and 3 are below 0.85";
    EXPECT_EQ(summary.pareto->points[0].values, (std::vector{0.95, 400.0, 1.0}));
    EXPECT_FALSE(summary.pareto->knee) << "of two there is none";
    auto const table = trials_csv(summary);
    EXPECT_EQ(table.substr(0, table.find('\n')).substr(table.find("parameters")), "parameters,state_mb,on_front");
    EXPECT_NE(table.find(",100,3,true\n"), std::string::npos) << table;
    EXPECT_NE(table.find(",50,2,false\n"), std::string::npos) << table;
}

TEST(Comparisons, IfNoTrialMeetsTheBoundsTheNearestAreListed) {
    auto summary = five_trials();
    SearchConfig search;
    search.front = {{"val_accuracy", "parameters"}, {}, true};
    search.proposals.subject_to = {{"val_accuracy", 0.99, {}}};
    summary.pareto = pareto_of(summary, search);
    ASSERT_EQ(summary.pareto->points.size(), 1U);
    EXPECT_EQ(summary.pareto->points[0].trial, TrialId(2)) << "0.95 misses by less than 0.9";
    EXPECT_TRUE(to_json(summary).at("pareto").at("misses_bounds").boolean());
    EXPECT_EQ(to_json(summary).at("pareto").at("hypervolume").number(), 0);
    EXPECT_NE(pareto_text(summary).find("no trial meets search.subject_to; these miss it by the least\n"),
              std::string::npos);
}

// Trials 0 and 1 are copies, and 2 and 3: the front is that of the means.
TEST(Comparisons, OfCopiesTheMeansAreCompared) {
    auto summary = five_trials();
    summary.trials.pop_back();
    summary.groups = {{{TrialId(0), TrialId(1)}, {}, {}, 0}, {{TrialId(2), TrialId(3)}, {}, {}, 0}};
    summary.trials[1].measures = summary.trials[0].measures;
    summary.trials[3].measures = summary.trials[2].measures;
    SearchConfig search;
    search.front = {{"val_accuracy", "parameters"}, {}, true};
    summary.pareto = pareto_of(summary, search);
    ASSERT_EQ(summary.pareto->points.size(), 1U);
    EXPECT_EQ(summary.pareto->points[0].trial, TrialId(0));
    EXPECT_NEAR(summary.pareto->points[0].values[0], 0.85, 1e-12);
    EXPECT_NE(pareto_text(summary).find("1 of 2 configurations"), std::string::npos);
    auto const table = trials_csv(summary);
    EXPECT_EQ(std::ranges::count(table, '\n'), 5);
    EXPECT_NE(table.find(",100,true\n1,"), std::string::npos) << "both copies: " << table;
}

// The mode of the search's own metric is the user's to set.
TEST(Comparisons, ParetoGoesByTheSearchsMode) {
    auto const summary = with_trials({trial(0, 0.9, 1, {}), trial(1, 0.8, 1, {})});
    auto search = searching("val_accuracy", "train_s");
    EXPECT_EQ(pareto_of(summary, search)->points.front().trial, TrialId(0));
    search.mode = Mode::min;
    EXPECT_EQ(pareto_of(summary, search)->points.front().trial, TrialId(1));
}

Experiment ablating(std::string const& more = "") {
    Problems problems("e.json");
    auto out = read_experiment(R"({"data": {"path": "d"}, "model": {"name": "mlp"}, "run": {"dir": "r"},
        "search": {"procedure": "ablation")" +
                                   more + R"(}, "space": {"model.dropout": [0.3, 0], "data.augment": [["flip"], []]}})",
                               {}, problems);
    EXPECT_EQ(problems.text(), "");
    return out;
}

// As the search proposes them.
Assignment ablated(int number) {
    Json const augment(number == 2 ? Json::Array{} : Json::Array{"flip"});
    return {{"model.dropout", number == 1 ? Json(0) : Json(0.3)}, {"data.augment", augment}};
}

TEST(Comparisons, AblationSaysWhatEachPartIsWorth) {
    auto summary = with_trials({trial(0, 0.75, 1, ablated(0)), trial(1, 0.5, 1, ablated(1)), trial(2, 0, 1, ablated(2))});
    summary.trials[2].tally.best.reset();
    summary.ablation = ablation_of(summary, ablating());
    EXPECT_EQ(to_json(summary).at("ablation").dump(),
              R"([{"key":"model.dropout","value":0,"trial":1,"difference":-0.25},{"key":"data.augment","value":[],)"
              R"("trial":2,"difference":null}])");
    EXPECT_EQ(ablation_text(summary),
              "what each part is worth: val_accuracy against trial 0 (0.7500)\n"
              "         1    -0.2500  dropout=0\n"
              "         2       none  augment=[]\n");
    auto grid = ablating();
    grid.search.procedure = grid.search.sampler = "grid";
    EXPECT_TRUE(ablation_of(summary, grid).empty());
}

TEST(Comparisons, AblationOfGroupsComparesMeans) {
    Summary summary = with_trials({});
    for (int i = 0; i < 6; ++i) {
        summary.trials.push_back(trial(i, 0, 1, ablated(i / 2)));
        summary.trials.back().assignment.emplace_back("search.repeat", i % 2);
    }
    summary.groups = {{{TrialId(0), TrialId(1)}, {0.5, 1}, 0.75, 0.1},
                      {{TrialId(2), TrialId(3)}, {1, 1}, 1.0, 0.1},
                      {{TrialId(4), TrialId(5)}, {1, k_no_score}, {}, 0}};
    auto const rows = ablation_of(summary, ablating(R"(, "repeats": 2)"));
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].trial, TrialId(2));
    EXPECT_EQ(rows[0].difference, 0.25);
    EXPECT_FALSE(rows[1].difference);
}

TEST(Comparisons, GroupsByTheirMeans) {
    Assignment const first{{"train.optimizer.lr", 0.1}, {"search.repeat", 0}},
        second{{"train.optimizer.lr", 0.2}, {"search.repeat", 0}};
    auto summary = with_trials({trial(0, 0.5, 1, first), trial(1, 1, 1, first), trial(2, 0.8, 1, second),
                                trial(3, 0.9, 1, second), trial(4, 1, 1, {}), trial(5, 1, 1, {})});
    summary.groups = {{{TrialId(0), TrialId(1)}, {0.5, 1}, 0.75, 0.25},
                      {{TrialId(2), TrialId(3)}, {0.8, 0.9}, 0.85, 0.0625},
                      {{TrialId(4), TrialId(5)}, {1, k_no_score}, {}, 0}};
    summary.result.best_trial = TrialId(3);
    EXPECT_EQ(leaderboard(summary, 80),
              "rank    trials  val_accuracy   spread  config\n"
              "   1       2-3        0.8500   0.0625  lr=0.2\n"
              "   2       0-1        0.7500   0.2500  lr=0.1\n"
              "     1 without a finite val_accuracy of every trial\n"
              "     trials 0-1 are 0.1 behind trials 2-3, within the noise (standard error\n"
              "     0.18)\n"
              "     best model: trial 3, epoch 0\n");
    auto const groups = to_json(summary).at("groups");
    EXPECT_EQ(groups.array()[0].dump(),
              R"({"trials":[0,1],"config":{"train.optimizer.lr":0.1},"mean":0.75,"spread":0.25,"values":[0.5,1.0]})");
    EXPECT_EQ(groups.array()[2].dump(), R"({"trials":[4,5],"config":{},"mean":null,"spread":null,"values":[1.0,null]})");
}

}  // namespace comparisons_test
}  // namespace hopscotch
