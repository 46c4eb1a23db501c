// SPDX-License-Identifier: Apache-2.0
#include "experiment/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/key_watcher.hpp"
#include "experiment/space.hpp"

namespace hopscotch {
namespace {

using Choices = std::map<std::string, Json, std::less<>>;  // "/train/optimizer/name": "adam"

struct ObjectKeys {
    std::vector<std::pair<std::string, Json>> keys;  // in the order in which the reader asks for them
    std::vector<std::string> splits;
    bool open = false;

    Json const* find(std::string_view name) const {
        for (auto const& [key, schema] : keys)
            if (key == name) return &schema;
        return nullptr;
    }
};

// A default that an experiment may not contain: 0 stands for "as the other settings say".
void drop_unwritable_default(Json& schema) {
    auto const* fallback = schema.find("default");
    auto const* least = schema.find("minimum");
    if (fallback == nullptr || !fallback->is_number() || least == nullptr || fallback->number() >= least->number()) return;
    std::erase_if(schema.object(), [](Json::Member const& member) { return member.key == "default"; });
}

// Notes the keys of a document that has the chosen values and nothing else.
class Notes final : public KeyWatcher {
public:
    explicit Notes(Choices const& choices) : choices_(choices) {}

    void key(std::string const& object, std::string_view name, Json schema) override {
        auto& here = objects[object];
        drop_unwritable_default(schema);
        if (here.find(name) == nullptr) here.keys.emplace_back(name, std::move(schema));
    }
    void splits(std::string const& object, std::string_view name) override { objects[object].splits.emplace_back(name); }
    void open(std::string const& object) override { objects[object].open = true; }
    Json const* value(std::string const& object, std::string_view name) const override {
        auto const found = choices_.find(fmt::format("{}/{}", object, name));
        return found == choices_.end() ? nullptr : &found->second;
    }

    std::map<std::string, ObjectKeys, std::less<>> objects;  // by path; "/space/*" is any entry of /space

private:
    Choices const& choices_;
};

void merge(Json& into, Json const& more) {
    for (auto const& member : more.object()) into[member.key] = member.value;
}

Json without(Json const& schema, std::string_view key) {
    auto out = schema;
    std::erase_if(out.object(), [&](Json::Member const& member) { return member.key == key; });
    return out;
}

bool is_required(Json const& schema) {
    auto const* required = schema.find("required");
    return required != nullptr && required->is_bool();
}

class SchemaBuilder {
public:
    explicit SchemaBuilder(Readers const& readers) : readers_(readers) {}

    // The keywords of the object at this path. A value that is not an object meets them all.
    Json keywords(std::string const& path, Choices const& choices) {
        Notes notes(choices);
        Problems unread("", &notes);
        readers_(unread);
        auto const& here = notes.objects[path];
        for (auto const& name : here.splits)
            if (auto const* schema = here.find(name);
                schema != nullptr && schema->find("enum") != nullptr && !choices.contains(path + "/" + name))
                return split(path, choices, name, *schema);
        return keys_of(path, choices, notes);
    }

    Json definitions{Json::Object{}};

private:
    // One branch for all values of `name` that have the same keys.
    Json split(std::string const& path, Choices const& choices, std::string const& name, Json const& schema) {
        std::vector<std::pair<Json::Array, Json>> groups;
        for (auto const& value : schema.at("enum").array()) {
            auto chosen = choices;
            chosen[path + "/" + name] = value;
            auto keys = keywords(path, chosen);
            auto const same = std::ranges::find(groups, keys, &std::pair<Json::Array, Json>::second);
            if (same == groups.end())
                groups.push_back({{value}, std::move(keys)});
            else
                same->first.push_back(value);
        }
        auto out = Json::object({{"properties", Json::object({{name, property(path, name, schema)}})}});
        if (is_required(schema)) out["required"] = Json(Json::Array{Json(name)});
        if (groups.size() == 1) return groups.front().second;
        Json::Array branches;
        for (auto& [values, keys] : groups) {
            auto const* fallback = schema.find("default");
            bool const absent = fallback != nullptr && std::ranges::find(values, *fallback) != values.end();
            auto condition = Json::object({{"properties", Json::object({{name, Json::object({{"enum", Json(values)}})}})}});
            if (!absent) condition["required"] = Json(Json::Array{Json(name)});
            branches.push_back(Json::object({{"if", std::move(condition)}, {"then", std::move(keys)}}));
        }
        out["allOf"] = Json(std::move(branches));
        return out;
    }

    Json keys_of(std::string const& path, Choices const& choices, Notes const& notes) {
        auto const& here = notes.objects.at(path);
        Json properties(Json::Object{});
        Json::Array required;
        for (auto const& [name, noted] : here.keys) {
            auto schema = noted;
            auto const below = path + "/" + name;
            if (notes.objects.contains(below)) merge(schema, keywords(below, choices));
            bool const needed = schema.find("required") != nullptr;  // an object with a required key must be given, too
            if (needed) required.emplace_back(name);
            if (notes.objects.contains(below + "/*")) {
                auto const* const each = schema.find("items") != nullptr ? "items" : "additionalProperties";
                merge(schema[each], keywords(below + "/*", choices));
                schema[each] = property(below, "entry", schema[each]);
            }
            properties[name] = property(path, name, schema);
        }
        auto out = Json::object({{"properties", std::move(properties)}});
        if (!required.empty()) out["required"] = Json(std::move(required));
        if (!here.open) out["additionalProperties"] = Json(false);
        return out;
    }

    // A reference to the definition; a second definition of a different kind gets a number.
    Json property(std::string const& path, std::string const& name, Json const& schema) {
        auto const plain = is_required(schema) ? without(schema, "required") : schema;
        auto dotted = path.empty() ? name : path.substr(1) + "." + name;
        std::ranges::replace(dotted, '/', '.');
        std::erase(dotted, '*');
        auto unique = dotted;
        for (int i = 2; definitions.find(unique) != nullptr && !(definitions.at(unique) == plain); ++i)
            unique = fmt::format("{}.{}", dotted, i);
        definitions[unique] = plain;
        return Json::object({{"$ref", "#/definitions/" + unique}});
    }

    Readers const& readers_;
};

// Every path that may stand in the space, for editors; arguments of own models are known to the models alone.
class SpacePaths {
public:
    explicit SpacePaths(Json const& definitions) : definitions_(definitions) {}

    Json properties() {
        for (auto const* section : {"data", "model", "train"}) collect(definitions_.at(section), section);
        return std::move(out_);
    }

private:
    void collect(Json const& object, std::string const& path) {
        if (auto const* properties = object.find("properties"))
            for (auto const& [key, reference, at] : properties->object()) {
                auto const dotted = path + "." + key;
                if (!is_shared(dotted)) out_[dotted] = Json::object({{"$ref", "#/definitions/space.entry"}});
                collect(definitions_.at(reference.at("$ref").string().substr(14)), dotted);
            }
        if (auto const* branches = object.find("allOf"))
            for (auto const& branch : branches->array()) collect(branch.at("then"), path);
    }

    Json const& definitions_;
    Json out_{Json::Object{}};
};

}  // namespace

Json experiment_schema(Readers const& readers) {
    SchemaBuilder builder(readers);
    auto out = Json::object({{"$schema", "http://json-schema.org/draft-07/schema#"},
                             {"title", "Experiment file of Hopscotch"},
                             {"type", "object"}});
    merge(out, builder.keywords("", {}));
    auto& space = builder.definitions["space"];
    auto entry = space.at("additionalProperties");
    space["properties"] = SpacePaths(builder.definitions).properties();
    space["patternProperties"] = Json::object({{"^model\\.", std::move(entry)}});
    space["additionalProperties"] = Json(false);
    out["definitions"] = builder.definitions;
    return out;
}

}  // namespace hopscotch
