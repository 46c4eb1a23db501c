// SPDX-License-Identifier: Apache-2.0
#include "experiment/space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiment/space_parameter.hpp"
#include "experiment/steps.hpp"

namespace hopscotch {
namespace {

constexpr double k_most_values = 1e6;

bool has_numbers(Parameter const& parameter) {
    return std::ranges::all_of(parameter.values, [](Json const& value) { return value.is_number(); });
}

// False after a complaint. where: what stands before the condition's path.
bool has_known_keys(Condition const& condition, Space const& space, std::string const& where, Problems& problems) {
    bool good = true;
    auto const complain = [&](std::string const& key, std::string const& problem) {
        auto const place = where + condition.path;
        if (key == condition.path)
            problems.add(condition.at, place, problem);
        else
            problems.add(condition.at, place + (key == condition.above_key ? "/above/key" : "/below/key"),
                         fmt::format("\"{}\" {}", key, problem));
        good = false;
    };
    std::vector<std::string> paths;
    for (auto const& parameter : space.parameters) paths.push_back(parameter.path);
    bool const compares_keys = !condition.above_key.empty() || !condition.below_key.empty();
    if (condition.path == condition.above_key || condition.path == condition.below_key)
        complain(condition.path, "is compared with itself (that never holds); name another key");
    if (!condition.above_key.empty() && condition.above_key == condition.below_key)
        complain(condition.path, "cannot be above and below the same key (that never holds); remove one");
    for (auto const& key : condition.keys()) {
        auto const parameter = std::ranges::find(space.parameters, key, &Parameter::path);
        if (parameter == space.parameters.end()) {
            auto const near = nearest(key, paths);
            complain(key, near.empty() ? "is not searched (a condition needs a key of the space)"
                                       : fmt::format("is not searched; did you mean \"{}\"?", near));
        } else if (compares_keys && !has_numbers(*parameter))
            complain(key, "has values that are not numbers (above and below compare numbers); compare another key");
    }
    return good;
}

// Parents before children; reports parents that are not there and circles.
void sort_parameters(Space& space, Problems& problems) {
    auto const find = [&](std::string const& path) {
        return std::find_if(space.parameters.begin(), space.parameters.end(),
                            [&](Parameter const& p) { return p.path == path; });
    };
    for (auto& parameter : space.parameters)
        std::erase_if(parameter.when, [&](Condition const& condition) {
            return !has_known_keys(condition, space, "/space/" + parameter.path + "/when/", problems);
        });
    std::vector<bool> placed(space.parameters.size(), false);
    for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t i = 0; i < placed.size() && !moved; ++i) {
            auto const& when = space.parameters[i].when;
            auto const has_place = [&](std::string const& key) {
                return placed[static_cast<std::size_t>(find(key) - space.parameters.begin())];
            };
            if (placed[i] ||
                !std::ranges::all_of(when, [&](auto const& each) { return std::ranges::all_of(each.keys(), has_place); }))
                continue;
            placed[i] = moved = true;
            space.order.push_back(i);
        }
    }
    for (std::size_t i = 0; i < placed.size(); ++i)
        if (!placed[i])
            problems.add(space.parameters[i].at, "/space/" + space.parameters[i].path + "/when",
                         "the conditions form a circle (each waits for the other); remove one \"when\"");
}

// The value as the parameter has it; none if the parameter does not have it.
std::optional<Json> own_value(Parameter const& parameter, Json const& value) {
    using enum Parameter::Type;
    if (parameter.type == real || parameter.type == integer) return value_in_range(parameter, value);
    auto const found = std::find(parameter.values.begin(), parameter.values.end(), value);
    return found == parameter.values.end() ? std::nullopt : std::optional(*found);
}

// One start: every active key, a value of its range, nothing else. Constants may be left out.
void read_start(Json const& object, std::string const& path, Space& space, Problems& problems) {
    if (!object.is_object())
        return problems.add(object.at_position(), path,
                            fmt::format("expected an object of {{path: value}} (got {})", object.kind()));
    std::size_t const before = problems.entries().size();
    Assignment start;
    for (auto index : space.order) {
        auto const& parameter = space.parameters[index];
        auto const* value = object.find(parameter.path);
        if (!is_active(parameter, start)) {
            if (value != nullptr)
                problems.add(value->at_position(), path + "/" + parameter.path,
                             "is not active here (its \"when\" does not hold); leave it out");
        } else if (value == nullptr && parameter.type == Parameter::Type::constant) {
            start.emplace_back(parameter.path, parameter.values.front());
        } else if (value == nullptr) {
            problems.add(object.at_position(), path + "/" + parameter.path,
                         "missing (a start gives every searched value); add the value");
        } else {
            auto const own = own_value(parameter, *value);
            if (!own) problems.add(value->at_position(), path + "/" + parameter.path, not_in_space(parameter, *value));
            start.emplace_back(parameter.path, own.value_or(*value));
        }
    }
    for (auto const& member : object.object())
        if (std::none_of(space.parameters.begin(), space.parameters.end(),
                         [&](auto const& p) { return p.path == member.key; }))
            problems.add(member.key_position, path + "/" + member.key, "unknown key (not in the space)");
    if (problems.entries().size() > before) return;
    start = in_order(space, start);
    if (is_forbidden(space, start))
        return problems.add(object.at_position(), path, "is excluded by search.forbid; remove one of the two");
    if (std::find(space.start_with.begin(), space.start_with.end(), start) == space.start_with.end())
        space.start_with.push_back(start);
}

void read_forbid(Json const& list, Space& space, Problems& problems) {
    for (std::size_t i = 0; list.is_array() && i < list.array().size(); ++i) {
        auto const path = fmt::format("/search/forbid/{}", i);
        auto conditions = read_conditions(list.array()[i], path, problems);
        for (auto const& condition : conditions) has_known_keys(condition, space, path + "/", problems);
        if (conditions.empty() && list.array()[i].is_object())
            problems.add(list.array()[i].at_position(), path, "is empty (it would exclude everything); remove it");
        if (!conditions.empty()) space.forbid.push_back(std::move(conditions));
    }
}

}  // namespace

Space read_space(Experiment const& experiment, Problems& problems) {
    Space out;
    std::size_t const before = problems.entries().size();
    auto const& space = experiment.space;
    if (!space.is_null() && !space.is_object()) {
        problems.add(space.at_position(), "/space", fmt::format("expected an object (got {})", space.kind()));
        return out;
    }
    if (space.is_null() || space.object().empty()) {
        problems.add(space.at_position(), "/space",
                     "is empty (nothing to search); add for example \"train.optimizer.lr\": [0.01, 0.1]");
        return out;
    }
    if (space.object().size() > k_most_parameters) {
        problems.add(space.at_position(), "/space",
                     fmt::format("has {} keys (at most {})", space.object().size(), k_most_parameters));
        return out;
    }
    for (auto const& member : space.object())
        if (auto parameter = read_parameter(member, problems)) {
            parameter->step_values = experiment.step_values;
            out.parameters.push_back(std::move(*parameter));
        }
    if (problems.entries().size() > before) return out;  // conditions and starts would only repeat the complaints
    std::size_t listed = 0;
    for (auto const& parameter : out.parameters) listed += parameter.values.size();
    if (listed > k_most_listed) {
        problems.add(space.at_position(), "/space", fmt::format("lists {} values (at most {})", listed, k_most_listed));
        return out;
    }
    sort_parameters(out, problems);
    read_forbid(experiment.search.proposals.forbid, out, problems);
    fit_conditions(out, problems);
    if (problems.entries().size() > before) return out;
    auto const& starts = experiment.search.proposals.start_with;
    for (std::size_t i = 0; starts.is_array() && i < starts.array().size(); ++i)
        read_start(starts.array()[i], fmt::format("/search/start_with/{}", i), out, problems);
    return out;
}

void describe_space(ObjectReader& reader, Problems& problems) {
    if (!reader.watched()) return;
    reader.describe({"space", "The searched settings: dotted path to a value, a list of values or a distribution."},
                    Json::object({{"type", "object"},
                                  {"minProperties", 1},
                                  {"maxProperties", static_cast<std::int64_t>(k_most_parameters)},
                                  {"additionalProperties", listed_values_schema()}}));
    read_parameter({"*", Json(Json::Object{}), {}}, problems);
}

bool is_range(Parameter const& parameter) {
    return parameter.type == Parameter::Type::real || parameter.type == Parameter::Type::integer;
}

std::string json_path(std::string_view dotted) {
    auto out = fmt::format("/{}", dotted);
    std::replace(out.begin(), out.end(), '.', '/');
    return out;
}

void add_new_paths(Assignment const& assignment, std::vector<std::string>& paths) {
    for (auto const& [path, value] : assignment)
        if (std::ranges::find(paths, path) == paths.end()) paths.push_back(path);
}

Json const* value_of(Assignment const& assignment, std::string_view path) {
    for (auto const& [key, value] : assignment)
        if (key == path) return &value;
    return nullptr;
}

std::vector<std::string> Condition::keys() const {
    std::vector<std::string> out{path};
    for (auto const& each : {above_key, below_key})
        if (!each.empty() && std::ranges::find(out, each) == out.end()) out.push_back(each);
    return out;
}

bool holds(Condition const& condition, Assignment const& assignment) {
    auto const number_of = [&](std::string const& path) -> std::optional<double> {
        auto const* value = value_of(assignment, path);
        return value != nullptr && value->is_number() ? std::optional(value->number()) : std::nullopt;
    };
    auto const* value = value_of(assignment, condition.path);
    if (value == nullptr) return false;
    auto const number = number_of(condition.path);  // a comparison with nothing does not hold
    auto const above = condition.above_key.empty() ? condition.above : number_of(condition.above_key);
    auto const below = condition.below_key.empty() ? condition.below : number_of(condition.below_key);
    bool const has_above = condition.above || !condition.above_key.empty();
    bool const has_below = condition.below || !condition.below_key.empty();
    if (has_above && !(number && above && *number > *above)) return false;
    if (has_below && !(number && below && *number < *below)) return false;
    return condition.any_of.empty() ||
           std::find(condition.any_of.begin(), condition.any_of.end(), *value) != condition.any_of.end();
}

bool is_active(Parameter const& parameter, Assignment const& assignment) {
    return std::all_of(parameter.when.begin(), parameter.when.end(),
                       [&](auto const& each) { return holds(each, assignment); });
}

bool is_forbidden(Space const& space, Assignment const& assignment) {
    return std::any_of(space.forbid.begin(), space.forbid.end(), [&](auto const& conditions) {
        return std::all_of(conditions.begin(), conditions.end(), [&](auto const& each) { return holds(each, assignment); });
    });
}

bool is_in(Space const& space, Assignment const& assignment) {
    std::size_t found = 0;
    for (auto const& parameter : space.parameters) {
        auto const* value = value_of(assignment, parameter.path);
        if ((value != nullptr) != is_active(parameter, assignment)) return false;
        if (value == nullptr) continue;
        if (!own_value(parameter, *value)) return false;
        ++found;
    }
    return found == assignment.size() && !is_forbidden(space, assignment);
}

Assignment with_own_values(Space const& space, Assignment const& assignment) {
    Assignment out = assignment;
    for (auto& [path, value] : out) {
        auto const parameter = std::ranges::find(space.parameters, path, &Parameter::path);
        if (parameter == space.parameters.end()) continue;
        if (auto own = own_value(*parameter, value)) value = std::move(*own);
    }
    return out;
}

Assignment in_order(Space const& space, Assignment const& assignment) {
    Assignment out;
    for (auto const& parameter : space.parameters)
        if (auto const* value = value_of(assignment, parameter.path)) out.emplace_back(parameter.path, *value);
    return out;
}

std::optional<std::vector<Json>> all_values(Parameter const& parameter) {
    using enum Parameter::Type;
    if (parameter.type == choice || parameter.type == constant) return parameter.values;
    bool const whole = parameter.type == integer;
    if (!parameter.count && !has_steps(parameter)) return std::nullopt;
    double const points = parameter.count ? static_cast<double>(*parameter.count) : last_step(parameter) + 1;
    if (points > k_most_values) return std::nullopt;
    std::vector<Json> out;
    for (double i = 0; i < points; ++i) {
        auto next = parameter.count ? Json(counted_value(parameter, i, points)) : step_value(parameter, i);
        if (whole && parameter.count) next = Json(static_cast<std::int64_t>(std::nearbyint(next.number())));
        if (out.empty() || !(out.back() == next)) out.push_back(std::move(next));
    }
    return out;
}

}  // namespace hopscotch
