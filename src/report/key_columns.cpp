// SPDX-License-Identifier: Apache-2.0
#include "report/key_columns.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "analysis/results/run_results.hpp"
#include "experiment/space.hpp"
#include "report/page_text.hpp"

namespace hopscotch {
namespace {

std::string_view last_name(std::string_view path) { return path.substr(path.rfind('.') + 1); }

std::string value_words(Json const& value) {
    if (value.is_string()) return cut_text(value.string(), 60);
    if (value.is_number()) return short_number(value.number());
    return cut_text(value.dump(), 60);
}

// The keys in the order of the space, then keys that only orders have changed.
std::vector<std::string> paths_of(RunResults const& data, Space const& space) {
    std::vector<std::string> out;
    std::set<std::string> known;
    for (auto const& parameter : space.parameters)
        if (known.insert(parameter.path).second) out.push_back(parameter.path);
    for (auto const& group : data.groups)
        for (auto const& [path, value] : group.assignment)
            if (known.insert(path).second) out.push_back(path);
    return out;
}

void add_range(KeyColumn& column, Parameter const& parameter) {
    column.numeric = is_range(parameter);
    column.whole = parameter.type == Parameter::Type::integer;
    column.log = parameter.log;
    column.low = parameter.low;
    column.high = parameter.high;
    column.step = parameter.step;
}

void add_numbers(KeyColumn& column, std::vector<Json const*> const& values) {
    for (auto const* value : values) {
        bool const has = value != nullptr && value->is_number();
        column.values.push_back(has ? std::optional(value->number()) : std::nullopt);
        column.texts.push_back(value == nullptr ? "" : value_words(*value));
        if (has) column.low = std::min(column.low, value->number());
        if (has) column.high = std::max(column.high, value->number());
    }
}

// listed: the values of the space, in its order.
void add_categories(KeyColumn& column, std::vector<Json const*> const& values, std::vector<Json> const& listed) {
    std::vector<std::pair<double, std::string>> found;  // numbers first, by value
    std::set<std::string> known, used;
    for (auto const* value : values)
        if (value != nullptr) used.insert(value_words(*value));
    auto const add = [&](Json const& value) {
        if (used.contains(value_words(value)) && known.insert(value_words(value)).second)
            found.emplace_back(value.is_number() ? value.number() : INFINITY, value_words(value));
    };
    for (auto const& value : listed) add(value);
    for (auto const* value : values)
        if (value != nullptr) add(*value);
    std::ranges::stable_sort(found, {}, &std::pair<double, std::string>::first);
    std::map<std::string, double> place;
    for (auto const& [number, text] : found) {
        place[text] = static_cast<double>(column.categories.size());
        column.categories.push_back(text);
    }
    for (auto const* value : values) {
        column.values.push_back(value == nullptr ? std::nullopt : std::optional(place.at(value_words(*value))));
        column.texts.push_back(value == nullptr ? "" : value_words(*value));
    }
}

bool varies(KeyColumn const& column) {
    std::set<std::optional<double>> found(column.values.begin(), column.values.end());
    return found.size() > 1;
}

KeyColumn column_of(RunResults const& data, std::string const& path, Space const& space) {
    KeyColumn out;
    out.path = path;
    std::vector<Json> listed;
    for (auto const& parameter : space.parameters) {
        if (parameter.path != path) continue;
        add_range(out, parameter);
        if (parameter.type == Parameter::Type::choice) listed = parameter.values;
    }
    std::vector<Json const*> values;
    bool numbers = true;
    for (auto const& group : data.groups) {
        values.push_back(value_of(group.assignment, path));
        numbers = numbers && (values.back() == nullptr || values.back()->is_number());
    }
    out.numeric = out.numeric && numbers;
    out.numeric ? add_numbers(out, values) : add_categories(out, values, listed);
    return out;
}

}  // namespace

std::vector<KeyColumn> key_columns(RunResults const& data, KeyColumns which) {
    Problems ignored("");
    auto const space = read_space(data.run.experiment, ignored);
    std::vector<KeyColumn> out;
    for (auto const& path : paths_of(data, space)) {
        auto column = column_of(data, path, space);
        if (which == KeyColumns::all || varies(column)) out.push_back(std::move(column));
    }
    for (auto& column : out) {
        auto const same =
            std::ranges::count_if(out, [&](auto const& o) { return last_name(o.path) == last_name(column.path); });
        column.name = same > 1 ? column.path : std::string(last_name(column.path));
    }
    return out;
}

}  // namespace hopscotch
