// SPDX-License-Identifier: Apache-2.0
#include "experiment/section_keys.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace hopscotch {
namespace {

std::string enumeration(Names const& names) {  // "a", "a and b", "a, b and c"
    if (names.size() < 2) return names.empty() ? "" : names.front();
    return fmt::format("{} and {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

}  // namespace

bool OwnKeys::include(std::string_view key, Names const& owners) const {
    if (std::find(owners.begin(), owners.end(), here_) != owners.end()) return true;
    if (reader_.take(key) != nullptr && !here_.empty())
        reader_.problem(key, fmt::format("{} belongs to {} (the {} here is \"{}\"); leave it out", key, enumeration(owners),
                                         what_, here_));
    return false;
}

void describe_choice(ObjectReader& reader, Key const& key, std::string const& fallback, Names const& names) {
    reader.describe(key, Json::object({{"type", "string"}, {"enum", Json(names)}, {"default", fallback}}));
}

void read_choice(ObjectReader& reader, Key const& key, std::string& out, Names const& now, Names const& later) {
    if (reader.watched()) describe_choice(reader, key, out, now);
    if (auto const* given = reader.take(key.name); given != nullptr && !given->is_string())
        return reader.problem(key.name, fmt::format("expected one of {} (got {})", fmt::join(now, ", "), given->kind()));
    reader.read(key, out, [&, known = one_of(now)](std::string const& v) -> std::string {
        if (std::find(later.begin(), later.end(), v) == later.end()) return known(v);
        return fmt::format("{} \"{}\" is not available in this version (available: {})", key.name, v, fmt::join(now, ", "));
    });
}

void refuse_later_keys(ObjectReader& reader, Names const& later) {
    for (auto const& key : later)
        if (reader.take(key) != nullptr)
            reader.problem(key, fmt::format("\"{}\" is not available in this version; leave it out", key));
}

Check<double> at_least_zero_below_one() {
    auto const refuse = [](double v) {
        return v >= 0 && v < 1 ? "" : fmt::format("must be at least 0 and below 1 (got {})", v);
    };
    return {refuse, {.least = 0, .below = 1}};
}

Check<double> between_zero_and_one() {
    auto const refuse = [](double v) {
        return v > 0 && v < 1 ? "" : fmt::format("must be above 0 and below 1 (got {})", v);
    };
    return {refuse, {.above = 0, .below = 1}};
}

Check<std::string> not_empty() {
    return {[](std::string const& v) { return v.empty() ? "must not be empty" : ""; }, {.empty_text = false}};
}

void read_bytes(ObjectReader& reader, Key const& key, std::uint64_t& out) {
    std::string text = "auto";
    if (reader.watched())
        reader.describe(key, Json::object({{"type", "string"},
                                           {"pattern", "^(auto|[0-9.eE+-]+(kB|KB|MB|GB|TB))$"},
                                           {"examples", Json(Names{"512MB", "4GB"})},
                                           {"default", "auto"}}));
    reader.take(key.name);
    if (!reader.has(key.name)) return;
    reader.read(key, text);
    if (text == "auto") return;
    constexpr std::array<std::pair<std::string_view, double>, 5> units{
        {{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}}};
    double number = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    std::string_view const unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    for (auto const& [name, bytes] : units)
        if (error == std::errc() && unit == name && number > 0 && number * bytes < 1e18) {
            out = static_cast<std::uint64_t>(number * bytes);
            return;
        }
    reader.problem(key.name, fmt::format("expected \"auto\" or a size such as \"512MB\" or \"4GB\" (got \"{}\")", text));
}

void require_text(ObjectReader& reader, Key const& key, std::string& out, std::string_view suggestion) {
    if (reader.watched()) reader.describe(key, Json::object({{"type", "string"}, {"minLength", 1}, {"required", true}}));
    if (!reader.has(key.name)) {
        reader.take(key.name);
        return reader.missing(key.name, suggestion);
    }
    reader.read(key, out, not_empty());
}

bool is_word(ObjectReader& reader, Key const& key, WordOr const& other, Check<double> const& check) {
    if (reader.watched()) {
        auto const number = schema_of("integer", check.allowed);
        auto const word = Json::object({{"const", other.word}});
        reader.describe(key, Json::object({{"anyOf", Json::Array{word, number}}, {"default", other.fallback}}));
    }
    auto const* given = reader.take(key.name);
    if (given == nullptr || !given->is_string()) return false;
    if (given->string() != other.word)
        reader.problem(key.name, fmt::format("expected \"{}\" or {} (got \"{}\")", other.word, other.what, given->string()));
    return true;
}

void read_numbers(ObjectReader& reader, Key const& named, std::vector<double>& out, Check<double> const& each) {
    if (reader.watched())
        reader.describe(
            named, Json::object({{"type", "array"}, {"items", schema_of("number", each.allowed)}, {"default", Json(out)}}));
    auto const key = named.name;
    auto const* list = reader.take(key);
    if (list == nullptr) return;
    if (!list->is_array()) return reader.problem(key, fmt::format("expected an array of numbers (got {})", list->kind()));
    std::vector<double> values;
    for (std::size_t i = 0; i < list->array().size(); ++i) {
        auto const& item = list->array()[i];
        if (!item.is_number() || !std::isfinite(item.number()))
            return reader.problem(key, fmt::format("element {} must be a number (got {})", i, item.kind()));
        if (auto const refused = each(item.number()); !refused.empty())
            return reader.problem(key, fmt::format("element {} {}", i, refused));
        values.push_back(item.number());
    }
    out = std::move(values);
}

}  // namespace hopscotch
