// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "core/error.hpp"
#include "every_procedure.hpp"
#include "experiment/procedures.hpp"
#include "experiment/reader.hpp"
#include "experiment/space.hpp"
#include "search/ablation.hpp"
#include "search/procedure_table.hpp"
#include "search/search.hpp"
#include "search/sobol.hpp"

namespace hopscotch {
namespace search_test {

Experiment experiment_with(std::string const& space, std::string const& search, std::string const& seed = "1") {
    Problems problems("e.json");
    auto out = read_experiment(
        R"({"data": {"path": "d"}, "model": {"name": "mlp"}, "train": {"epochs": 4}, "run": {"dir": "r"}, "seed": )" + seed +
            R"(, "search": )" + search + R"(, "space": )" + space + "}",
        {}, problems);
    EXPECT_EQ(problems.text(), "");
    return out;
}

std::vector<Proposal> all(Search& search) {
    std::vector<Proposal> out;
    while (auto next = search.next()) out.push_back(*next);
    EXPECT_TRUE(search.finished());
    EXPECT_FALSE(search.next());
    for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i].trial, TrialId(i));
    return out;
}

std::vector<std::string> texts(std::string const& space, std::string const& search, std::string const& seed = "1") {
    std::vector<std::string> out;
    for (auto const& proposal : all(*make_search(experiment_with(space, search, seed))))
        out.push_back(to_json(proposal.assignment).dump());
    return out;
}

std::string thrown(std::string const& space, std::string const& search) {
    try {
        auto const made = make_search(experiment_with(space, search));
        while (made->next()) {
        }
    } catch (ConfigError const& error) {
        return error.what();
    }
    return "";
}

using Texts = std::vector<std::string>;
std::string const k_grid = R"({"procedure": "grid"})";

TEST(Grid, LastKeyFastest) {
    EXPECT_EQ(texts(R"({"model.a": [1, 2], "model.c": 7, "model.b": ["x", "y", "z"]})", k_grid),
              (Texts{R"({"model.a":1,"model.c":7,"model.b":"x"})", R"({"model.a":1,"model.c":7,"model.b":"y"})",
                     R"({"model.a":1,"model.c":7,"model.b":"z"})", R"({"model.a":2,"model.c":7,"model.b":"x"})",
                     R"({"model.a":2,"model.c":7,"model.b":"y"})", R"({"model.a":2,"model.c":7,"model.b":"z"})"}));
}

TEST(Grid, ConditionsPruneAndForbidRemoves) {
    EXPECT_EQ(texts(R"({"train.optimizer.name": ["sgd", "adam"],
                        "train.optimizer.momentum": {"type": "choice", "values": [0, 0.9],
                         "when": {"train.optimizer.name": "sgd"}},
                        "train.epochs": [1, 2]})",
                    R"({"procedure": "grid", "forbid": [{"train.optimizer.momentum": {"above": 0.5}, "train.epochs": 2}]})"),
              (Texts{R"({"train.optimizer.name":"sgd","train.optimizer.momentum":0,"train.epochs":1})",
                     R"({"train.optimizer.name":"sgd","train.optimizer.momentum":0,"train.epochs":2})",
                     R"({"train.optimizer.name":"sgd","train.optimizer.momentum":0.9,"train.epochs":1})",
                     R"({"train.optimizer.name":"adam","train.epochs":1})",
                     R"({"train.optimizer.name":"adam","train.epochs":2})"}));
    // Of a grandchild whose parent is off, and of a parent declared later.
    EXPECT_EQ(texts(R"({"model.c": {"type": "choice", "values": [5, 6], "when": {"model.b": 1}},
                        "model.b": {"type": "choice", "values": [1, 2], "when": {"model.a": 1}}, "model.a": [0, 1]})",
                    k_grid),
              (Texts{R"({"model.a":0})", R"({"model.c":5,"model.b":1,"model.a":1})", R"({"model.b":2,"model.a":1})",
                     R"({"model.c":6,"model.b":1,"model.a":1})"}));
}

TEST(Grid, StartsComeFirstAndOnce) {
    EXPECT_EQ(texts(R"({"model.a": [1, 2, 3]})", R"({"procedure": "grid", "start_with": [{"model.a": 3}, {"model.a": 2}]})"),
              (Texts{R"({"model.a":3})", R"({"model.a":2})", R"({"model.a":1})"}));
    EXPECT_EQ(texts(R"({"model.a": [1, 2]})", R"({"procedure": "grid", "start_with": [{"model.a": 2.0}]})").size(), 2U)
        << "2.0 is 2";
}

TEST(Grid, EpochsMayBeSearched) {
    auto const proposals = all(*make_search(experiment_with(R"({"train.epochs": [2, 9]})", k_grid)));
    EXPECT_EQ(proposals[0].until_epoch, 2);
    EXPECT_EQ(proposals[1].until_epoch, 9);
    EXPECT_EQ(all(*make_search(experiment_with(R"({"model.a": [2]})", k_grid)))[0].until_epoch, 4);
}

TEST(Grid, RefusesLimitsEmptinessAndMillions) {
    EXPECT_EQ(thrown(R"({"model.a": [1, 2], "model.b": [1, 2]})", R"({"procedure": "grid", "trials": 3})"),
              "/search/trials: grid tries all 4 configurations (3 trials would leave some out); leave it out or use the "
              "procedure random");
    EXPECT_EQ(thrown(R"({"model.a": [1, 2]})", R"({"procedure": "grid", "trials": 2, "start_with": [{"model.a": 2}]})"), "");
    EXPECT_EQ(thrown(R"({"model.a": [1, 2], "model.b": {"type": "int", "low": 1, "high": 8, "step": 3}})",
                     R"({"procedure": "grid", "trials": 6})"),
              "");
    EXPECT_EQ(thrown(R"({"model.a": [1, 2, 3]})", R"({"procedure": "asha", "sampler": "grid", "trials": 2})"),
              "/search/trials: grid tries all 3 configurations (2 trials would leave some out); leave it out or use the "
              "sampler random");
    EXPECT_EQ(texts(R"({"model.a": [1, 2]})", R"({"procedure": "grid", "trials": 9})").size(), 2U) << "there are no more";
    EXPECT_EQ(thrown(R"({"model.a": [1, 2]})", R"({"procedure": "grid", "forbid": [{"model.a": [1, 2]}]})"),
              "/search/forbid: excludes every configuration (nothing is left to train); remove a condition");
    std::string const wide = R"({"type": "int", "low": 1, "high": 2000})";
    EXPECT_EQ(
        thrown(R"({"model.a": )" + wide + R"(, "model.b": )" + wide + "}", k_grid),
        "/space: has more than a million points (a grid trains them all); list fewer values, or use the procedure random");
}

TEST(Both, DecideNothing) {
    for (auto const* search : {R"({"procedure": "grid"})", R"({"procedure": "random", "trials": 2})"}) {
        auto const made = make_search(experiment_with(R"({"model.a": [1, 2]})", search));
        EXPECT_TRUE(made->decides_nothing());
        auto const first = made->next();
        EXPECT_EQ(first->kind, Proposal::Kind::start);
        EXPECT_EQ(made->report({first->trial, 0, 0.5}).kind, Verdict::Kind::go_on);
        made->report({first->trial, 1, std::nullopt});
        EXPECT_FALSE(made->finished());
    }
}

std::string const k_floats = R"({"model.a": {"type": "float", "low": 0, "high": 1}, "model.b": [1, 2, 3]})";

TEST(Random, OneStreamPerTrial) {
    auto const few = texts(k_floats, R"({"procedure": "random", "trials": 5})");
    auto const many = texts(k_floats, R"({"procedure": "random", "trials": 50})");
    ASSERT_EQ(few.size(), 5U);
    ASSERT_EQ(many.size(), 50U);
    EXPECT_EQ(few, Texts(many.begin(), many.begin() + 5));
    EXPECT_EQ((std::set<std::string>(many.begin(), many.end()).size()), 50U);
    EXPECT_NE(few, texts(k_floats, R"({"procedure": "random", "trials": 5})", "2"));
    // Forbidding what trial 0 drew changes no other trial.
    auto const start =
        texts(k_floats, R"({"procedure": "random", "trials": 5, "start_with": [{"model.a": 0.5, "model.b": 2}]})");
    EXPECT_EQ(start[0], R"({"model.a":0.5,"model.b":2})");
    EXPECT_EQ(Texts(start.begin() + 1, start.end()), Texts(few.begin() + 1, few.end()));
}

TEST(Random, FiniteSpacesAreDrawnWithoutRepetition) {
    std::string const space = R"({"model.a": [1, 2, 3], "model.b": {"type": "int", "low": 1, "high": 4}})";
    auto const all_of_them = texts(space, R"({"procedure": "random", "trials": 100})");
    EXPECT_EQ(all_of_them.size(), 12U);
    EXPECT_EQ((std::set<std::string>(all_of_them.begin(), all_of_them.end()).size()), 12U);
    EXPECT_EQ(texts(space, R"({"procedure": "random", "trials": 12})"), all_of_them);
    EXPECT_EQ(texts(space, R"({"procedure": "random", "trials": 7})").size(), 7U);
    // So many that a thousand redraws do not find the last ones.
    EXPECT_EQ(texts(R"({"model.a": {"type": "int", "low": 1, "high": 1500}})", R"({"procedure": "random", "trials": 9999})")
                  .size(),
              1500U);
}

TEST(Random, ConditionsAndForbid) {
    auto const drawn = texts(
        R"({"train.optimizer.name": ["sgd", "adam"], "train.optimizer.lr": {"type": "float", "low": 0.01, "high": 0.1},
                        "train.optimizer.momentum": {"type": "float", "low": 0, "high": 0.9, "when":
                         {"train.optimizer.name": "sgd"}}})",
        R"({"procedure": "random", "trials": 60, "forbid": [{"train.optimizer.name": "sgd",
         "train.optimizer.lr": {"above": 0.05}}]})");
    int sgd = 0;
    for (auto const& text : drawn) {
        Problems none("x");
        auto const json = parse_json(text, none);
        bool const is_sgd = json.at("train.optimizer.name").string() == "sgd";
        sgd += is_sgd ? 1 : 0;
        EXPECT_EQ(json.find("train.optimizer.momentum") != nullptr, is_sgd);
        EXPECT_TRUE(!is_sgd || json.at("train.optimizer.lr").number() <= 0.05);
    }
    EXPECT_GT(sgd, 5);
    EXPECT_LT(sgd, 45);
    EXPECT_EQ(
        thrown(R"({"model.a": {"type": "float", "low": 0, "high": 1}})",
               R"({"procedure": "random", "trials": 2, "forbid": [{"model.a": {"above": -1}}]})"),
        "/search/forbid: 1000 draws in a row were excluded (nothing or next to nothing is left to try); remove a condition");
    EXPECT_EQ(texts(R"({"model.a": [1, 2, 3, 4]})",
                    R"({"procedure": "random", "trials": 9, "forbid": [{"model.a": [1, 3]}]})")
                  .size(),
              2U);
    EXPECT_NE(thrown(R"({"model.a": [1]})", R"({"procedure": "random", "trials": 2, "forbid": [{"model.a": 1}]})"), "");
}

TEST(Ablation, LeavesOneComponentOut) {
    std::string const space = R"({"model.dropout": [0.3, 0], "train.batch_size": 32,
                                  "data.augment": [["flip", "crop"], ["flip"], ["crop"], []],
                                  "train.optimizer.name": ["sgd", "adam"],
                                  "train.optimizer.momentum": {"type": "choice", "values": [0.9, 0], "when":
                                   {"train.optimizer.name": "sgd"}}})";
    EXPECT_EQ(
        texts(space, R"({"procedure": "ablation"})"),
        (Texts{R"({"model.dropout":0.3,"train.batch_size":32,"data.augment":["flip","crop"],)"
               R"("train.optimizer.name":"sgd","train.optimizer.momentum":0.9})",
               R"({"model.dropout":0,"train.batch_size":32,"data.augment":["flip","crop"],"train.optimizer.name":"sgd",)"
               R"("train.optimizer.momentum":0.9})",
               R"({"model.dropout":0.3,"train.batch_size":32,"data.augment":["flip"],"train.optimizer.name":"sgd",)"
               R"("train.optimizer.momentum":0.9})",
               R"({"model.dropout":0.3,"train.batch_size":32,"data.augment":["crop"],"train.optimizer.name":"sgd",)"
               R"("train.optimizer.momentum":0.9})",
               R"({"model.dropout":0.3,"train.batch_size":32,"data.augment":[],"train.optimizer.name":"sgd",)"
               R"("train.optimizer.momentum":0.9})",
               R"({"model.dropout":0.3,"train.batch_size":32,"data.augment":["flip","crop"],"train.optimizer.name":"adam"})",
               R"({"model.dropout":0.3,"train.batch_size":32,"data.augment":["flip","crop"],)"
               R"("train.optimizer.name":"sgd","train.optimizer.momentum":0})"}));
    EXPECT_EQ(thrown(R"({"model.a": [1, 2]})", R"({"procedure": "ablation", "forbid": [{"model.a": 2}]})"),
              "/search/forbid: excludes {\"model.a\":2} (ablation needs every one of its trials); remove a condition");
}

TEST(Ablation, DeltaTable) {
    Problems problems("");
    auto const space = read_space(experiment_with(R"({"model.a": [1, 2], "model.b": ["x", "y"]})", k_grid), problems);
    auto const table = delta_table(space, {0.5, 0.75, std::nullopt});
    ASSERT_EQ(table.size(), 3U);
    EXPECT_EQ(table[0].component, "baseline");
    EXPECT_EQ(table[0].delta, 0);
    EXPECT_EQ(table[1].component, "model.a = 2");
    EXPECT_EQ(table[1].delta, 0.25);
    EXPECT_EQ(table[2].component, "model.b = \"y\"");
    EXPECT_FALSE(table[2].delta);
    EXPECT_FALSE(delta_table(space, {std::nullopt, 1.0})[1].delta) << "nothing to compare with";
}

TEST(Manual, TriesTheListInItsOrder) {
    Problems problems("e.json");
    auto const experiment = read_experiment(
        R"({"data": {"path": "d"}, "model": {"name": "mlp"}, "run": {"dir": "r"},
            "train": {"epochs": 4, "optimizer": {"lr": 0.5}},
            "search": {"procedure": "manual", "configurations": [{"train.optimizer.lr": 0.1, "model.hidden": [8]},
                                                                 {"train.epochs": 2},
                                                                 {"train.optimizer.name": "adam",
                                                                  "train.optimizer.beta1": 0.8}]}})",
        {}, problems);
    ASSERT_EQ(problems.text(), "");
    auto const proposals = all(*make_search(experiment));
    ASSERT_EQ(proposals.size(), 3U);
    EXPECT_EQ(to_json(proposals[0].assignment).dump(), R"({"train.optimizer.lr":0.1,"model.hidden":[8],"train.epochs":4})");
    EXPECT_EQ(to_json(proposals[1].assignment).dump(), R"({"train.optimizer.lr":0.5,"train.epochs":2})")
        << "the document's lr";
    EXPECT_EQ(proposals[1].until_epoch, 2);
    auto const third = resolve(experiment, proposals[2].assignment, problems).train;
    EXPECT_EQ(third.optimizer.kind, OptimizerKind::adam);
    EXPECT_EQ(third.optimizer.lr, 0.5);
    EXPECT_EQ(third.optimizer.beta1, 0.8);
    EXPECT_EQ(problems.text(), "");
}

// nesterov needs momentum: told at once where all trials are known beforehand, else left out like what is forbidden.
TEST(MakeSearch, WhatTheReaderRefusesIsNotTried) {
    std::string const space = R"({"train.optimizer.nesterov": [false, true], "train.optimizer.momentum": [0.9, 0]})";
    EXPECT_NE(thrown(space, R"({"procedure": "random", "trials": 4})").find("/train/optimizer/nesterov: needs momentum"),
              std::string::npos);
    EXPECT_EQ(texts(space, R"({"procedure": "median", "trials": 9})").size(), 3U);
    EXPECT_EQ(texts(space, R"({"procedure": "tpe", "trials": 9})").size(), 3U);
}

TEST(MakeSearch, KnowsWhatTheReaderKnows) {
    EXPECT_EQ(search_names(), procedure_names());
    std::vector<std::string> samplers;
    for (auto const& row : sampler_traits()) samplers.emplace_back(row.name);
    EXPECT_EQ(sampler_names(), samplers);
    EXPECT_EQ(sampler_traits("sobol").most_keys, k_sobol_dimensions);
    for (auto const& name : search_names()) {
        auto const& row = procedure_traits(name);
        if (sampler_traits(row.samplers.front()).configurations == Configurations::named) continue;  // has no space
        bool const counted = has_key(row, "trials") && draws(row);
        auto const space = sampler_traits(row.samplers.front()).needs_numbers
                               ? R"({"train.optimizer.lr": {"type": "float", "low": 0.1, "high": 0.2}})"
                               : R"({"train.optimizer.lr": [0.1, 0.2]})";
        auto const experiment = experiment_with(space, "{" + named(row) + (counted ? R"(, "trials": 2})" : "}"));
        auto const made = make_search(experiment);
        bool const learns = row.more_trials == MoreTrials::if_undisturbed;
        EXPECT_EQ(made->decides_nothing(), !row.has_rule && !learns) << name;
        EXPECT_EQ(made->clones(), row.clones);
        EXPECT_TRUE(procedure_named(name).rule != nullptr && procedure_named(name).count != nullptr) << name;
        EXPECT_TRUE(made->next()) << name;
    }
}

TEST(MakeSearch, RefusesWhatIsNotThere) {
    auto experiment = experiment_with(k_floats, R"({"procedure": "random", "trials": 2})");
    experiment.search.procedure = "pb2";
    EXPECT_THROW(make_search(experiment), ConfigError);
    experiment.search.procedure = "random";
    experiment.search.sampler = "pb2";
    EXPECT_THROW(make_search(experiment), ConfigError);
    experiment.search.sampler = "random";
    experiment.search.trials.reset();
    EXPECT_THROW(make_search(experiment), ConfigError);
    experiment.search.trials = 2;
    experiment.space = Json(Json::Object{});
    EXPECT_THROW(make_search(experiment), ConfigError);
}

}  // namespace search_test
}  // namespace hopscotch
