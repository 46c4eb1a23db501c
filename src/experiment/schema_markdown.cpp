// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "experiment/schema.hpp"

namespace hopscotch {
namespace {

std::string joined(Json::Array const& values, std::string_view between = ", ") {
    std::vector<std::string> words;
    for (auto const& value : values) words.push_back(value.is_string() ? value.string() : value.dump());
    return fmt::format("{}", fmt::join(words, between));
}

std::string type_of(Json const& schema) {
    if (auto const* either = schema.find("anyOf")) {
        auto const& first = either->array()[0];
        auto const* word = first.find("const");
        return fmt::format("{} or {}", word != nullptr ? word->dump() : type_of(first), type_of(either->array()[1]));
    }
    auto const* type = schema.find("type");
    if (type == nullptr) return schema.find("enum") != nullptr ? "string" : "any";
    auto const text = type->is_array() ? joined(type->array(), " or ") : type->string();
    auto const* items = schema.find("items");
    return items != nullptr && items->find("type") != nullptr && items->at("type").is_string()
               ? fmt::format("{} of {}s", text, items->at("type").string())
               : text;
}

std::string bounds_of(Json const& schema) {
    std::vector<std::string> out;
    for (auto const& [key, sign] : {std::pair("minimum", ">="), std::pair("exclusiveMinimum", ">"),
                                    std::pair("maximum", "<="), std::pair("exclusiveMaximum", "<")})
        if (auto const* bound = schema.find(key)) out.push_back(fmt::format("{} {}", sign, bound->dump()));
    return fmt::format("{}", fmt::join(out, ", "));
}

std::string allowed_of(Json const& schema) {
    if (auto const* words = schema.find("enum")) return joined(words->array());
    if (auto const* either = schema.find("anyOf")) return bounds_of(either->array()[1]);
    if (auto const* items = schema.find("items")) return allowed_of(*items);
    if (auto const* examples = schema.find("examples")) return "such as " + joined(examples->array());
    return bounds_of(schema);
}

bool is_required(Json const& object, std::string const& key) {  // of the object, or of each kind that has the key
    auto const* required = object.find("required");
    if (required != nullptr && std::ranges::count(required->array(), Json(key)) > 0) return true;
    auto const* branches = object.find("allOf");
    return branches != nullptr &&
           std::ranges::any_of(branches->array(), [&](Json const& branch) { return is_required(branch.at("then"), key); });
}

// Where a key stands in the branches of an object: in all of them, in none, or in some ("`name` adam, adamw").
struct Where {
    enum class Kind { all, none, some } kind;
    std::vector<std::string> some;
};

Where where(Json const& object, std::string_view key, Json const& reference) {
    auto const* branches = object.find("allOf");
    if (branches == nullptr) {
        auto const* found = object.at("properties").find(key);
        return {found != nullptr && *found == reference ? Where::Kind::all : Where::Kind::none, {}};
    }
    std::string setting;
    std::vector<std::string> texts, more;
    std::size_t whole = 0, empty = 0;
    for (auto const& branch : branches->array()) {
        auto const& [name, values, at] = branch.at("if").at("properties").object().front();
        setting = name;
        auto const inside = where(branch.at("then"), key, reference);
        whole += inside.kind == Where::Kind::all ? 1 : 0;
        empty += inside.kind == Where::Kind::none ? 1 : 0;
        if (inside.kind == Where::Kind::all) texts.push_back(joined(values.at("enum").array()));
        for (auto const& text : inside.some)
            if (std::ranges::count(more, text) == 0) more.push_back(text);
    }
    if (whole == branches->array().size()) return {Where::Kind::all, {}};
    if (empty == branches->array().size()) return {Where::Kind::none, {}};
    if (!texts.empty()) more.insert(more.begin(), fmt::format("`{}` {}", setting, fmt::join(texts, ", ")));
    return {Where::Kind::some, std::move(more)};
}

constexpr std::size_t k_columns = 120;

// Lines of the width of the other pages; those after the first are indented.
std::string wrapped(std::string_view text) {
    std::string out, line;
    while (!text.empty()) {
        auto const word = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(text.size(), word.size() + 1));
        if (line.size() + 1 + word.size() > k_columns) {
            out += line + "\n";
            line = " ";
        }
        line += fmt::format("{}{}", line.empty() ? "" : " ", word);
    }
    return out + line + "\n";
}

class Markdown {
public:
    explicit Markdown(Json const& schema) : schema_(schema) {}

    std::string text() {
        object("", schema_, "");
        return std::move(out_);
    }

private:
    struct Row {
        std::string key;
        Json reference;
    };

    Json const& resolved(Json const& reference) const {
        auto const* name = reference.find("$ref");
        return name == nullptr ? reference : schema_.at("definitions").at(name->string().substr(14));
    }

    void rows_of(Json const& object, std::vector<Row>& rows) const {
        if (auto const* branches = object.find("allOf"))
            for (auto const& branch : branches->array()) rows_of(branch.at("then"), rows);
        else
            for (auto const& [key, reference, at] : object.at("properties").object()) {
                auto const same = [&](Row const& row) { return row.key == key && row.reference == reference; };
                if (std::ranges::none_of(rows, same)) rows.push_back({key, reference});
            }
    }

    void object(std::string const& path, Json const& here, std::string const& remark) {
        std::vector<Row> rows;
        rows_of(here, rows);
        out_ += fmt::format("\n## {}\n", path.empty() ? "The file" : fmt::format("`{}`", path));
        if (!remark.empty()) out_ += wrapped(remark) + "\n";
        for (auto const& row : rows) line(here, row);
        for (auto const& row : rows) {
            auto const only = where(here, row.key, row.reference).some;
            auto const with = only.empty() ? "" : fmt::format("With {}.", fmt::join(only, "; "));
            below(path.empty() ? row.key : path + "." + row.key, resolved(row.reference), with);
        }
    }

    void line(Json const& here, Row const& row) {
        auto const& schema = resolved(row.reference);
        std::vector<std::string> facts{type_of(schema)};
        if (auto const allowed = allowed_of(schema); !allowed.empty()) facts.push_back(allowed);
        if (is_required(here, row.key)) facts.emplace_back("required");
        if (auto const* fallback = schema.find("default")) facts.push_back(fmt::format("default `{}`", fallback->dump()));
        if (auto const only = where(here, row.key, row.reference).some; !only.empty())
            facts.push_back(fmt::format("only with {}", fmt::join(only, " or ")));
        auto const* meaning = schema.find("description");
        out_ += wrapped(
            fmt::format("- `{}` ({}): {}", row.key, fmt::join(facts, "; "), meaning != nullptr ? meaning->string() : ""));
    }

    void below(std::string const& path, Json const& schema, std::string const& remark) {
        auto const* each = schema.find("patternProperties");  // the space: its properties are paths, all with one form
        if (each != nullptr) return object(path + " entry", resolved(each->object().front().value), "One distribution.");
        if (schema.find("properties") != nullptr || schema.find("allOf") != nullptr) object(path, schema, remark);
        if (auto const* items = schema.find("items"); items != nullptr && items->find("$ref") != nullptr)
            object(path + " entry", resolved(*items), "One entry of the list.");
    }

    Json const& schema_;
    std::string out_;
};

}  // namespace

std::string schema_markdown(Json const& schema) {
    return "# The experiment file\n\n"
           "`hopscotch schema --markdown` writes this page from the code that reads experiment files. `hopscotch schema` "
           "prints\nthe same as a JSON Schema for editors. In brackets: type, values, default, and the settings that the "
           "key needs.\n" +
           Markdown(schema).text();
}

}  // namespace hopscotch
