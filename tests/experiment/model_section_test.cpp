// SPDX-License-Identifier: Apache-2.0
// The section `model`: what every model has, and the arguments that only the zoo can check, each at its own place.
#include <gtest/gtest.h>

#include "experiment/documents.hpp"

namespace hopscotch {
namespace model_section_test {

std::string document_with(std::string const& model, std::string const& space = R"({"train.epochs": [1]})") {
    return "{\"data\": {\"path\": \"d\"}, \"run\": {\"dir\": \"r\"}, \"space\": " + space + ",\n\"model\": " + model + "}";
}

Experiment read(std::string const& text) {
    Problems problems("e.json");
    auto out = read_experiment(text, {}, problems);
    EXPECT_EQ(problems.text(), "");
    return out;
}

std::string refused(std::string const& model) { return complaints(document_with(model)); }

TEST(Model, GeneralKeysAreNoArguments) {
    auto const model = read(document_with(R"({"name": "vgg", "depth": 11, "init_from": "a.safetensors", "init_mode": "head",
        "freeze": ["features.*", "*.bias"]})"))
                           .model;
    EXPECT_EQ(model.init_from, "a.safetensors");
    EXPECT_EQ(model.init_mode, InitFrom::head);
    EXPECT_EQ(model.freeze, (std::vector<std::string>{"features.*", "*.bias"}));
    EXPECT_EQ(model.arguments.dump(), R"({"depth":11})");
    auto const plugin = read(document_with(R"({"name": "plugin", "file": "m.so", "width": 3})")).model;
    EXPECT_EQ(plugin.file, "m.so");
    EXPECT_EQ(plugin.arguments.dump(), R"({"width":3})");
}

TEST(Model, WhatNeedsAnotherKey) {
    EXPECT_EQ(
        refused(R"({"name": "mlp", "freeze": ["*"]})"),
        "e.json:2:36: /model/freeze: needs init_from (frozen parameters are not trained, so they need values); name a file");
    EXPECT_EQ(refused(R"({"name": "mlp", "init_mode": "head"})"),
              "e.json:2:39: /model/init_mode: needs init_from (the mode says how that file must fit); name a file, or leave "
              "init_mode out");
    EXPECT_EQ(
        refused(R"({"name": "mlp", "init_from": "a", "init_mode": "heads"})"),
        "e.json:2:57: /model/init_mode: unknown value \"heads\" (known: strict, head, partial); did you mean \"head\"?");
    EXPECT_EQ(refused(R"({"name": "plugin"})"),
              "e.json:2:10: /model/file: missing (required); name the shared object of a plugin, the .pt of a torchscript");
    EXPECT_EQ(refused(R"({"name": "mlp", "file": "m.so"})"),
              "e.json:2:34: /model/file: file belongs to plugin and torchscript (the name here is \"mlp\"); leave it out");
    EXPECT_EQ(refused(R"({"name": "mlp", "init_from": 3, "freeze": "*"})"),
              "e.json:2:39: /model/init_from: expected a string (got an integer)\n"
              "e.json:2:52: /model/freeze: expected an array of strings (got a string)");
}

TEST(Model, AFileToStartFromCanBeSearched) {
    auto const e = read(document_with(R"({"name": "mlp"})", R"({"model.init_from": ["", "a.safetensors"]})"));
    Problems problems("e.json");
    EXPECT_EQ(resolve(e, {{"model.init_from", "a.safetensors"}}, problems).model.init_from, "a.safetensors");
    EXPECT_EQ(problems.text(), "");
}

// What the zoo says of an argument, or of the model as such, is told where that argument, or the model's name, stands.
std::string said_by_a_zoo(ModelConfig const& model) {
    Problems problems("e.json");
    ObjectReader reader(model.arguments, "/model", problems);
    std::int64_t width = 0;
    reader.read("width", width, at_least(1));
    reader.finish();
    problems.add(model.arguments.at_position(), "/model/name", "is not in the zoo");
    return problems.text();
}

TEST(Model, EveryArgumentKeepsItsPlace) {
    auto const e = read(document_with("{\n  \"depth\": 1,\n  \"name\": \"vgg\",\n  \"width\": 0}",
                                      "{\"model.width\": [1,\n 0], \"model.name\": [\"vgg\"]}"));
    EXPECT_EQ(said_by_a_zoo(e.model),
              "e.json:4:3: /model/depth: unknown key (known: width)\n"
              "e.json:5:11: /model/name: is not in the zoo\n"
              "e.json:6:12: /model/width: must be at least 1 (got 0)");
    Problems problems("e.json");
    auto const& values = e.space.at("model.width").array();
    auto const trial =
        resolve(e, {{"model.width", values[1]}, {"model.name", e.space.at("model.name").array()[0]}}, problems);
    EXPECT_EQ(said_by_a_zoo(trial.model),
              "e.json:2:2: /model/width: must be at least 1 (got 0)\n"
              "e.json:2:21: /model/name: is not in the zoo\n"
              "e.json:4:3: /model/depth: unknown key (known: width)");
}

}  // namespace model_section_test
}  // namespace hopscotch
