// SPDX-License-Identifier: Apache-2.0
// The section `data`, and above all its augmentations.
#include <gtest/gtest.h>

#include "experiment/documents.hpp"

namespace hopscotch {
namespace data_section_test {

std::string document_with(std::string const& keys, std::string const& space = R"({"model.a": [1]})") {
    return "{\"model\": {\"name\": \"mlp\"}, \"run\": {\"dir\": \"r\"}, \"space\": " + space +
           ",\n\"data\": {\"path\": \"d\", " + keys + "}}";
}

DataConfig read(std::string const& keys) {
    Problems problems("e.json");
    auto const experiment = read_experiment(document_with(keys), {}, problems);
    EXPECT_EQ(problems.text(), "");
    return experiment.data;
}

std::string refused(std::string const& keys) { return complaints(document_with(keys)); }

TEST(Data, EveryKeyIsRead) {
    auto const data = read(R"("normalise": false, "cache": "window", "shuffle_rows": 4096)");
    EXPECT_FALSE(data.normalise);
    EXPECT_EQ(data.cache, Cache::window);
    EXPECT_EQ(data.shuffle_rows, 4096);
    EXPECT_EQ(read(R"("cache": "none")").cache, Cache::none);
    EXPECT_TRUE(read(R"("augment": [])").augment.empty());
    EXPECT_EQ(refused(R"("cache": "some", "shuffle_rows": -1)"),
              "e.json:2:32: /data/cache: unknown value \"some\" (known: all, window, none)\n"
              "e.json:2:56: /data/shuffle_rows: must be at least 0 (got -1)");
}

TEST(Augment, NamesAndObjects) {
    auto const augment = read(R"("augment": ["flip", {"name": "crop", "padding": 2}, {"name": "cutout", "size": 5}, "cutout",
                            {"name": "flip", "probability": 0.25}, {"name": "cutout", "probability": 0.5}])")
                             .augment;
    ASSERT_EQ(augment.size(), 6U);
    EXPECT_EQ(augment[0].kind, AugmentKind::flip);
    EXPECT_EQ(augment[0].probability, 0.5);
    EXPECT_EQ(augment[1].kind, AugmentKind::crop);
    EXPECT_EQ(augment[1].padding, 2);
    EXPECT_EQ(augment[2].kind, AugmentKind::cutout);
    EXPECT_EQ(augment[2].size, 5);
    EXPECT_EQ(augment[2].probability, 1);
    EXPECT_EQ(augment[3].size, 8);
    EXPECT_EQ(augment[3].probability, 1);
    EXPECT_EQ(augment[4].probability, 0.25);
    EXPECT_EQ(augment[5].probability, 0.5);
}

TEST(Augment, ProblemsAreToldAtTheirPlace) {
    EXPECT_EQ(refused(R"("augment": ["flp", 3, {"size": 2}, {"name": "crop", "pading": 1}])"),
              "e.json:2:35: /data/augment/0: unknown value \"flp\" (known: flip, crop, cutout); did you mean \"flip\"?\n"
              "e.json:2:42: /data/augment/1: expected a name or an object (got an integer)\n"
              "e.json:2:45: /data/augment/2/name: missing (required); write \"flip\", \"crop\" or \"cutout\"\n"
              "e.json:2:75: /data/augment/3/pading: unknown key; did you mean \"padding\"?");
    EXPECT_EQ(refused(R"("augment": [{"name": "flip", "size": 2}, {"name": "cutout", "size": 0, "probability": 2}])"),
              "e.json:2:60: /data/augment/0/size: size belongs to cutout (the name here is \"flip\"); leave it out\n"
              "e.json:2:91: /data/augment/1/size: must be at least 1 (got 0)\n"
              "e.json:2:109: /data/augment/1/probability: must be between 0 and 1 (got 2)");
    EXPECT_EQ(refused(R"("augment": "flip")"), "e.json:2:34: /data/augment: expected an array (got a string)");
}

TEST(Augment, IsSearchedAsAWhole) {
    std::string const keys = R"("normalise": true)";
    Problems problems("e.json");
    auto const e = read_experiment(
        document_with(keys, R"({"data.augment": [[], ["flip"], ["flip", {"name": "crop", "padding": 2}]]})"), {}, problems);
    EXPECT_EQ(problems.text(), "");
    auto const& choice = e.space.at("data.augment").array();
    EXPECT_EQ(resolve(e, {{"data.augment", choice[0]}}, problems).data.augment.size(), 0U);
    EXPECT_EQ(resolve(e, {{"data.augment", choice[2]}}, problems).data.augment.at(1).padding, 2);
    EXPECT_EQ(problems.text(), "");
    EXPECT_EQ(
        complaints(document_with(keys, "{\n\"data.augment\": [[], [\"flop\"]]}")),
        "e.json:2:22: /space/data.augment: /data/augment/0: unknown value \"flop\" (known: flip, crop, cutout); did you "
        "mean \"flip\"?");
}

}  // namespace data_section_test
}  // namespace hopscotch
