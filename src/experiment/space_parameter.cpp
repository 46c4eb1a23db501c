// SPDX-License-Identifier: Apache-2.0
#include "experiment/space_parameter.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <numeric>

#include "experiment/section_keys.hpp"

namespace hopscotch {
namespace {

constexpr double k_least_deviation = 1e-3, k_most_deviation = 10, k_least_weight = 1e-6;

// Words of other tools, with ours.
std::map<std::string, std::string, std::less<>> const& foreign_types() {
    static std::string const real = "write {\"type\": \"float\", \"low\": 0.1, \"high\": 0.9}; both bounds are inclusive";
    static std::string const log =
        "write {\"type\": \"float\", \"low\": 1e-5, \"high\": 0.1, \"log\": true}; bounds are values, not exponents";
    static std::string const whole = "write {\"type\": \"int\", \"low\": 1, \"high\": 8}; high is inclusive";
    static std::string const step = "write {\"type\": \"float\", \"low\": 0, \"high\": 1, \"step\": 0.25}";
    static std::string const normal =
        "write {\"type\": \"float\", \"low\": 0, \"high\": 1, \"prior\": 0.5}; prior: a guess, or a guess and a deviation";
    static std::string const log_normal =
        "write {\"type\": \"float\", \"low\": 1e-5, \"high\": 0.1, \"log\": true, \"prior\": 1e-3}";
    static std::string const choice = "write {\"type\": \"choice\", \"values\": [1, 2]}, or just the list";
    static std::map<std::string, std::string, std::less<>> const words{
        {"uniform", real},
        {"double", real},
        {"real", real},
        {"continuous", real},
        {"loguniform", log},
        {"log_uniform", log},
        {"log_uniform_values", log},
        {"reciprocal", log},
        {"log", log},
        {"randint", whole},
        {"integer", whole},
        {"int_uniform", whole},
        {"uniformint", whole},
        {"lograndint", whole},
        {"quniform", step},
        {"q_uniform", step},
        {"qloguniform", step},
        {"qrandint", "write {\"type\": \"int\", \"low\": 0, \"high\": 8, \"step\": 2}; high is inclusive"},
        {"categorical", choice},
        {"discrete", choice},
        {"grid_search", choice},
        {"constant", "write \"const\", or just the value"},
        {"normal", normal},
        {"lognormal", log_normal}};
    return words;
}

std::map<std::string, std::string, std::less<>> const& foreign_keys() {
    static std::map<std::string, std::string, std::less<>> const words{
        {"min", "low"},        {"minval", "low"},          {"lower", "low"},          {"max", "high"},
        {"maxval", "high"},    {"upper", "high"},          {"vals", "values"},        {"choices", "values"},
        {"options", "values"}, {"list", "values"},         {"_value", "values"},      {"q", "step"},
        {"_type", "type"},     {"distribution", "type"},   {"parameterType", "type"}, {"val", "value"},
        {"default", "prior"},  {"probabilities", "prior"}, {"weights", "prior"},      {"condition", "when"},
        {"conditions", "when"}};
    return words;
}

}  // namespace

Json listed_values_schema() {
    return Json::object({{"minItems", 1}, {"maxItems", static_cast<std::int64_t>(k_most_listed)}, {"uniqueItems", true}});
}

Json conditions_schema() {
    auto const number = Json::object({{"type", Json(Names{"number", "null"})}});
    auto const path = Json::object({{"type", "string"}, {"description", "The path of another searched key."}});
    auto const key = Json::object({{"type", "object"},
                                   {"properties", Json::object({{"key", path}})},
                                   {"required", Json(Names{"key"})},
                                   {"additionalProperties", false}});
    auto const bound = [&](char const* meaning) {
        return Json::object({{"anyOf", Json::Array{number, key}}, {"description", meaning}});
    };
    auto const bounds = Json::object({{"above", bound("Holds for values above this number, or above the value of a key.")},
                                      {"below", bound("Holds for values below this number, or below the value of a key.")}});
    auto const value = Json::object({{"type", Json(Names{"string", "number", "boolean", "null"})}});
    auto const list = Json::object({{"type", "array"}, {"minItems", 1}});
    auto const range =
        Json::object({{"type", "object"}, {"properties", bounds}, {"additionalProperties", false}, {"minProperties", 1}});
    auto const demand = Json::object({{"anyOf", Json::Array{value, list, range}}});
    return Json::object({{"type", "object"}, {"additionalProperties", demand}});
}

Json guess_schema() {
    auto const guess = Json::object({{"type", "number"}, {"description", "The value that is expected to be good."}});
    auto const deviation =
        Json::object({{"type", "number"},
                      {"minimum", k_least_deviation},
                      {"maximum", k_most_deviation},
                      {"default", Prior{}.deviation},
                      {"description", "Of the normal distribution around the guess, as a share of the range."}});
    auto const both = Json::object({{"type", "object"},
                                    {"properties", Json::object({{"guess", guess}, {"deviation", deviation}})},
                                    {"required", Json(Names{"guess"})},
                                    {"additionalProperties", false}});
    auto const alone = Json::object({{"type", Json(Names{"number", "null"})}});
    return Json::object({{"anyOf", Json::Array{alone, both}}});
}

// A number, or {"key": path}.
void read_bound(ObjectReader& reader, char const* name, std::optional<double>& number, std::string& key) {
    auto const* given = reader.take(name);
    if (given == nullptr || !given->is_object()) return reader.read(name, number);
    auto bound = reader.child(name);
    bound.read("key", key, not_empty());
    if (!bound.has("key")) bound.missing("key", "write {\"key\": \"model.width\"}, the path of a searched key");
    bound.finish();
}

std::vector<Condition> read_conditions(Json const& object, std::string const& path, Problems& problems) {
    std::vector<Condition> out;
    if (!object.is_object()) {
        problems.add(object.at_position(), path,
                     fmt::format("expected an object of {{path: value}} (got {})", object.kind()));
        return out;
    }
    for (auto const& [key, value, at] : object.object()) {
        Condition each{key, {}, {}, {}, {}, {}, at};
        if (value.is_object()) {
            ObjectReader reader(value, path + "/" + key, problems);
            read_bound(reader, "above", each.above, each.above_key);
            read_bound(reader, "below", each.below, each.below_key);
            auto const has = [&](char const* name) { return reader.has(name) && !reader.take(name)->is_null(); };
            if (!has("above") && !has("below"))
                problems.add(value.at_position(), path + "/" + key,
                             "needs \"above\" or \"below\"; or write a value or a list of values");
            reader.finish();
        } else {
            if (value.is_array()) each.any_of = value.array();
            if (value.is_array() && value.array().empty())
                problems.add(value.at_position(), path + "/" + key,
                             "is empty (the condition never holds); list at least one value");
            each.any_of.push_back(value);  // a list may itself be the value: [16] of model.hidden
        }
        out.push_back(std::move(each));
    }
    return out;
}

namespace {

class ParameterReader {
public:
    ParameterReader(Json::Member const& member, Problems& problems)
        : member_(member), path_("/space/" + member.key), problems_(problems) {
        out_.path = member.key;
        out_.key_at = member.key_position;
        out_.at = member.value.at_position();
    }

    std::optional<Parameter> read() {
        std::size_t const before = problems_.entries().size();
        auto const& value = member_.value;
        if (value.is_array())
            set_choice(value, path_);
        else if (value.is_object())
            read_object(value);
        else
            out_.values = {value};
        if (problems_.entries().size() > before) return std::nullopt;
        return std::move(out_);
    }

private:
    void set_choice(Json const& list, std::string const& path) {
        out_.type = Parameter::Type::choice;
        out_.values = list.array();
        if (out_.values.empty())
            problems_.add(list.at_position(), path, "is empty (nothing to search); list at least one value");
        if (out_.values.size() > k_most_listed)
            return problems_.add(list.at_position(), path,
                                 fmt::format("lists {} values (at most {})", out_.values.size(), k_most_listed));
        for (std::size_t i = 0; i < out_.values.size(); ++i)
            for (std::size_t j = 0; j < i; ++j)
                if (out_.values[i] == out_.values[j]) {
                    problems_.add(out_.values[i].at_position(), fmt::format("{}/{}", path, i),
                                  fmt::format("{} is listed twice (one configuration would be trained twice); remove one",
                                              out_.values[i].dump()));
                    break;
                }
    }

    void read_object(Json const& object) {
        if (refuse_foreign(object)) return;
        ObjectReader reader(object, path_, problems_);
        std::string type;
        Names const types{"float", "int", "choice", "const"};
        if (reader.watched())
            reader.describe({"type", "The distribution."}, Json::object({{"enum", Json(types)}, {"required", true}}));
        reader.splits("type");
        if (!reader.has("type")) {
            reader.take("type");
            return reader.missing("type", "write \"float\", \"int\", \"choice\" or \"const\"");
        }
        reader.read("type", type, one_of(types));
        if (type == "float" || type == "int")
            read_range(reader, object, type == "int" ? Parameter::Type::integer : Parameter::Type::real);
        if (type == "choice") read_values(reader);
        if (type == "choice") read_weights(reader);
        if (type == "const") {
            reader.describe({"value", "The value of every trial."}, Json::object({{"required", true}}));
            if (auto const* value = reader.take("value"); value != nullptr)
                out_.values = {*value};
            else
                reader.missing("value", "write {\"type\": \"const\", \"value\": 0.1}, or just the value");
        }
        reader.describe({"when", "The key exists only in trials that meet these conditions on other searched keys."},
                        conditions_schema());
        if (auto const* when = reader.take("when"); when != nullptr)
            out_.when = read_conditions(*when, path_ + "/when", problems_);
        if (!type.empty()) reader.finish();
    }

    bool refuse_foreign(Json const& object) {
        bool refused = false;
        for (auto const& [key, value, at] : object.object()) {
            if (auto const word = foreign_keys().find(key); word != foreign_keys().end()) {
                problems_.add(at, path_ + "/" + key, fmt::format("unknown key; the name here is \"{}\"", word->second));
                refused = true;
            } else if (key == "base") {
                problems_.add(at, path_ + "/base",
                              "unknown key (bounds are values, not exponents); write \"low\": 1e-5, \"log\": true");
                refused = true;
            }
            if (!value.is_string() || (key != "type" && key != "_type" && key != "distribution")) continue;
            if (auto const word = foreign_types().find(value.string()); word != foreign_types().end()) {
                problems_.add(value.at_position(), path_ + "/" + key,
                              fmt::format("unknown type \"{}\"; {}", word->first, word->second));
                refused = true;
            }
        }
        return refused;
    }

    void read_values(ObjectReader& reader) {
        if (reader.watched()) {
            auto values = listed_values_schema();
            values["type"] = Json("array");
            values["required"] = Json(true);
            reader.describe({"values", "The values to choose from."}, std::move(values));
        }
        auto const* values = reader.take("values");
        if (values == nullptr) return reader.missing("values", "list them: {\"type\": \"choice\", \"values\": [1, 2]}");
        if (!values->is_array()) return reader.problem("values", fmt::format("expected an array (got {})", values->kind()));
        set_choice(*values, path_ + "/values");
    }

    void read_weights(ObjectReader& reader) {
        std::vector<double> weights;
        auto const problems = problems_.entries().size();
        read_numbers(reader, {"prior", "Weights of the values: how often a sampler draws each before it has results."},
                     weights, between(k_least_weight, 1 / k_least_weight));
        if (!reader.has("prior") || reader.take("prior")->is_null() || problems_.entries().size() > problems) return;
        if (weights.size() != out_.values.size())
            return reader.problem("prior", fmt::format("has {} weights (there are {} values); write one for each value",
                                                       weights.size(), out_.values.size()));
        double const sum = std::accumulate(weights.begin(), weights.end(), 0.0);
        for (auto& weight : weights) weight /= sum;
        out_.prior = Prior{.weights = std::move(weights)};
    }

    // A number, or {"guess": 0.01, "deviation": 0.25}. The bounds are known.
    void read_guess(ObjectReader& reader, Json const& given) {
        constexpr std::string_view key = "prior";
        Prior prior;
        auto const problems = problems_.entries().size();
        if (given.is_object()) {
            auto inner = reader.child(key);
            inner.read("guess", prior.guess);
            if (!inner.has("guess")) inner.missing("guess", "write the value that you expect to be good");
            inner.read("deviation", prior.deviation, between(k_least_deviation, k_most_deviation));
            inner.finish();
        } else {
            reader.read(key, prior.guess);
        }
        if (problems_.entries().size() > problems) return;
        if (prior.guess < out_.low || prior.guess > out_.high)
            return reader.problem(key, fmt::format("must be between low and high (got {}; the range is {} to {})",
                                                   prior.guess, out_.low, out_.high));
        out_.prior = prior;
    }

    void read_bound(ObjectReader& reader, Key const& named, double& out) {
        auto const key = named.name;
        bool const whole_number = out_.type == Parameter::Type::integer;
        if (reader.watched())
            reader.describe(named, Json::object({{"type", whole_number ? "integer" : "number"}, {"required", true}}));
        if (!reader.has(key)) {
            reader.take(key);
            return reader.missing(key, "a range needs low and high, both inclusive");
        }
        std::int64_t whole = 0;
        if (whole_number) {
            reader.read(key, whole);
            out = static_cast<double>(whole);
        } else {
            reader.read(key, out);
        }
    }

    void read_range(ObjectReader& reader, Json const& object, Parameter::Type type) {
        out_.type = type;
        std::size_t const before = problems_.entries().size();
        read_bound(reader, {"low", "The lowest value, inclusive."}, out_.low);
        read_bound(reader, {"high", "The highest value, inclusive."}, out_.high);
        reader.read({"log", "Uniform in the logarithm."}, out_.log);
        reader.read({"step", "Only low, low + step, ... up to high."}, out_.step, above(0));
        reader.read({"count", "This many points of a grid, both bounds included."}, out_.count, at_least(1));
        if (reader.watched())
            reader.describe({"prior", "Good values are expected near this one: a number, or {guess, deviation}."},
                            guess_schema());
        auto const* prior = reader.take("prior");
        if (problems_.entries().size() > before) return;
        if (out_.high < out_.low)
            reader.problem("high", fmt::format("must be at least low (got {} < {})", out_.high, out_.low));
        if (out_.log && out_.low <= 0)
            reader.problem("low", fmt::format("must be greater than 0 with log (got {}; bounds are values, not exponents)",
                                              out_.low));
        if (out_.log && out_.step) reader.problem("step", "step and log exclude each other; leave one out");
        if (out_.count && out_.step) reader.problem("count", "count and step exclude each other; leave one out");
        if (out_.step && type == Parameter::Type::integer && *out_.step != std::floor(*out_.step))
            reader.problem("step", fmt::format("must be an integer (got {})", *out_.step));
        out_.values = {object.at("low"), object.at("high")};
        if (prior != nullptr && !prior->is_null()) read_guess(reader, *prior);
    }

    Json::Member const& member_;
    std::string path_;
    Problems& problems_;
    Parameter out_;
};

}  // namespace

std::optional<Parameter> read_parameter(Json::Member const& member, Problems& problems) {
    return ParameterReader(member, problems).read();
}

}  // namespace hopscotch
