// SPDX-License-Identifier: Apache-2.0
// Checks that every key of the space is a setting, and that the reader accepts every bound and value. Each is written into
// the document, one at a time; the reader's complaints are reported at their place in the space.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "experiment/procedures.hpp"
#include "experiment/reader.hpp"
#include "experiment/search_section.hpp"
#include "experiment/space.hpp"
#include "experiment/steps.hpp"

namespace hopscotch {
namespace {

Parameter const& parameter_named(Space const& space, std::string const& path) {
    return *std::ranges::find(space.parameters, path, &Parameter::path);
}

// Of a range the ends, and the middle between two bounds; of a list all.
std::vector<Json> candidates(Parameter const& parameter, double middle) {
    using enum Parameter::Type;
    if (parameter.type == choice || parameter.type == constant) return parameter.values;
    if (!has_steps(parameter)) return {Json(parameter.low), Json(parameter.high), Json(middle)};
    return {step_value(parameter, 0), step_value(parameter, last_step(parameter)), nearest_step(parameter, middle)};
}

void activate(Space const& space, Parameter const& parameter, Assignment& wanted);

// Of a condition that compares keys: the other keys far apart, and a value between them, so that it holds if it can.
void compare(Space const& space, Condition const& condition, Assignment& wanted) {
    auto const want = [&](std::string const& key, bool largest) {
        if (key.empty() || value_of(wanted, key) != nullptr) return;
        auto const& other = parameter_named(space, key);
        auto const all = candidates(other, other.low);
        wanted.emplace_back(key, *std::ranges::find(all, largest ? highest(other) : lowest(other), &Json::number));
        activate(space, other, wanted);
    };
    want(condition.above_key, false);
    want(condition.below_key, true);
    if (value_of(wanted, condition.path) != nullptr) return;
    auto const& parameter = parameter_named(space, condition.path);
    auto const bound = [&](std::string const& key, std::optional<double> number, double otherwise) {
        return key.empty() ? number.value_or(otherwise) : value_of(wanted, key)->number();
    };
    double const above = bound(condition.above_key, condition.above, lowest(parameter));
    double const below = bound(condition.below_key, condition.below, highest(parameter));
    auto const values = candidates(parameter, std::midpoint(above, below));
    auto const good = std::ranges::find_if(values, [&](Json const& value) {
        auto with = wanted;
        with.emplace_back(condition.path, value);
        return holds(condition, with);
    });
    wanted.emplace_back(condition.path, good != values.end() ? *good : values.front());
    activate(space, parameter, wanted);
}

// The parents' values under which this parameter is active; empty if it is always active, or if no listed value makes it so.
void activate(Space const& space, Parameter const& parameter, Assignment& wanted) {
    for (auto const& condition : parameter.when) {
        if (condition.keys().size() > 1) compare(space, condition, wanted);
        if (value_of(wanted, condition.path) != nullptr) continue;
        for (auto const& parent : space.parameters) {
            if (parent.path != condition.path) continue;
            auto const values = all_values(parent).value_or(parent.values);
            auto const good = std::find_if(values.begin(), values.end(), [&](Json const& value) {
                return holds(condition, Assignment{{parent.path, value}});
            });
            wanted.emplace_back(parent.path, good != values.end()
                                                 ? *good
                                                 : parent.values.front());  // in any case: it is not asked for again
            activate(space, parent, wanted);
        }
    }
}

// A whole configuration that has `value` for this parameter.
Assignment sample_with(Space const& space, Parameter const& parameter, Json const& value) {
    Assignment wanted{{parameter.path, value}};
    activate(space, parameter, wanted);
    Assignment out;
    for (auto index : space.order)
        if (auto const& each = space.parameters[index]; is_active(each, out)) {
            auto const* asked = value_of(wanted, each.path);
            out.emplace_back(each.path, asked != nullptr ? *asked : each.values.front());
        }
    return in_order(space, out);
}

// "space.train.optimizer.lr.high" looks like one bound of an entry.
std::string overlap(std::string const& path, std::string const& rest) {
    constexpr std::array<std::string_view, 8> parts{"type", "low", "high", "values", "log", "step", "count", "when"};
    if (std::ranges::find(parts, rest) == parts.end())
        return fmt::format("overlaps with \"{}\" (which sets it too); remove one", path);
    return fmt::format(
        "is not a setting, but a part of the entry \"{}\" (an entry is set as a whole); write --set 'space.{}={{...}}', "
        "with everything that it needs",
        path, path);
}

void check_paths(Space const& space, Problems& problems) {
    for (auto const& parameter : space.parameters) {
        auto const& path = parameter.path;
        bool const inside = path.starts_with("model.") || path.starts_with("train.") || path.starts_with("data.");
        if (!inside)
            problems.add(parameter.key_at, "/space/" + path,
                         "cannot be searched (only settings in model, train and data can, such as train.optimizer.lr)");
        if (is_shared(path))
            problems.add(parameter.key_at, "/space/" + path,
                         "cannot be searched (all trials share it); set it outside the space");
        for (auto const& other : space.parameters)
            if (other.path.starts_with(path + "."))
                problems.add(other.key_at, "/space/" + other.path, overlap(path, other.path.substr(path.size() + 1)));
    }
}

class ValueCheck {
public:
    ValueCheck(Experiment const& experiment, Space const& space, Problems& problems)
        : experiment_(experiment), space_(space), problems_(problems) {
        // Errors of the document itself have been reported.
        for (auto const& entry : problems.entries()) said_.insert(entry.path + entry.problem);
    }

    void check(Parameter const& parameter) {
        bool const range = is_range(parameter);
        for (std::size_t i = 0; i < parameter.values.size(); ++i) {
            auto value = parameter.values[i];
            if (range) value = parameter.type == Parameter::Type::integer ? value : Json(value.number());
            auto const assignment = sample_with(space_, parameter, value);
            if (is_forbidden(space_, assignment) || value_of(assignment, parameter.path) == nullptr) continue;
            Problems found("");
            resolve(experiment_, assignment, found);
            for (auto const& entry : found.entries()) report(parameter, parameter.values[i].at_position(), entry);
        }
    }

private:
    void report(Parameter const& parameter, Position at, Problems::Entry const& entry) {
        if (!said_.insert(entry.path + entry.problem).second) return;
        // The tried configuration has values of all parameters: the wrong path may belong to another parameter.
        bool const wrong_path = entry.problem.starts_with("unknown key");
        auto const& blamed = wrong_path ? parameter_at(entry.path, parameter) : parameter;
        auto const own = json_path(blamed.path);
        if (&blamed != &parameter || (entry.path == own && wrong_path)) at = blamed.key_at;
        if (entry.path == own) return problems_.add(at, "/space/" + blamed.path, entry.problem);
        problems_.add(at, "/space/" + blamed.path, fmt::format("{}: {}", entry.path, entry.problem));
    }

    Parameter const& parameter_at(std::string const& path, Parameter const& fallback) const {
        auto const sets = [&](Parameter const& each) {
            return path == json_path(each.path) || path.starts_with(json_path(each.path) + "/");
        };
        auto const found = std::ranges::find_if(space_.parameters, sets);
        return sets(fallback) || found == space_.parameters.end() ? fallback : *found;
    }

    Experiment const& experiment_;
    Space const& space_;
    Problems& problems_;
    std::set<std::string> said_;
};

// A grid must know its points; random draws need none.
void check_counts(Experiment const& experiment, Space const& space, Problems& problems) {
    bool const grid = sampler_traits(experiment.search.sampler).configurations == Configurations::whole_grid;
    for (auto const& parameter : space.parameters) {
        auto const path = "/space/" + parameter.path;
        if (grid && !all_values(parameter))
            problems.add(
                parameter.at, path,
                "has no number of points (grid tries every point); add \"count\": 5 or a \"step\", or list the values");
        if (!grid && parameter.count)
            problems.add(parameter.at, path + "/count",
                         fmt::format("belongs to grid (the procedure is \"{}\"); leave it out", experiment.search.sampler));
    }
}

// Listed configurations are tried as they are: values of different ones need not fit together.
void check_configurations(Experiment const& experiment, Problems& problems) {
    auto const& list = experiment.search.proposals.configurations.array();
    auto const assignments = listed_configurations(experiment);
    std::set<std::string> said;  // errors of the document itself have been reported
    for (auto const& entry : problems.entries()) said.insert(entry.path + entry.problem);
    for (std::size_t i = 0; i < assignments.size(); ++i) {
        Problems found("");
        resolve(experiment, assignments[i], found);
        for (auto const& entry : found.entries())
            if (said.insert(entry.path + entry.problem).second)
                problems.add(entry.at.line != 0 ? entry.at : list[i].at_position(),
                             fmt::format("/search/configurations/{}", i), fmt::format("{}: {}", entry.path, entry.problem));
    }
}

}  // namespace

bool is_shared(std::string_view path) {
    return path == "data.path" || path == "data.validation" || path == "data.cache" || path == "data.stage";
}

void check_space(Experiment const& experiment, Problems& problems) {
    std::size_t const before = problems.entries().size();
    auto const space = read_space(experiment, problems);
    if (problems.entries().size() > before) return;
    check_paths(space, problems);
    if (!experiment.search.sampler.empty()) {  // empty: the procedure has been refused already
        check_counts(experiment, space, problems);
        check_search(experiment, space, problems);
    }
    if (problems.entries().size() > before) return;
    if (has_named_configurations(experiment.search)) return check_configurations(experiment, problems);
    ValueCheck values(experiment, space, problems);
    for (auto const& parameter : space.parameters) values.check(parameter);
}

}  // namespace hopscotch
