// SPDX-License-Identifier: Apache-2.0
// The schema against the reader, key by key: a key that the schema has for a kind of thing is one that the reader knows
// there, and every other key of the same object is one that the reader refuses.
#include "experiment/schema.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "data/dataset/data_schema.hpp"
#include "experiment/procedures.hpp"
#include "experiment/reader.hpp"
#include "experiment/space.hpp"
#include "model/zoo/zoo.hpp"

namespace hopscotch {
namespace {

Json const& schema() {
    static Json const made = experiment_schema([](Problems& problems) {
        describe_models(problems);
        describe_experiment(problems);
    });
    return made;
}

Json const& resolved(Json const& reference) {
    auto const* name = reference.find("$ref");
    return name == nullptr ? reference : schema().at("definitions").at(name->string().substr(14));
}

// The keys of an object of one kind; choices: dotted paths of the values that make the kind.
struct Kind {
    std::string path;
    std::vector<std::pair<std::string, Json>> choices;
    std::set<std::string> keys;
};

void collect(Json const& object, Kind kind, std::vector<Kind>& out) {
    if (auto const* branches = object.find("allOf")) {
        for (auto const& branch : branches->array()) {
            auto const& [name, values, at] = branch.at("if").at("properties").object().front();
            for (auto const& value : values.at("enum").array()) {
                auto chosen = kind;
                chosen.choices.emplace_back(kind.path.empty() ? name : kind.path + "." + name, value);
                collect(branch.at("then"), chosen, out);
            }
        }
        return;
    }
    for (auto const& [key, reference, at] : object.at("properties").object()) {
        kind.keys.insert(key);
        auto const& below = resolved(reference);
        if (below.find("patternProperties") == nullptr &&
            (below.find("properties") != nullptr || below.find("allOf") != nullptr))
            collect(below, {kind.path.empty() ? key : kind.path + "." + key, kind.choices, {}}, out);
    }
    out.push_back(std::move(kind));
}

std::vector<Kind> kinds() {
    std::vector<Kind> out;
    collect(schema(), {}, out);
    return out;
}

// Does the reader know the key in an object of this kind? Every value that is tried has a wrong type or a strange meaning,
// so only complaints about the key itself count.
bool is_known(Kind const& kind, std::string const& key) {
    Json document = Json::object({{"data", Json::object({{"path", "d"}})},
                                  {"model", Json::object({{"name", "logistic"}})},
                                  {"run", Json::object({{"dir", "r"}})}});
    for (auto const& [path, value] : kind.choices) document.set(path, value);
    auto const path = kind.path.empty() ? key : kind.path + "." + key;
    bool const chosen = std::ranges::any_of(kind.choices, [&](auto const& each) { return each.first == path; });
    if (!chosen) document.set(path, Json(1));
    Problems problems("e.json");
    auto const experiment = read_experiment(document.dump(), {}, problems);
    DataSchema const images{Task::classification, {3, 32, 32}, 10, 100, {}};
    if (kind.path == "model" && experiment.model.name != "plugin") check_model(experiment.model, images, problems);
    for (auto const& entry : problems.entries())
        if (entry.path == json_path(path) &&
            (entry.problem.starts_with("unknown key") || entry.problem.starts_with("is not known") ||
             entry.problem.find(" belongs to ") != std::string::npos))
            return false;
    return true;
}

// The rest of the document decides what it takes.
bool is_auto(Kind const& kind) {
    return std::ranges::any_of(kind.choices, [](auto const& each) { return each.second == Json(k_auto_procedure); });
}

TEST(Schema, HasTheKeysThatTheReaderKnowsForEachKind) {
    std::map<std::string, std::set<std::string>> all;  // by path: the keys of every kind
    for (auto const& kind : kinds()) all[kind.path].insert(kind.keys.begin(), kind.keys.end());
    std::size_t tried = 0;
    for (auto const& kind : kinds()) {
        if (kind.path == "model" && kind.choices.front().second == Json("plugin")) continue;  // takes any key
        if (kind.path.starts_with("search") && is_auto(kind)) continue;
        for (auto const& key : all[kind.path]) {
            auto const where = kind.path + " of " + to_json(Assignment(kind.choices)).dump() + ": " + key;
            EXPECT_EQ(is_known(kind, key), kind.keys.contains(key)) << where;
            ++tried;
        }
        EXPECT_FALSE(is_known(kind, "no_such_key")) << kind.path;
    }
    EXPECT_GT(tried, 1000U);
}

TEST(Schema, EveryKeyHasAMeaning) {
    for (auto const& [name, definition, at] : schema().at("definitions").object())
        EXPECT_TRUE(name.ends_with(".entry") || definition.find("description") != nullptr) << name;
}

TEST(Schema, NoReferenceHasASiblingAndNoneLeadsNowhere) {
    std::vector<Json> open{schema()};
    std::size_t references = 0;
    while (!open.empty()) {
        auto const next = std::move(open.back());
        open.pop_back();
        if (next.is_array()) open.insert(open.end(), next.array().begin(), next.array().end());
        if (!next.is_object()) continue;
        if (next.find("$ref") != nullptr) {
            EXPECT_EQ(next.object().size(), 1U);
            EXPECT_NO_THROW(resolved(next)) << next.dump();
            ++references;
        }
        for (auto const& member : next.object()) open.push_back(member.value);
    }
    EXPECT_GT(references, 200U);
}

TEST(Schema, DocsPageIsFresh) {
    std::ifstream file(HOPSCOTCH_SOURCE_DIR "/docs/experiment.md");
    std::stringstream page;
    page << file.rdbuf();
    EXPECT_EQ(page.str(), schema_markdown(schema()))
        << "docs/experiment.md is stale; run: build/hopscotch schema --markdown > docs/experiment.md";
}

}  // namespace
}  // namespace hopscotch
