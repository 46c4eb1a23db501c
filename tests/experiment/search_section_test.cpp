// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "documents.hpp"
#include "experiment/objectives.hpp"
#include "experiment/procedures.hpp"
#include "experiment/search_section.hpp"

namespace hopscotch {
namespace search_section_test {

// The search section on line 2, the rest on line 3.
std::string with_search(std::string const& search,
                        std::string const& rest = R"("space": {"train.optimizer.lr": [0.1, 0.2]})") {
    return document("\"search\": " + search + ",\n" + rest);
}
std::string said(std::string const& search) { return complaints(with_search(search)); }
std::string said(std::string const& search, std::string const& rest) { return complaints(with_search(search, rest)); }

SearchConfig read(std::string const& search) {
    Problems problems("e.json");
    auto out = read_experiment(with_search(search), {}, problems).search;
    EXPECT_EQ(problems.text(), "") << search;
    return out;
}

TEST(SearchSection, EveryKey) {
    auto const asha =
        read(R"({"procedure": "asha", "sampler": "tpe", "trials": 50, "eta": 4, "min_epochs": 2, "max_epochs": 8,
        "variant": "stop", "startup": 7, "candidates": 30, "multivariate": false, "in_flight": 6, "lookahead": 0.5,
        "deterministic": false, "budget": {"trials": 40, "epochs": 300}, "start_with": [{"train.optimizer.lr": 0.2}]})");
    EXPECT_EQ(asha.sampler, "tpe");
    EXPECT_EQ(asha.trials, 50);
    EXPECT_EQ(asha.rule.eta, 4);
    EXPECT_EQ(asha.rule.min_epochs, 2);
    EXPECT_EQ(asha.rule.max_epochs, 8);
    EXPECT_EQ(asha.rule.variant, AshaVariant::stop);
    EXPECT_EQ(asha.proposals.tpe.startup, 7);
    EXPECT_EQ(asha.proposals.tpe.candidates, 30);
    EXPECT_FALSE(asha.proposals.tpe.multivariate);
    EXPECT_EQ(asha.in_flight, 6);
    EXPECT_EQ(asha.decide.lookahead, 0.5);
    EXPECT_FALSE(asha.decide.deterministic);
    EXPECT_EQ(asha.budget.trials, 40);
    EXPECT_EQ(asha.budget.epochs, 300);
    EXPECT_EQ(asha.proposals.start_with.array().size(), 1U);
    auto const pbt =
        read(R"({"procedure": "pbt", "population": 6, "interval": 3, "quantile": 0.5, "resample": 0, "factors": [0.5, 2]})");
    EXPECT_EQ(pbt.rule.pbt.population, 6);
    EXPECT_EQ(pbt.rule.pbt.interval, 3);
    EXPECT_EQ(pbt.rule.pbt.quantile, 0.5);
    EXPECT_EQ(pbt.rule.pbt.resample, 0);
    EXPECT_EQ(pbt.rule.pbt.factors, (std::vector<double>{0.5, 2}));
    EXPECT_EQ(read(R"({"procedure": "median", "trials": 9, "min_trials": 2})").rule.min_trials, 2);
}

TEST(SearchSection, WhatIsCompared) {
    auto const out = read(R"({"objective": "best", "repeats": 3, "folds": 2, "pareto": ["val_accuracy", "parameters"],
        "subject_to": {"parameters": {"below": 1e6}, "flops_per_row": {"above": 10, "below": 1e9}}})");
    EXPECT_EQ(out.objective, Objective::best);
    EXPECT_EQ(out.copies.repeats, 3);
    EXPECT_EQ(out.copies.folds, 2);
    EXPECT_EQ(out.copies.count(), 6);
    EXPECT_EQ(out.front.names, (std::vector<std::string>{"val_accuracy", "parameters"}));
    ASSERT_EQ(out.proposals.subject_to.size(), 2U);
    EXPECT_EQ(out.proposals.subject_to[0].name, "parameters");
    EXPECT_EQ(out.proposals.subject_to[0].below, 1e6);
    EXPECT_FALSE(out.proposals.subject_to[0].above);
    EXPECT_EQ(out.proposals.subject_to[1].above, 10);
    EXPECT_EQ(read("{}").objective, Objective::last);
    EXPECT_EQ(read("{}").copies.count(), 1);
}

TEST(SearchSection, CopiesOfAConfiguration) {
    EXPECT_EQ(said(R"({"repeats": 0, "folds": 0, "objective": "first"})"),
              "e.json:2:23: /search/repeats: must be at least 1 (got 0)\n"
              "e.json:2:35: /search/folds: must be at least 1 (got 0)\n"
              "e.json:2:51: /search/objective: unknown value \"first\" (known: last, best)");
    EXPECT_EQ(said(R"({"repeats": 40, "folds": 50})"),
              "e.json:2:36: /search/folds: repeats x folds must be at most 1000 (got 2000)");
    EXPECT_EQ(
        said(R"({"procedure": "pbt", "repeats": 2})"),
        "e.json:2:43: /search/repeats: cannot be more than 1 with pbt (its trials take over each other's states, so copies "
        "of a configuration become different); leave it out");
    EXPECT_EQ(said(R"({"procedure": "pbt", "repeats": 1, "folds": 1})"), "");
    EXPECT_EQ(said(R"({"repeats": 3, "race": true})"), "");
    EXPECT_EQ(
        said(R"({"race": true})"),
        "e.json:2:20: /search/race: needs repeats or folds (each configuration is trained once); set one of them, or leave "
        "race out");
    EXPECT_EQ(said(R"({"folds": 3, "race": true, "objectives": ["val_loss", "parameters"]})"),
              "e.json:2:32: /search/race: compares one metric (search.objectives names several); leave one of the two out");
    EXPECT_EQ(
        said(R"({"folds": 3, "race": true, "budget": {"target": 0.9}})"),
        "e.json:2:32: /search/race: would go on after the end that budget.target or budget.patience set; leave it out");
    EXPECT_EQ(said(R"({"procedure": "random", "repeats": 3, "race": true, "budget": {"epochs": 9}})"),
              "e.json:2:57: /search/race: would never begin (first copies spend all of budget.epochs); set search.trials");
    EXPECT_EQ(said(R"({"procedure": "ablation", "folds": 3, "race": true})",
                   R"("space": {"train.optimizer.lr": [0.1, 0.2]})"),
              "e.json:2:57: /search/race: has no use with ablation (which needs all copies of every trial); leave it out");
    std::string const reserved = R"("space": {"search.repeat": [0, 1]})";
    EXPECT_EQ(said(R"({"repeats": 2})", reserved),
              "e.json:3:11: /space/search.repeat: cannot be searched (only settings in model, train and data can, such as "
              "train.optimizer.lr)");
}

TEST(SearchSection, Constraints) {
    EXPECT_EQ(
        said(R"({"subject_to": {"parametrs": {"below": 1}, "val_loss": {"below": 1}, "parameters": {},
"state_mb": {"above": 3, "below": 2, "belw": 1}, "flops_per_row": 3}})"),
        "e.json:2:40: /search/subject_to/parametrs: is not known and cannot be constrained (known: parameters, state_mb, "
        "flops_per_row)\n"
        "e.json:2:66: /search/subject_to/val_loss: is a result and cannot be constrained (known: parameters, state_mb, "
        "flops_per_row); name it in search.objectives, too\n"
        "e.json:2:94: /search/subject_to/parameters/below: missing (required); say which values are allowed, for example "
        "{\"below\": 1e6}\n"
        "e.json:3:35: /search/subject_to/state_mb/below: must be greater than above (got 2 <= 3; no value is between them)\n"
        "e.json:3:38: /search/subject_to/state_mb/belw: unknown key; did you mean \"below\"?\n"
        "e.json:3:67: /search/subject_to/flops_per_row: expected an object (got an integer)");
}

TEST(SearchSection, ParetoIsOfTwo) {
    EXPECT_EQ(said(R"({"pareto": ["val_loss"]})"),
              "e.json:2:22: /search/pareto: expected two different names, for example [\"val_accuracy\", \"parameters\"]");
    EXPECT_EQ(said(R"({"pareto": ["val_loss", "val_loss"]})").substr(0, 59),
              "e.json:2:22: /search/pareto: expected two different names, ");
    EXPECT_EQ(said(R"({"pareto": ["val_loss", "params"]})").substr(0, 59),
              "e.json:2:22: /search/pareto: unknown value \"params\" (known:");
}

TEST(SearchSection, Objectives) {
    auto const out = read(R"({"procedure": "asha", "trials": 9, "objectives": ["parameters", "val_loss", "val_accuracy"],
        "subject_to": {"val_accuracy": {"above": 0.9}, "state_mb": {"below": 3}}})");
    EXPECT_EQ(out.metric, "val_loss") << "the first metric";
    EXPECT_EQ(out.mode, Mode::min);
    EXPECT_EQ(objectives_of(out), (std::vector<ObjectiveMeasure>{{"parameters", Mode::min, false},
                                                                 {"val_loss", Mode::min, true},
                                                                 {"val_accuracy", Mode::max, true}}));
    EXPECT_EQ(objective_count(out), 3U);
    EXPECT_EQ(objective_count(read("{}")), 1U);
    EXPECT_EQ(violation_of(out, {100, 1, 0.95}), 0);
    EXPECT_NEAR(violation_of(out, {100, 1, 0.45}), 0.5, 1e-12) << "half of the bound is missing";
    EXPECT_GT(violation_of(out, {100, 1, 0.9}), 0) << "bounds are exclusive";
    EXPECT_EQ(read(R"({"objectives": ["val_loss", "val_accuracy"], "metric": "val_accuracy"})").metric, "val_accuracy");
    auto const chosen = read(R"({"objectives": ["val_loss", "parameters"], "modes": {"parameters": "max"}})");
    EXPECT_EQ(objectives_of(chosen)[1].mode, Mode::max);
    auto const reversed = read(R"({"objectives": ["val_loss", "val_accuracy"], "mode": "max"})");
    EXPECT_EQ(objectives_of(reversed)[0].mode, Mode::max) << "search.mode is that of search.metric";
}

TEST(SearchSection, ObjectivesThatCannotBe) {
    EXPECT_EQ(said(R"({"objectives": ["parameters", "state_mb"]})"),
              "e.json:2:26: /search/objectives: name no metric (a search needs a result of the training); add "
              "\"val_accuracy\"");
    EXPECT_EQ(said(R"({"objectives": ["val_loss"]})"),
              "e.json:2:26: /search/objectives: expected two or three different names, for example [\"val_accuracy\", "
              "\"parameters\"]");
    EXPECT_EQ(said(R"({"objectives": ["val_loss", "train_s"]})").substr(0, 64),
              "e.json:2:26: /search/objectives: unknown value \"train_s\" (known:");
    EXPECT_EQ(
        said(R"({"objectives": ["val_loss", "parameters"], "metric": "val_accuracy"})"),
        "e.json:2:64: /search/metric: must be one of the objectives (it chooses the best epoch of a trial and the best "
        "trial; got val_accuracy); leave it out, or name it in objectives, too");
    EXPECT_EQ(said(R"({"objectives": ["val_loss", "parameters"], "modes": {"val_loss": "max", "state_mb": "min",
"parameters": "least"}})"),
              "e.json:2:76: /search/modes/val_loss: is search.metric; write search.mode\n"
              "e.json:2:95: /search/modes/state_mb: is neither in objectives nor in pareto; leave it out\n"
              "e.json:3:15: /search/modes/parameters: unknown value \"least\" (known: min, max)");
    EXPECT_EQ(said(R"({"objectives": ["val_loss", "parameters"], "objective": "best"})"),
              "e.json:2:67: /search/objective: cannot be best with objectives (each may be best after another epoch); leave "
              "it out");
    EXPECT_EQ(said(R"({"objectives": ["val_loss", "parameters"], "pareto": ["val_loss", "train_s"]})"),
              "e.json:2:64: /search/pareto: has no effect beside objectives (their front is listed); leave it out");
    EXPECT_EQ(
        said(R"({"objectives": ["val_accuracy", "parameters"], "subject_to": {"val_accuracy": {"above": 90}}})"),
        "e.json:2:99: /search/subject_to/val_accuracy/above: cannot be met (got 90; val_accuracy is at most 1); write 0.9 "
        "for 90 %");
    EXPECT_EQ(said(R"({"procedure": "median", "trials": 3, "objectives": ["val_loss", "parameters"]})").substr(0, 64),
              "e.json:2:62: /search/objectives: objectives belongs to grid, ran");
}

TEST(SearchSection, Hours) {
    auto const out = read(R"({"budget": {"hours": 2.5, "hours_per_trial": 0.25}, "retries": 3})");
    EXPECT_EQ(out.budget.hours, 2.5);
    EXPECT_EQ(out.budget.hours_per_trial, 0.25);
    EXPECT_EQ(out.retries, 3);
    EXPECT_FALSE(read("{}").budget.hours);
    EXPECT_FALSE(read("{}").budget.hours_per_trial);
    EXPECT_EQ(read("{}").retries, 0);
    EXPECT_EQ(said(R"({"budget": {"hours": 0, "hours_per_trial": -1}, "retries": -1})"),
              "e.json:2:32: /search/budget/hours: must be greater than 0 (got 0)\n"
              "e.json:2:54: /search/budget/hours_per_trial: must be greater than 0 (got -1)\n"
              "e.json:2:70: /search/retries: must be at least 0 (got -1)");
}

TEST(SearchSection, Defaults) {
    auto const sampler = [](std::string const& search) { return read(search).sampler; };
    EXPECT_EQ(sampler("{}"), "grid");
    EXPECT_EQ(sampler(R"({"procedure": "sobol", "trials": 2})"), "sobol");
    EXPECT_EQ(sampler(R"({"procedure": "hyperband"})"), "random");
    EXPECT_EQ(sampler(R"({"procedure": "bohb"})"), "tpe");
    EXPECT_EQ(sampler(R"({"procedure": "pbt"})"), "random");
    auto const out = read("{}");
    EXPECT_EQ(out.rule.eta, 3);
    EXPECT_FALSE(out.rule.min_epochs);
    EXPECT_FALSE(out.rule.max_epochs);
    EXPECT_FALSE(out.rule.keep);
    EXPECT_EQ(out.rule.variant, AshaVariant::promote);
    EXPECT_EQ(out.decide.lookahead, 1);
    EXPECT_TRUE(out.decide.deterministic);
}

TEST(SearchSection, KeysOfOtherProcedures) {
    EXPECT_EQ(said(R"({"procedure": "random", "trials": 3, "eta": 3, "population": 9, "sampler": "tpe"})"),
              "e.json:2:55: /search/eta: eta belongs to " + owners(procedures_with("eta")) +
                  " (the procedure here is "
                  "\"random\"); leave it out\n"
                  "e.json:2:72: /search/population: population belongs to " +
                  owners(procedures_with("population")) +
                  " (the procedure here is \"random\"); leave it out\n"
                  "e.json:2:86: /search/sampler: sampler belongs to " +
                  owners(procedures_with("sampler")) +
                  " (the "
                  "procedure here is \"random\"); leave it out");
    EXPECT_EQ(said(R"({"procedure": "asha", "trials": 3, "startup": 3})"),
              "e.json:2:57: /search/startup: startup belongs to " + owners(samplers_with("startup")) +
                  " (the sampler here is \"random\"); leave it out");
    EXPECT_EQ(said(R"({"procedure": "pbt", "trials": 3})"), "e.json:2:42: /search/trials: trials belongs to " +
                                                                owners(procedures_with("trials")) +
                                                                " (the procedure here is \"pbt\"); leave it out");
    EXPECT_EQ(said(R"({"procedure": "pbt", "sampler": "tpe"})"),
              "e.json:2:43: /search/sampler: unknown value \"tpe\" (known: " + listed(procedure_traits("pbt").samplers) +
                  ")");
    EXPECT_EQ(said(R"({"procedure": "ablation", "start_with": []})"),
              "e.json:2:51: /search/start_with: start_with belongs to " + owners(procedures_with("start_with")) +
                  " (the procedure here is \"ablation\"); leave it out");
    EXPECT_EQ(said(R"({"procedure": "ashaa", "eta": 3})").substr(0, 61),
              "e.json:2:25: /search/procedure: unknown value \"ashaa\" (known:")
        << "and nothing about eta";
}

TEST(SearchSection, TrialsWhereTheyAreNeeded) {
    for (std::string procedure : {"sobol", "tpe", "asha", "median"})
        EXPECT_EQ(said("{\"procedure\": \"" + procedure + "\"}"),
                  "e.json:2:11: /search/trials: missing (required); say how many configurations " + procedure +
                      " search should draw, for example 16");
    EXPECT_EQ(
        said(R"({"procedure": "successive_halving"})"),
        "e.json:2:11: /search/trials: missing (required); say how many configurations successive halving search should "
        "draw, for example 16");
    for (auto const* enough :
         {R"({"procedure": "asha", "budget": {"epochs": 9}})", R"({"procedure": "tpe", "budget": {"trials": 9}})",
          R"({"procedure": "asha", "sampler": "grid"})", R"({"procedure": "hyperband"})", R"({"procedure": "bohb"})",
          R"({"procedure": "pbt"})", R"({"procedure": "ablation"})"})
        EXPECT_EQ(said(enough), "") << enough;
}

TEST(SearchSection, Ranges) {
    EXPECT_EQ(said(R"({"procedure": "asha", "trials": 3, "eta": 1, "min_epochs": 0, "lookahead": -1})"),
              "e.json:2:53: /search/eta: must be at least 2 (got 1)\n"
              "e.json:2:70: /search/min_epochs: must be at least 1 (got 0)\n"
              "e.json:2:86: /search/lookahead: must be at least 0 (got -1)");
    EXPECT_EQ(said(R"({"procedure": "pbt", "quantile": 0.6, "factors": [0.8, 0]})"),
              "e.json:2:44: /search/quantile: must be between 0 and 0.5 (got 0.6)\n"
              "e.json:2:60: /search/factors: element 1 must be greater than 0 (got 0)");
    EXPECT_EQ(said(R"({"procedure": "pbt", "factors": []})"),
              "e.json:2:43: /search/factors: is empty (numbers could not be perturbed); write [0.8, 1.2]");
}

TEST(SearchSection, BudgetsThatLookAtResults) {
    auto const budget = read(R"({"procedure": "grid", "budget": {"target": 0.9, "patience": 5}})").budget;
    EXPECT_EQ(budget.target, 0.9);
    EXPECT_EQ(budget.patience, 5);
    EXPECT_EQ(said(R"({"procedure": "grid", "budget": {"target": "0.9", "patience": 0}})"),
              "e.json:2:54: /search/budget/target: expected a number or null (got a string)\n"
              "e.json:2:73: /search/budget/patience: must be at least 1 (got 0)");
    EXPECT_EQ(said(R"({"procedure": "pbt", "budget": {"patience": 5}})"),
              "e.json:2:55: /search/budget/patience: patience belongs to " + owners(procedures_with("patience")) +
                  " (the procedure here is \"pbt\"); leave it out");
}

// Only where the metric cannot be so large; told once the dataset has said which metric holds.
TEST(SearchSection, TargetsOutOfReach) {
    auto const told = [](std::string const& search) {
        Problems problems("e.json");
        auto const experiment = read_experiment(with_search(search), {}, problems);
        check_target(experiment, problems);
        return problems.text();
    };
    EXPECT_EQ(
        told(R"({"budget": {"target": 90}})"),
        "e.json:2:33: /search/budget/target: cannot be reached (got 90; val_accuracy is at most 1); write 0.9 for 90 %");
    EXPECT_EQ(told(R"({"budget": {"target": 1}})"), "");
    EXPECT_EQ(told(R"({"budget": {"target": 90}, "metric": "val_perplexity"})"), "");
    EXPECT_EQ(told(R"({"budget": {"trials": 90}})"), "");
}

TEST(SearchSection, StartFrom) {
    EXPECT_EQ(read(R"({"procedure": "tpe", "trials": 9, "start_from": "runs/first"})").proposals.start_from, "runs/first");
    EXPECT_EQ(said(R"({"procedure": "bohb", "start_from": ""})"), "e.json:2:47: /search/start_from: must not be empty");
    EXPECT_EQ(said(R"({"procedure": "asha", "trials": 9, "start_from": 7})"),
              "e.json:2:60: /search/start_from: expected a string (got an integer)");
    EXPECT_EQ(said(R"({"procedure": "ablation", "start_from": "runs/first"})"),
              "e.json:2:51: /search/start_from: start_from belongs to " + owners(procedures_with("start_from")) +
                  " (the procedure here is \"ablation\"); leave it out");
}

TEST(SearchSection, EpochsOfRules) {
    std::string const space = R"("space": {"train.optimizer.lr": [0.1, 0.2]}, "train": {"epochs": 9})";
    EXPECT_EQ(said(R"({"procedure": "asha", "trials": 3, "max_epochs": 27})", space),
              "e.json:2:60: /search/max_epochs: must be at most train.epochs (got 27 > 9; schedules end there); raise "
              "train.epochs");
    EXPECT_EQ(said(R"({"procedure": "asha", "trials": 3, "min_epochs": 10})", space),
              "e.json:2:60: /search/min_epochs: must be at most train.epochs (got 10 > 9)");
    EXPECT_EQ(said(R"({"procedure": "asha", "trials": 3, "min_epochs": 5, "max_epochs": 4})", space),
              "e.json:2:60: /search/min_epochs: must be at most max_epochs (got 5 > 4)");
    EXPECT_EQ(
        said(R"({"procedure": "bohb"})", R"("space": {"train.epochs": [3, 9]})"),
        "e.json:3:11: /space/train.epochs: cannot be searched with bohb (it compares trials after equally many epochs, and "
        "schedules end at train.epochs); leave it out");
    EXPECT_EQ(said(R"({"procedure": "tpe", "trials": 2})", R"("space": {"train.epochs": [3, 9]})"), "");
}

TEST(SearchSection, PbtLeavesTheStateAsItIs) {
    EXPECT_EQ(
        said(R"({"procedure": "pbt"})", R"("space": {"model.hidden": [[8], [16]], "train.optimizer.name": ["sgd", "adam"],
"train.optimizer.momentum": [0, 0.9], "model.dropout": [0, 0.1], "train.batch_size": [16, 32],
"model.activation": ["relu"]})"),
        "e.json:3:11: /space/model.hidden: cannot be searched with pbt (trials take over each other's states, and this key "
        "changes their layout); make it a constant\ne.json:3:40: /space/train.optimizer.name: cannot be searched with pbt "
        "(trials take over each other's states, and this key changes their layout); make it a constant\ne.json:4:1: "
        "/space/train.optimizer.momentum: cannot be both 0 and greater with pbt (trials take over each other's states, and "
        "0 has no tensor there); leave 0 out");
    EXPECT_EQ(said(R"({"procedure": "pbt"})",
                   R"("space": {"train.optimizer.momentum": {"type": "float", "low": 0.5, "high": 0.9}})"),
              "");
}

TEST(SearchSection, AblationNeedsLists) {
    EXPECT_EQ(
        said(R"({"procedure": "ablation"})", R"("space": {"model.dropout": {"type": "float", "low": 0, "high": 1}})"),
        "e.json:3:28: /space/model.dropout: ablation needs a list; write the value of trial 0 first, then the values that "
        "replace it");
    EXPECT_EQ(said(R"({"procedure": "ablation"})", R"("space": {"model.dropout": [0.1]})"),
              "e.json:3:10: /space: has nothing to leave out (every key has one value); list a second value for a key");
}

TEST(SearchSection, SobolHasSoManyDimensions) {
    std::string space;
    for (int i = 0; i < 22; ++i) space += (i > 0 ? ", " : "") + ("\"model.k" + std::to_string(i)) + "\": [1, 2]";
    EXPECT_EQ(said(R"({"procedure": "sobol", "trials": 3})", "\"space\": {" + space + "}"),
              "e.json:3:10: /space: searches 22 keys (sobol: at most 21); use random");
}

TEST(SearchSection, ConfigurationsOfManual) {
    std::string const none = R"("train": {"epochs": 3})";
    EXPECT_EQ(said(R"({"procedure": "manual", "configurations": [{"train.optimizer.lr": 0.1}, {"model.hidden": [8]}]})",
                   none),
              "");
    EXPECT_EQ(said(R"({"procedure": "asha", "sampler": "manual", "configurations": [{"train.optimizer.lr": 0.1}]})", none),
              "");
    // Values that do not go with each other are fine in different configurations, and told in the same.
    std::string const both =
        R"({"train.optimizer.name": "adam", "train.optimizer.beta1": 0.8}, {"train.optimizer.momentum": 0.9})";
    EXPECT_EQ(said("{\"procedure\": \"manual\", \"configurations\": [" + both + "]}", none), "");
    EXPECT_EQ(said(R"({"procedure": "manual", "configurations": [{"train.optimizer.momentum": 2},
{"train.optimizer.name": "adam", "train.optimizer.momentum": 0.9}, {"trian.epochs": 2}]})",
                   none),
              "e.json:3:69: /space/trian.epochs: cannot be searched (only settings in model, train and data can, such as "
              "train.optimizer.lr)");
    EXPECT_EQ(said(R"({"procedure": "manual", "configurations": [{"train.optimizer.momentum": 2},
{"train.optimizer.name": "adam", "train.optimizer.momentum": 0.9}]})",
                   none),
              "e.json:2:83: /search/configurations/0: /train/optimizer/momentum: must be at least 0 and below 1 (got 2)\n"
              "e.json:3:62: /search/configurations/1: /train/optimizer/momentum: momentum belongs to sgd and rmsprop (the "
              "name here "
              "is \"adam\"); leave it out");
    EXPECT_EQ(said(R"({"procedure": "manual"})", none),
              "e.json: /search/configurations: missing (required); list them, for example [{\"train.optimizer.lr\": 0.1}]");
    EXPECT_EQ(said(R"({"procedure": "manual", "configurations": []})", none),
              "e.json:2:53: /search/configurations: is empty (nothing to train); list at least one");
    EXPECT_EQ(said(R"({"procedure": "manual", "configurations": [{"train.epochs": 2}, 3, {"train.epochs": 2}]})", none),
              "e.json:2:75: /search/configurations/1: expected an object of {path: value} (got an integer)\n"
              "e.json:2:78: /search/configurations/2: is listed twice (it would be trained twice); remove one");
    EXPECT_EQ(
        said(R"({"procedure": "manual", "configurations": [{"train.epochs": 2}]})", R"("space": {"train.epochs": [1]})"),
        "e.json:3:10: /space: belongs to other procedures (manual tries the list search.configurations); leave it out");
    EXPECT_EQ(
        said(R"({"procedure": "random", "trials": 2, "configurations": []})"),
        "e.json:2:66: /search/configurations: configurations belongs to manual (the sampler here is \"random\"); leave "
        "it out");
}

}  // namespace search_section_test
}  // namespace hopscotch
