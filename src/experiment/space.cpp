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

// Parents before children; reports parents that are not there and circles.
void sort_parameters(Space& space, Problems& problems) {
    auto const find = [&](std::string const& path) {
        return std::find_if(space.parameters.begin(), space.parameters.end(),
                            [&](Parameter const& p) { return p.path == path; });
    };
    std::vector<std::string> paths;
    for (auto const& parameter : space.parameters) paths.push_back(parameter.path);
    for (auto& parameter : space.parameters)
        std::erase_if(parameter.when, [&](Condition const& condition) {
            if (find(condition.path) != space.parameters.end()) return false;
            auto const near = nearest(condition.path, paths);
            problems.add(condition.at, "/space/" + parameter.path + "/when/" + condition.path,
                         near.empty() ? "is not searched (a condition needs a key of the space)"
                                      : fmt::format("is not searched; did you mean \"{}\"?", near));
            return true;
        });
    std::vector<bool> placed(space.parameters.size(), false);
    for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t i = 0; i < placed.size() && !moved; ++i) {
            auto const& when = space.parameters[i].when;
            if (placed[i] || !std::all_of(when.begin(), when.end(), [&](Condition const& condition) {
                    return placed[static_cast<std::size_t>(find(condition.path) - space.parameters.begin())];
                }))
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
    std::vector<std::string> paths;
    for (auto const& parameter : space.parameters) paths.push_back(parameter.path);
    for (std::size_t i = 0; list.is_array() && i < list.array().size(); ++i) {
        auto const path = fmt::format("/search/forbid/{}", i);
        auto conditions = read_conditions(list.array()[i], path, problems);
        for (auto const& condition : conditions) {
            if (std::find(paths.begin(), paths.end(), condition.path) != paths.end()) continue;
            auto const near = nearest(condition.path, paths);
            problems.add(condition.at, path + "/" + condition.path,
                         near.empty() ? "is not searched (a condition needs a key of the space)"
                                      : fmt::format("is not searched; did you mean \"{}\"?", near));
        }
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

bool holds(Condition const& condition, Assignment const& assignment) {
    auto const* value = value_of(assignment, condition.path);
    if (value == nullptr) return false;
    if (condition.above && !(value->is_number() && value->number() > *condition.above)) return false;
    if (condition.below && !(value->is_number() && value->number() < *condition.below)) return false;
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
