// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "experiment/documents.hpp"
#include "experiment/space.hpp"
#include "experiment/steps.hpp"

namespace hopscotch {
namespace space_test {

// Columns are those of the entry itself: the space opens a line of its own.
std::string space(std::string const& entries, std::string const& more = "") {
    return document("\"space\": {\n" + entries + "}" + more);
}
std::string refused(std::string const& entries, std::string const& more = "") { return complaints(space(entries, more)); }

Space read(std::string const& entries, std::string const& more = "") {
    Problems problems("e.json");
    auto const experiment = read_experiment(space(entries, more), {}, problems);
    EXPECT_EQ(problems.text(), "");
    return read_space(experiment, problems);
}

std::string values(std::string const& entry) {
    auto const all =
        all_values(read("\"train.optimizer.lr\": " + entry, R"(, "search": {"procedure": "grid"})").parameters.at(0));
    return all ? Json(*all).dump() : "none";
}

std::string signed_values(std::string const& entry) {
    return Json(*all_values(read("\"model.a\": " + entry).parameters.at(0))).dump();
}

std::string whole(std::string const& entry) {
    return Json(*all_values(read("\"train.epochs\": " + entry).parameters.at(0))).dump();
}

// Each value is tried in a whole configuration, so that a wrong path spoils those of other parameters too.
TEST(Space, AWrongPathIsToldWhereItStands) {
    EXPECT_EQ(refused("\"train.optimizer.lr\": [0.1],\n\"train.optimizer.lrr\": [0.1]\n"),
              "e.json:4:1: /space/train.optimizer.lrr: unknown key; did you mean \"lr\"?");
}

TEST(Space, Values) {
    EXPECT_EQ(values("[0.1, 0.2]"), "[0.1,0.2]");
    EXPECT_EQ(values("0.5"), "[0.5]");
    EXPECT_EQ(values(R"({"type": "const", "value": 0.5})"), "[0.5]");
    EXPECT_EQ(values(R"({"type": "choice", "values": [1, 2]})"), "[1,2]");
    EXPECT_EQ(values(R"({"type": "float", "low": 0, "high": 1, "count": 5})"), "[0.0,0.25,0.5,0.75,1.0]");
    EXPECT_EQ(values(R"({"type": "float", "low": 0.1, "high": 0.3, "step": 0.1})"), "[0.1,0.2,0.3]");
    EXPECT_EQ(values(R"({"type": "float", "low": 0.3, "high": 0.7, "count": 1})"), "[0.3]");
    auto const logs = all_values(
        read(R"("train.optimizer.lr": {"type": "float", "low": 1e-4, "high": 1, "log": true, "count": 5})").parameters[0]);
    ASSERT_EQ(logs->size(), 5U);
    for (int i = 0; i < 5; ++i) EXPECT_NEAR((*logs)[static_cast<std::size_t>(i)].number() * std::pow(10.0, 4 - i), 1, 1e-12);
    EXPECT_EQ(logs->front().number(), 1e-4);
    EXPECT_EQ(logs->back().number(), 1);
    EXPECT_EQ(whole(R"({"type": "int", "low": 1, "high": 4})"), "[1,2,3,4]");
    EXPECT_EQ(whole(R"({"type": "int", "low": 1, "high": 8, "step": 3})"), "[1,4,7]");
    EXPECT_EQ(whole(R"({"type": "int", "low": 1, "high": 9, "count": 3})"), "[1,5,9]");
    EXPECT_EQ(whole(R"({"type": "int", "low": 1, "high": 3, "count": 9})"), "[1,2,3]");
    EXPECT_EQ(whole(R"({"type": "int", "low": 1, "high": 100, "log": true, "count": 3})"), "[1,10,100]");
}

TEST(Space, EmptyIsRefused) {
    auto const said = "/space: is empty (nothing to search); add for example \"train.optimizer.lr\": [0.01, 0.1]";
    EXPECT_EQ(complaints(document("\"space\": {}")), std::string("e.json:2:10: ") + said);
    EXPECT_EQ(complaints(document("\"seed\": 1")), std::string("e.json: ") + said);
    EXPECT_EQ(complaints(document("\"space\": []")), "e.json:2:10: /space: expected an object (got an array)");
    EXPECT_EQ(refused(R"("train.epochs": [])"),
              "e.json:3:17: /space/train.epochs: is empty (nothing to search); list at least one value");
}

TEST(Space, EveryValueIsTriedByTheReader) {
    EXPECT_EQ(refused(R"("train.optimizer.lr": [0.1, -1, "x"])"),
              "e.json:3:29: /space/train.optimizer.lr: must be at least 0 (got -1)\n"
              "e.json:3:33: /space/train.optimizer.lr: expected a number (got a string)");
    EXPECT_EQ(refused(R"("train.optimizer.lr": {"type": "float", "low": -1, "high": 1, "count": 2})"),
              "e.json:3:48: /space/train.optimizer.lr: must be at least 0 (got -1)");
    EXPECT_EQ(refused(R"("train.epochs": {"type": "float", "low": 1, "high": 3, "count": 2})"),
              "e.json:3:42: /space/train.epochs: expected an integer (got a number)");
    EXPECT_EQ(refused(R"("train.optimizer.lrr": [1])"),
              "e.json:3:1: /space/train.optimizer.lrr: unknown key; did you mean \"lr\"?");
    EXPECT_EQ(refused(R"("train.optimizer.momentum": {"type": "float", "low": 0, "high": 1, "count": 3})"),
              "e.json:3:65: /space/train.optimizer.momentum: must be at least 0 and below 1 (got 1)");
    EXPECT_EQ(refused(R"("model.anything": ["the zoo checks it"])"), "");
    EXPECT_EQ(refused(R"("train.optimizer.name": ["sgd", "adam"], "train.optimizer.momentum": [0.5])"),
              "e.json:3:33: /space/train.optimizer.name: /train/optimizer/momentum: momentum belongs to sgd and rmsprop "
              "(the name here "
              "is \"adam\"); leave it out");
    EXPECT_EQ(refused(R"("train.optimizer.name": ["adam", "sgd"],
        "train.optimizer.momentum": {"type": "choice", "values": [0.5], "when": {"train.optimizer.name": "sgd"}})"),
              "");
}

TEST(Space, OnlyWhatATrialMayHave) {
    EXPECT_EQ(refused(R"("run.dir": ["a"])"),
              "e.json:3:1: /space/run.dir: cannot be searched (only settings in model, train and data can, such as "
              "train.optimizer.lr)");
    EXPECT_EQ(refused(R"("data.path": ["a"])"),
              "e.json:3:1: /space/data.path: cannot be searched (all trials share it); set it outside the space");
    EXPECT_EQ(refused(R"("train.optimizer": [{"name": "adam"}], "train.optimizer.lr": [0.1])"),
              "e.json:3:40: /space/train.optimizer.lr: overlaps with \"train.optimizer\" (which sets it too); remove one");
    EXPECT_EQ(refused(R"("train.optimizer": [{"name": "adam"}, {"name": "sgd", "momentum": 0.9}])"), "");
    // What --set space.train.optimizer.lr.high=0.1 makes.
    EXPECT_EQ(
        refused(R"("train.optimizer.lr": [0.1, 0.2], "train.optimizer.lr.high": 0.1)"),
        "e.json:3:35: /space/train.optimizer.lr.high: is not a setting, but a part of the entry \"train.optimizer.lr\" (an "
        "entry is set as a whole); write --set 'space.train.optimizer.lr={...}', with everything that it needs");
}

TEST(Space, WordsOfOtherTools) {
    EXPECT_EQ(refused(R"("train.epochs": {"type": "randint", "low": 1, "high": 9})"),
              "e.json:3:26: /space/train.epochs/type: unknown type \"randint\"; write {\"type\": \"int\", \"low\": 1, "
              "\"high\": 8}; high is inclusive");
    EXPECT_EQ(refused(R"("train.optimizer.lr": {"type": "loguniform", "min": 1, "max": 2})"),
              "e.json:3:32: /space/train.optimizer.lr/type: unknown type \"loguniform\"; write {\"type\": \"float\", "
              "\"low\": 1e-5, \"high\": 0.1, "
              "\"log\": true}; bounds are values, not exponents\n"
              "e.json:3:46: /space/train.optimizer.lr/min: unknown key; the name here is \"low\"\n"
              "e.json:3:56: /space/train.optimizer.lr/max: unknown key; the name here is \"high\"");
    EXPECT_EQ(refused(R"("train.epochs": {"type": "choice", "vals": [1]})"),
              "e.json:3:36: /space/train.epochs/vals: unknown key; the name here is \"values\"");
    for (auto const* word : {"uniform", "log_uniform", "categorical", "quniform", "double", "normal"})
        EXPECT_NE(refused(std::string(R"("train.epochs": {"type": ")").append(word).append("\"}")).find("unknown type"),
                  std::string::npos)
            << word;
    EXPECT_EQ(refused(R"("train.epochs": {"type": "floot", "low": 1, "high": 2})"),
              "e.json:3:26: /space/train.epochs/type: unknown value \"floot\" (known: float, int, choice, const); did you "
              "mean \"float\"?");
}

TEST(Space, Priors) {
    std::string const random = R"(, "search": {"procedure": "random", "trials": 9})";
    auto const prior = [&](std::string const& entry) {
        return read("\"model.a\": " + entry, random).parameters.at(0).prior;
    };
    auto const plain = prior(R"({"type": "float", "low": 1e-4, "high": 1, "log": true, "prior": 0.01})");
    EXPECT_EQ(plain->guess, 0.01);
    EXPECT_EQ(plain->deviation, 0.25);
    auto const given = prior(R"({"type": "int", "low": 1, "high": 9, "prior": {"guess": 1, "deviation": 0.5}})");
    EXPECT_EQ(given->guess, 1);
    EXPECT_EQ(given->deviation, 0.5);
    EXPECT_EQ(prior(R"({"type": "choice", "values": ["x", "y"], "prior": [3, 1]})")->weights, (std::vector{0.75, 0.25}));
    EXPECT_FALSE(prior(R"({"type": "int", "low": 1, "high": 9, "prior": null})"));

    auto const said = [&](std::string const& type, std::string const& rest, std::string const& search = "") {
        return refused("\"model.a\": {\"type\": \"" + type + "\", " + rest + "}", search.empty() ? random : search);
    };
    EXPECT_EQ(said("float", R"("low": 0, "high": 1, "prior": 2)"),
              "e.json:3:60: /space/model.a/prior: must be between low and high (got 2; the range is 0 to 1)");
    EXPECT_EQ(said("float", R"("low": 0, "high": 1, "prior": {"deviation": 0.2})"),
              "e.json:3:60: /space/model.a/prior/guess: missing (required); write the value that you expect to be good");
    EXPECT_EQ(said("float", R"("low": 0, "high": 1, "prior": {"guess": 0.2, "deviation": 0})"),
              "e.json:3:88: /space/model.a/prior/deviation: must be between 0.001 and 10 (got 0)");
    EXPECT_EQ(said("float", R"("low": 0, "high": 1, "prior": "high")"),
              "e.json:3:60: /space/model.a/prior: expected a number (got a string)");
    EXPECT_EQ(said("choice", R"("values": [1, 2], "prior": [1, 2, 3])"),
              "e.json:3:58: /space/model.a/prior: has 3 weights (there are 2 values); write one for each value");
    EXPECT_EQ(said("choice", R"("values": [1, 2], "prior": [1, 0])"),
              "e.json:3:58: /space/model.a/prior: element 1 must be between 1e-06 and 1000000 (got 0)");
    EXPECT_EQ(said("choice", R"("values": [1, 2], "prior": 2)"),
              "e.json:3:58: /space/model.a/prior: expected an array of numbers (got an integer)");
    EXPECT_EQ(
        said("int", R"("low": 1, "high": 3, "step": 1, "prior": 2)", R"(, "search": {"procedure": "grid"})"),
        "e.json:3:12: /space/model.a/prior: has no effect with grid (it draws no values); leave it out, or use random");
    EXPECT_EQ(said("int", R"("low": 1, "high": 3, "default": 2)"),
              "e.json:3:49: /space/model.a/default: unknown key; the name here is \"prior\"");
}

TEST(Space, Ranges) {
    auto const said = [](std::string const& rest) {
        return refused("\"train.optimizer.lr\": {\"type\": \"float\", " + rest + "}");
    };
    EXPECT_EQ(said(R"("low": 1, "high": 0.5, "count": 2)"),
              "e.json:3:59: /space/train.optimizer.lr/high: must be at least low (got 0.5 < 1)");
    EXPECT_EQ(said(R"("low": -5, "high": -1, "log": true, "count": 2)"),
              "e.json:3:48: /space/train.optimizer.lr/low: must be greater than 0 with log (got -5; bounds are values, not "
              "exponents)");
    EXPECT_EQ(said(R"("low": 1, "high": 2, "log": true, "step": 1)"),
              "e.json:3:83: /space/train.optimizer.lr/step: step and log exclude each other; leave one out");
    EXPECT_EQ(said(R"("low": 1)"),
              "e.json:3:23: /space/train.optimizer.lr/high: missing (required); a range needs low and high, both inclusive");
    EXPECT_EQ(said(R"("low": 1, "hihg": 2)"),
              "e.json:3:23: /space/train.optimizer.lr/high: missing (required); a range needs low and high, both inclusive\n"
              "e.json:3:51: /space/train.optimizer.lr/hihg: unknown key; did you mean \"high\"?");
    EXPECT_EQ(
        said(R"("low": 0, "high": 1)"),
        "e.json:3:23: /space/train.optimizer.lr: has no number of points (grid tries every point); add \"count\": 5 or a "
        "\"step\", or list the values");
    EXPECT_EQ(
        refused(R"("train.epochs": {"low": 1, "high": 2})"),
        "e.json:3:17: /space/train.epochs/type: missing (required); write \"float\", \"int\", \"choice\" or \"const\"");
    EXPECT_EQ(
        refused(R"("train.epochs": [1, 2, 1])"),
        "e.json:3:24: /space/train.epochs/2: 1 is listed twice (one configuration would be trained twice); remove one");
    EXPECT_EQ(refused(R"("train.epochs": {"type": "int", "low": 1, "high": 9, "count": 2})",
                      R"(, "search": {"procedure": "random", "trials": 2})"),
              "e.json:3:17: /space/train.epochs/count: belongs to grid (the procedure is \"random\"); leave it out");
}

TEST(Space, ConditionsMayLookAheadButNotInCircles) {
    auto const ahead =
        read(R"("model.a": {"type": "choice", "values": [1], "when": {"model.b": [2, 3]}}, "model.b": [1, 2, 3])");
    EXPECT_EQ(ahead.order, (std::vector<std::size_t>{1, 0}));
    EXPECT_FALSE(is_active(ahead.parameters[0], {{"model.b", 1}}));
    EXPECT_TRUE(is_active(ahead.parameters[0], {{"model.b", 3}}));
    EXPECT_FALSE(is_active(ahead.parameters[0], {}));
    EXPECT_EQ(
        refused(
            R"("model.a": {"type": "const", "value": 1, "when": {"model.b": 1}}, "model.b": {"type": "const", "value": 1,
             "when": {"model.a": 1}})"),
        "e.json:3:12: /space/model.a/when: the conditions form a circle (each waits for the other); remove one \"when\"\n"
        "e.json:3:78: /space/model.b/when: the conditions form a circle (each waits for the other); remove one \"when\"");
    EXPECT_EQ(refused(R"("model.width": [1], "model.b": {"type": "const", "value": 1, "when": {"model.widht": 1}})"),
              "e.json:3:71: /space/model.b/when/model.widht: is not searched; did you mean \"model.width\"?");
}

TEST(Space, ConditionsMatch) {
    auto const above = read(R"("model.a": [1, 2], "model.h": [[16], [32]])",
                            R"(, "search": {"forbid": [{"model.a": {"above": 1}, "model.h": [[16]]}, {"model.h": [32],
         "model.a": {"below": 2}}]})");
    EXPECT_TRUE(is_forbidden(above, {{"model.a", 2}, {"model.h", Json(Json::Array{16})}}));
    EXPECT_FALSE(is_forbidden(above, {{"model.a", 1}, {"model.h", Json(Json::Array{16})}}));
    EXPECT_TRUE(is_forbidden(above, {{"model.a", 1}, {"model.h", Json(Json::Array{32})}}));
    EXPECT_FALSE(is_forbidden(above, {{"model.a", 2}, {"model.h", Json(Json::Array{32})}}));
    EXPECT_EQ(refused(R"("model.a": [1])", ",\n\"search\": {\"forbid\": [{\"model.b\": 1}, {}, 3]}"),
              "e.json:4:24: /search/forbid/0/model.b: is not searched; did you mean \"model.a\"?\n"
              "e.json:4:39: /search/forbid/1: is empty (it would exclude everything); remove it\n"
              "e.json:4:43: /search/forbid/2: expected an object of {path: value} (got an integer)");
}

TEST(Space, ConditionsCompareKeys) {
    auto const space =
        read(R"("model.b": {"type": "float", "low": 0, "high": 9, "when": {"model.width": {"above": {"key": "model.a"}}}},
        "model.a": {"type": "int", "low": 2, "high": 4}, "model.width": [1, 3, 8])",
             R"(, "search": {"procedure": "random", "trials": 1, "forbid": [{"model.width": {"below": {"key":
                               "model.a"}, "above": 2}}]})");
    EXPECT_EQ(space.order, (std::vector<std::size_t>{1, 2, 0})) << "both keys come before";
    auto const with = [](int a, int width) { return Assignment{{"model.a", Json(a)}, {"model.width", Json(width)}}; };
    auto const& b = space.parameters[0];
    EXPECT_TRUE(is_active(b, with(2, 3)));
    EXPECT_FALSE(is_active(b, with(3, 3)));
    EXPECT_FALSE(is_active(b, with(4, 3)));
    EXPECT_FALSE(is_active(b, {{"model.width", Json(3)}})) << "there is nothing to compare with";
    EXPECT_TRUE(is_forbidden(space, with(4, 3)));
    EXPECT_FALSE(is_forbidden(space, with(3, 3)));
    EXPECT_FALSE(is_forbidden(space, with(4, 1))) << "both bounds count";
}

TEST(Space, WrongComparisonsOfKeys) {
    auto const forbids = [](std::string const& demand) {
        return refused(R"("model.a": [1, 2], "model.c": ["x", "y"])", R"(,
"search": {"procedure": "random", "trials": 1, "forbid": [{"model.a": )" + demand +
                                                                          "}]}");
    };
    EXPECT_EQ(forbids(R"({"above": {"key": "model.bb"}})"),
              "e.json:4:60: /search/forbid/0/model.a/above/key: \"model.bb\" is not searched; did you mean \"model.a\"?");
    EXPECT_EQ(
        forbids(R"({"below": {"key": "model.c"}})"),
        "e.json:4:60: /search/forbid/0/model.a/below/key: \"model.c\" has values that are not numbers (above and below "
        "compare numbers); compare another key");
    for (std::string const nothing : {"{}", R"({"above": null})", R"({"above": null, "below": null})"})
        EXPECT_EQ(forbids(nothing),
                  "e.json:4:71: /search/forbid/0/model.a: needs \"above\" or \"below\"; or write a value or a "
                  "list of values")
            << nothing;
    EXPECT_NE(forbids(R"({"above": {"key": ""}})"), "");
    EXPECT_EQ(
        forbids(R"({"above": {"key": "model.b"}, "below": {"key": "model.b"}})"),
        "e.json:4:60: /search/forbid/0/model.a: cannot be above and below the same key (that never holds); remove one\n"
        "e.json:4:60: /search/forbid/0/model.a/above/key: \"model.b\" is not searched; did you mean \"model.a\"?");
    EXPECT_EQ(
        forbids(R"({"below": {}})"),
        "e.json:4:81: /search/forbid/0/model.a/below/key: missing (required); write {\"key\": \"model.width\"}, the path of "
        "a searched key");
    EXPECT_EQ(forbids(R"({"below": {"key": "model.a", "time": 1}})"),
              "e.json:4:60: /search/forbid/0/model.a: is compared with itself (that never holds); name another key\n"
              "e.json:4:100: /search/forbid/0/model.a/below/time: unknown key (known: key)");
    EXPECT_EQ(
        refused(
            R"("model.a": {"type": "const", "value": 1, "when": {"model.b": {"above": {"key": "model.a"}}}},
               "model.b": [1])"),
        "e.json:3:12: /space/model.a/when: the conditions form a circle (each waits for the other); remove one \"when\"");
}

// Each value is tried in a configuration where the key exists, if there is one.
TEST(Space, ValuesBehindComparisonsAreTried) {
    auto const wrong = [](std::string const& when, std::string const& more) {
        return refused(R"("train.optimizer.lr": {"type": "const", "value": "x", "when": )" + when + "}, " + more);
    };
    auto const sizes = R"("train.batch_size": {"type": "int", "low": 1, "high": 1000000})";
    auto const epochs = R"("train.epochs": {"type": "int", "low": 1, "high": 1000000})";
    EXPECT_NE(wrong(R"({"train.batch_size": {"above": 2, "below": {"key": "train.epochs"}}})",
                    std::string(sizes) + ", " + epochs),
              "");
    EXPECT_NE(wrong(R"({"train.batch_size": {"above": {"key": "train.warmup"}, "below": {"key": "train.epochs"}}})",
                    std::string(sizes) + ", " + epochs + R"(, "train.warmup": [3, 4])"),
              "");
    EXPECT_NE(wrong(R"({"train.batch_size": {"below": {"key": "train.epochs"}}})",
                    R"("train.batch_size": {"type": "int", "low": 1, "high": 9, "when": {"train.loss": "cross_entropy"}},
                       "train.loss": ["mse", "cross_entropy"], "train.epochs": [2, 4])"),
              "");
}

TEST(Space, Starts) {
    auto const good =
        read(R"("model.a": [1, 2], "model.b": {"type": "choice", "values": [5], "when": {"model.a": 2}}, "model.c": 3)",
             R"(, "search": {"start_with": [{"model.b": 5, "model.a": 2}, {"model.a": 1}, {"model.a": 1, "model.c": 3}]})");
    ASSERT_EQ(good.start_with.size(), 2U);
    EXPECT_EQ(to_json(good.start_with[0]).dump(), R"({"model.a":2,"model.b":5,"model.c":3})");
    EXPECT_EQ(to_json(good.start_with[1]).dump(), R"({"model.a":1,"model.c":3})");
    EXPECT_EQ(refused(R"("model.a": [1, 2], "model.b": [1])",
                      ",\n\"search\": {\"start_with\": [{\"model.a\": 7, \"model.d\": 1}]}"),
              "e.json:4:27: /search/start_with/0/model.b: missing (a start gives every searched value); add the value\n"
              "e.json:4:39: /search/start_with/0/model.a: 7 is not in the space\n"
              "e.json:4:42: /search/start_with/0/model.d: unknown key (not in the space)");
}

TEST(Space, IsOfASizeThatCanBeTried) {
    std::string keys, values;
    for (int i = 0; i < 300; ++i) keys += (i > 0 ? ", \"model.k" : "\"model.k") + std::to_string(i) + "\": [1]";
    for (int i = 0; i < 20000; ++i) values += (i > 0 ? ", 1e-" : "1e-") + std::to_string(i);
    EXPECT_NE(complaints(document("\"space\": {" + keys + "}")).find("/space: has 300 keys (at most 256)"),
              std::string::npos);
    auto const listed = complaints(document("\"space\": {\"train.optimizer.lr\": [" + values + "]}"));
    EXPECT_NE(listed.find("/space/train.optimizer.lr: lists 20000 values (at most 10000)"), std::string::npos)
        << listed.substr(0, 200);
}

TEST(Space, AValueListedAThousandTimesIsToldAThousandTimesNotAMillion) {
    std::string values = "0.1";
    for (int i = 0; i < 1000; ++i) values += ", 0.1";
    auto const said = complaints(document("\"space\": {\"train.optimizer.lr\": [" + values + "]}"));
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 999);
}

// 0.1 + 2 * 0.1 is 0.30000000000000004 in binary: people write 0.3, in conditions and starts too.
constexpr char k_tenths[] = R"("model.dropout": {"type": "float", "low": 0.1, "high": 0.5, "step": 0.1})";

TEST(Space, StepsAreTheDecimalsThatPeopleWrite) {
    EXPECT_EQ(values(R"({"type": "float", "low": 0.1, "high": 0.8, "step": 0.1})"), "[0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8]");
    EXPECT_EQ(signed_values(R"({"type": "float", "low": -0.3, "high": 0.3, "step": 0.1})"),
              "[-0.3,-0.2,-0.1,0.0,0.1,0.2,0.3]");
    EXPECT_EQ(values(R"({"type": "float", "low": 1e-5, "high": 7e-5, "step": 2e-5})"), "[1e-05,3e-05,5e-05,7e-05]");
    EXPECT_EQ(values(R"({"type": "float", "low": 0.05, "high": 0.95, "step": 0.3})"), "[0.05,0.35,0.65,0.95]");
    EXPECT_EQ(values(R"({"type": "float", "low": 0.1, "high": 0.5, "count": 5})"), "[0.1,0.2,0.3,0.4,0.5]");
    EXPECT_EQ(signed_values(R"({"type": "float", "low": -0.3, "high": 0.3, "count": 7})"),
              "[-0.3,-0.2,-0.1,0.0,0.1,0.2,0.3]");
    EXPECT_EQ(values(R"({"type": "float", "low": 1e-4, "high": 1, "log": true, "count": 5})"),
              "[0.0001,0.001,0.01,0.1,1.0]");
    EXPECT_EQ(values(R"({"type": "float", "low": 0, "high": 1, "count": 4})"),
              "[0.0,0.3333333333333333,0.6666666666666666,1.0]");
}

TEST(Space, ConditionsAndStartsAgreeWithSteps) {
    auto const space =
        read(std::string(k_tenths) + R"(, "model.a": {"type": "const", "value": 1, "when": {"model.dropout": 0.3}},
             "model.b": {"type": "const", "value": 1, "when": {"model.dropout": {"above": 0.30000000000000004}}})",
             R"(, "search": {"procedure": "random", "trials": 2,
             "start_with": [{"model.dropout": 0.30000000000000004, "model.a": 1}, {"model.dropout": 0.3}]})");
    ASSERT_EQ(space.start_with.size(), 1U);
    EXPECT_EQ(to_json(space.start_with[0]).dump(), R"({"model.dropout":0.3,"model.a":1})");
    EXPECT_TRUE(is_active(space.parameters[1], {{"model.dropout", all_values(space.parameters[0])->at(2)}}));
    EXPECT_FALSE(is_active(space.parameters[2], {{"model.dropout", all_values(space.parameters[0])->at(2)}}));
}

TEST(Space, NumbersBetweenStepsAreRefused) {
    auto const search = [](std::string const& more) {
        return ",\n\"search\": {\"procedure\": \"random\", \"trials\": 2, " + more + "}";
    };
    EXPECT_EQ(refused(k_tenths, search(R"("start_with": [{"model.dropout": 0.35}])")),
              "e.json:4:81: /search/start_with/0/model.dropout: 0.35 is not in the space (it lies between two steps); write "
              "0.3 or 0.4");
    EXPECT_EQ(refused(k_tenths, search(R"("forbid": [{"model.dropout": [0.2, 0.25]}])")),
              "e.json:4:83: /search/forbid/0/model.dropout: 0.25 is not in the space (it lies between two steps); write 0.2 "
              "or 0.3");
    EXPECT_EQ(
        refused(R"("train.epochs": {"type": "int", "low": 1, "high": 8, "step": 3})",
                search(R"("start_with": [{"train.epochs": 5}, {"train.epochs": 8}, {"train.epochs": 9}])")),
        "e.json:4:80: /search/start_with/0/train.epochs: 5 is not in the space (it lies between two steps); write 4 or "
        "7\n"
        "e.json:4:101: /search/start_with/1/train.epochs: 8 is not in the space (the last step of the range is 7); "
        "write 7\n"
        "e.json:4:122: /search/start_with/2/train.epochs: 9 is not in the space (the range is 1 to 8, both inclusive)");
    EXPECT_EQ(
        refused(std::string(k_tenths) + R"(, "model.a": {"type": "const", "value": 1, "when": {"model.dropout": 0.45}})"),
        "e.json:3:142: /space/model.a/when/model.dropout: 0.45 is not in the space (it lies between two steps); write "
        "0.4 or 0.5");
}

TEST(Space, RulesThatCanNeverHoldAreNamed) {
    auto const space = read(std::string(k_tenths) + R"(, "model.c": ["x", "y"],
        "model.a": {"type": "const", "value": 1, "when": {"model.c": "z"}},
        "model.b": {"type": "const", "value": 1, "when": {"model.dropout": {"above": 0.5}}},
        "model.d": {"type": "const", "value": 1, "when": {"model.a": 1}},
        "model.e": {"type": "const", "value": 1, "when": {"model.dropout": {"above": 0.4}}})",
                            R"(, "search": {"procedure": "random", "trials": 2, "forbid": [{"model.dropout": 0.9},
        {"model.dropout": {"above": 0.3, "below": 0.4}},
        {"model.dropout": {"above": 0.2, "below": 0.4}, "model.c": "x"}]})");
    EXPECT_EQ(rules_never_met(space),
              (std::vector<std::string>{
                  "/space/model.a/when can never hold (model.c is never \"z\"); no trial has model.a",
                  "/space/model.b/when can never hold (model.dropout is never above 0.5); no trial has model.b",
                  "/space/model.d/when can never hold (model.a is never 1); no trial has model.d",
                  "/search/forbid/0 can never hold (model.dropout is never 0.9); it excludes nothing",
                  "/search/forbid/1 can never hold (model.dropout is never above 0.3 and below 0.4); it excludes nothing"}));
}

// A run of an earlier version goes on with the values that it began with.
TEST(Space, ComparisonsThatCanNeverHoldAreNamed) {
    auto const space = read(R"("model.a": [1, 2], "model.b": {"type": "int", "low": 2, "high": 5},
        "model.c": {"type": "const", "value": 1, "when": {"model.a": {"above": {"key": "model.b"}}}},
        "model.d": {"type": "const", "value": 1, "when": {"model.a": {"below": {"key": "model.b"}}}})");
    EXPECT_EQ(rules_never_met(space),
              std::vector<std::string>{
                  "/space/model.c/when can never hold (model.a is never above model.b); no trial has model.c"});
    auto const steps = read(R"("model.a": {"type": "int", "low": 0, "high": 10, "step": 4}, "model.b": [8, 9],
        "model.c": {"type": "const", "value": 1, "when": {"model.a": {"above": {"key": "model.b"}}}},
        "model.d": {"type": "const", "value": 1, "when": {"model.b": {"above": {"key": "model.c"}}}})");
    EXPECT_EQ(rules_never_met(steps).size(), 2U) << "the highest step is 8; and a key that no trial has";
}

TEST(Space, EarlierRunsHaveBinarySums) {
    Problems problems("e.json");
    auto experiment = read_experiment(space(k_tenths), {}, problems);
    Assignment const binary{{"model.dropout", 0.30000000000000004}}, decimal{{"model.dropout", 0.3}};
    EXPECT_EQ(with_own_values(read_space(experiment, problems), binary), decimal);
    experiment.step_values = StepValues::binary;
    auto const earlier = read_space(experiment, problems);
    EXPECT_EQ(all_values(earlier.parameters[0])->at(2).number(), 0.30000000000000004);
    EXPECT_EQ(with_own_values(earlier, decimal), binary);
}

// Every parameter waits for two others by conditions that never hold: they must not be followed along every path.
TEST(Space, ConditionsThatNeverHoldTakeNoTime) {
    std::string space = "\"model.a0\": [1], \"model.b0\": [1]";
    for (int i = 1; i < 40; ++i)
        for (char const* name : {"a", "b"}) {
            auto const before = std::to_string(i - 1);
            space += ", \"model." + std::string(name) + std::to_string(i) +
                     "\": {\"type\": \"choice\", \"values\": [1], \"when\": {\"model.a" + before + "\": 2, \"model.b" +
                     before + "\": 2}}";
        }
    EXPECT_EQ(complaints(document("\"space\": {" + space + "}")), "");
}

}  // namespace space_test
}  // namespace hopscotch
