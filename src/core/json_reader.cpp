// SPDX-License-Identifier: Apache-2.0
#include "core/json_reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/key_watcher.hpp"

namespace hopscotch {

Check<double> at_least(double low) {
    auto const refuse = [=](double v) { return v >= low ? "" : fmt::format("must be at least {} (got {})", low, v); };
    return {refuse, {.least = low}};
}
Check<double> above(double low) {
    auto const refuse = [=](double v) { return v > low ? "" : fmt::format("must be greater than {} (got {})", low, v); };
    return {refuse, {.above = low}};
}
Check<double> between(double low, double high) {
    auto const refuse = [=](double v) {
        return v >= low && v <= high ? "" : fmt::format("must be between {} and {} (got {})", low, high, v);
    };
    return {refuse, {.least = low, .most = high}};
}
Check<double> up_to(double high, Check<double> low) {
    auto allowed = low.allowed;
    allowed.most = high;
    auto refuse = [high, low = std::move(low)](double v) {
        return v <= high ? low(v) : fmt::format("must be at most {} (got {})", high, v);
    };
    return {std::move(refuse), allowed};
}
Check<std::string> one_of(std::vector<std::string> allowed) {
    Allowed const words{.words = allowed};
    auto refuse = [allowed = std::move(allowed)](std::string const& v) -> std::string {
        if (std::find(allowed.begin(), allowed.end(), v) != allowed.end()) return "";
        auto const near = nearest(v, allowed);
        return fmt::format("unknown value \"{}\" (known: {}){}", v, fmt::join(allowed, ", "),
                           near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near));
    };
    return {std::move(refuse), words};
}

namespace {

Json number_json(double value) {  // 1, not 1.0
    bool const whole = value == std::floor(value) && std::abs(value) < 1e15;
    return whole ? Json(static_cast<std::int64_t>(value)) : Json(value);
}

}  // namespace

Json schema_of(Json type, Allowed const& allowed) {
    auto out = Json::object({{"type", std::move(type)}});
    if (allowed.least) out["minimum"] = number_json(*allowed.least);
    if (allowed.above) out["exclusiveMinimum"] = number_json(*allowed.above);
    if (allowed.most) out["maximum"] = number_json(*allowed.most);
    if (allowed.below) out["exclusiveMaximum"] = number_json(*allowed.below);
    if (!allowed.words.empty()) out["enum"] = Json(allowed.words);
    if (!allowed.empty_text) out["minLength"] = Json(1);
    return out;
}

namespace {

// Whether a value is refused, and why. wrong_type: the caller knows which type was expected.
struct Refusal {
    enum class Kind { accepted, wrong_type, other };
    Kind kind = Kind::accepted;
    std::string why = {};

    static Refusal wrong_type() { return {Kind::wrong_type}; }
    static Refusal because(std::string why) { return {Kind::other, std::move(why)}; }
    explicit operator bool() const { return kind != Kind::accepted; }
};

}  // namespace

ObjectReader::ObjectReader(Json const& object, std::string path, Problems& problems)
    : object_(object), path_(std::move(path)), problems_(problems) {
    bool const absent = object.is_null() && object.at_position().line == 0;  // as opposed to a null in the file
    if (!object.is_object() && !absent)
        problems_.add(object.at_position(), path_, fmt::format("expected an object (got {})", object.kind()));
}

std::string ObjectReader::path_of(std::string_view key) const { return path_ + "/" + std::string(key); }

Json const* ObjectReader::find(std::string_view key) const {
    return watched() ? problems_.watcher()->value(path_, key) : object_.find(key);
}

Json const* ObjectReader::take(std::string_view key) {
    known_.emplace(key);
    return find(key);
}

void ObjectReader::describe(Key const& key, Json schema) {
    if (!watched()) return;
    if (!key.meaning.empty()) schema["description"] = Json(key.meaning);
    problems_.watcher()->key(path_, key.name, std::move(schema));
}

void ObjectReader::splits(std::string_view key) {
    if (watched()) problems_.watcher()->splits(path_, key);
}

void ObjectReader::problem(std::string_view key, std::string_view text) {
    auto const* value = find(key);
    problems_.add(value != nullptr ? value->at_position() : object_.at_position(), path_of(key), text);
}

void ObjectReader::missing(std::string_view key, std::string_view suggestion) {
    problems_.add(object_.at_position(), path_of(key), fmt::format("missing (required); {}", suggestion));
}

template <class T, class Convert>
void ObjectReader::read_as(Key const& key, T& out, std::string_view wanted, Convert convert) {
    auto const* value = take(key.name);
    if (value == nullptr) return;
    Refusal const refused = convert(*value, out);
    if (refused.kind == Refusal::Kind::wrong_type)
        problem(key.name, fmt::format("expected {} (got {})", wanted, value->kind()));
    else if (refused)
        problem(key.name, refused.why);
}

namespace {

Json with_default(Json schema, Json value) {
    schema["default"] = value.is_number() ? number_json(value.number()) : std::move(value);
    return schema;
}

Json or_null(char const* type) { return Json(Json::Array{Json(type), Json("null")}); }

Json list_of(char const* type, Allowed const& allowed) {
    return Json::object({{"type", "array"}, {"items", schema_of(type, allowed)}});
}

std::string checked(Check<double> const& check, double value) { return check ? check(value) : std::string(); }

Refusal read_integer(Json const& json, std::int64_t& out, Check<double> const& check) {
    if (!json.is_integer() && json.is_number() && std::abs(json.number()) >= 0x1p63)
        return Refusal::because(fmt::format("out of range (got {})", json.number()));
    if (!json.is_integer()) return Refusal::wrong_type();
    if (auto why = checked(check, static_cast<double>(json.integer())); !why.empty()) return Refusal::because(why);
    out = json.integer();
    return {};
}

Refusal read_number(Json const& json, double& out, Check<double> const& check) {
    if (!json.is_number()) return Refusal::wrong_type();
    if (!std::isfinite(json.number())) return Refusal::because("must be finite");
    if (auto why = checked(check, json.number()); !why.empty()) return Refusal::because(why);
    out = json.number();
    return {};
}

}  // namespace

void ObjectReader::read(Key const& key, bool& out) {
    if (watched()) describe(key, with_default(schema_of("boolean", {}), Json(out)));
    read_as(key, out, "true or false", [](Json const& json, bool& value) -> Refusal {
        if (!json.is_bool()) return Refusal::wrong_type();
        value = json.boolean();
        return {};
    });
}

void ObjectReader::read(Key const& key, std::optional<bool>& out) {
    if (watched()) describe(key, with_default(schema_of(or_null("boolean"), {}), Json()));
    if (auto const* value = take(key.name); value != nullptr && value->is_null()) return out.reset();
    read_as(key, out, "true, false or null", [](Json const& json, std::optional<bool>& value) -> Refusal {
        if (!json.is_bool()) return Refusal::wrong_type();
        value = json.boolean();
        return {};
    });
}

void ObjectReader::read(Key const& key, std::int64_t& out, Check<double> const& check) {
    if (watched()) describe(key, with_default(schema_of("integer", check.allowed), Json(out)));
    read_as(key, out, "an integer", [&](Json const& json, std::int64_t& value) { return read_integer(json, value, check); });
}

void ObjectReader::read(Key const& key, int& out, Check<double> const& check) {
    if (watched()) describe(key, with_default(schema_of("integer", check.allowed), Json(out)));
    read_as(key, out, "an integer", [&](Json const& json, int& value) -> Refusal {
        std::int64_t wide = 0;
        if (auto refused = read_integer(json, wide, check)) return refused;
        if (wide > INT32_MAX || wide < INT32_MIN) return Refusal::because(fmt::format("out of range (got {})", wide));
        value = static_cast<int>(wide);
        return {};
    });
}

void ObjectReader::read(Key const& key, double& out, Check<double> const& check) {
    if (watched()) describe(key, with_default(schema_of("number", check.allowed), Json(out)));
    read_as(key, out, "a number", [&](Json const& json, double& value) { return read_number(json, value, check); });
}

void ObjectReader::read(Key const& key, std::optional<std::int64_t>& out, Check<double> const& check) {
    if (watched()) describe(key, with_default(schema_of(or_null("integer"), check.allowed), Json()));
    if (auto const* value = take(key.name); value != nullptr && value->is_null()) return out.reset();
    read_as(key, out, "an integer or null", [&](Json const& json, std::optional<std::int64_t>& value) -> Refusal {
        std::int64_t number = 0;
        auto refused = read_integer(json, number, check);
        if (!refused) value = number;
        return refused;
    });
}

void ObjectReader::read(Key const& key, std::optional<double>& out, Check<double> const& check) {
    if (watched()) describe(key, with_default(schema_of(or_null("number"), check.allowed), Json()));
    if (auto const* value = take(key.name); value != nullptr && value->is_null()) return out.reset();
    read_as(key, out, "a number or null", [&](Json const& json, std::optional<double>& value) -> Refusal {
        double number = 0;
        auto refused = read_number(json, number, check);
        if (!refused) value = number;
        return refused;
    });
}

void ObjectReader::read(Key const& key, std::string& out, Check<std::string> const& check) {
    if (watched()) describe(key, with_default(schema_of("string", check.allowed), Json(out)));
    read_as(key, out, "a string", [&](Json const& json, std::string& value) -> Refusal {
        if (!json.is_string()) return Refusal::wrong_type();
        if (json.string().find('\0') != std::string::npos)
            return Refusal::because("must not contain \\u0000");  // paths would lose the text after it
        if (check)
            if (auto why = check(json.string()); !why.empty()) return Refusal::because(why);
        value = json.string();
        return {};
    });
}

void ObjectReader::read(Key const& key, std::vector<std::int64_t>& out, Check<double> const& each) {
    if (watched()) describe(key, with_default(list_of("integer", each.allowed), Json(out)));
    read_as(key, out, "an array of integers", [&](Json const& json, std::vector<std::int64_t>& value) -> Refusal {
        if (!json.is_array()) return Refusal::wrong_type();
        std::vector<std::int64_t> items(json.array().size());
        for (std::size_t i = 0; i < items.size(); ++i)
            if (auto refused = read_integer(json.array()[i], items[i], each); refused.kind == Refusal::Kind::wrong_type)
                return Refusal::because(fmt::format("element {} must be an integer (got {})", i, json.array()[i].kind()));
            else if (refused)
                return refused;
        value = std::move(items);
        return {};
    });
}

void ObjectReader::read(Key const& key, std::vector<std::string>& out) {
    if (watched()) describe(key, with_default(list_of("string", {}), Json(out)));
    read_as(key, out, "an array of strings", [](Json const& json, std::vector<std::string>& value) -> Refusal {
        if (!json.is_array()) return Refusal::wrong_type();
        std::vector<std::string> items;
        for (auto const& item : json.array()) {
            if (!item.is_string()) return Refusal::wrong_type();
            items.push_back(item.string());
        }
        value = std::move(items);
        return {};
    });
}

ObjectReader ObjectReader::child(Key const& key) {
    static Json const absent;
    describe(key, Json::object({{"type", "object"}}));
    auto const* value = take(key.name);
    return ObjectReader(value != nullptr ? *value : absent, path_of(key.name), problems_);
}

void ObjectReader::finish() {
    if (!object_.is_object()) return;
    std::vector<std::string> const known(known_.begin(), known_.end());
    auto words = known;
    words.insert(words.end(), beside_.begin(), beside_.end());
    for (auto const& member : object_.object()) {
        if (known_.contains(member.key)) continue;
        auto const near = nearest(member.key, words);
        auto const hint =
            near.empty() ? known.empty() ? " (no key is known here)" : fmt::format(" (known: {})", fmt::join(known, ", "))
                         : fmt::format("; did you mean \"{}\"?", near);
        problems_.add(member.key_position, path_of(member.key), "unknown key" + hint);
    }
}

}  // namespace hopscotch
