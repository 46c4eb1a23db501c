// SPDX-License-Identifier: Apache-2.0
// The keys of `search` that say what is compared: copies of a configuration, constraints, the Pareto front.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "experiment/measures.hpp"
#include "experiment/metric.hpp"
#include "experiment/procedures.hpp"
#include "experiment/search_section.hpp"
#include "experiment/section_keys.hpp"
#include "experiment/sections.hpp"

namespace hopscotch {
namespace {

constexpr int k_most_copies = 1000;

// Trials that take over each other's states are no longer copies of a configuration.
void read_copies(ObjectReader& reader, std::string const& procedure, SearchConfig& out) {
    reader.read({"repeats",
                 "Each configuration is trained this many times with other random numbers, and the mean decides."},
                out.copies.repeats, up_to(k_most_copies, at_least(1)));
    reader.read({"folds",
                 "Cross-validation: each configuration is trained this many times, each with other shards held out."},
                out.copies.folds, up_to(k_most_copies, at_least(1)));
    if (out.copies.count() > k_most_copies)
        reader.problem("folds",
                       fmt::format("repeats x folds must be at most {} (got {})", k_most_copies, out.copies.count()));
    reader.read({"race", "Configurations get their copies one by one, as long as they may be the best one."},
                out.copies.race);
    for (auto const& [key, count] : {std::pair("repeats", out.copies.repeats), std::pair("folds", out.copies.folds)})
        if (count > 1 && !procedure.empty() && procedure_traits(procedure).clones)
            reader.problem(
                key,
                fmt::format(
                    "cannot be more than 1 with {} (its trials take over each other's states, so copies of a configuration "
                    "become different); leave it out",
                    procedure));
}

std::vector<std::string> compared_names() {
    auto out = metric_names();
    std::ranges::move(measure_names(), std::back_inserter(out));
    return out;
}

void read_constraint(Json::Member const& member, ObjectReader reader, SearchConfig& out) {
    Constraint constraint{member.key, {}, {}};
    reader.read({"above", "Only values above this are tried."}, constraint.above);
    reader.read({"below", "Only values below this are tried."}, constraint.below);
    reader.finish();
    if (!member.value.is_object()) return;
    if (constraint.above && constraint.below && *constraint.above >= *constraint.below)
        reader.problem("below", fmt::format("must be greater than above (got {} <= {}; no value is between them)",
                                            *constraint.below, *constraint.above));
    bool const share = is_metric(member.key) && metric_traits(member.key).is_share;
    if (share && constraint.above.value_or(0) >= 1)
        reader.problem("above", fmt::format("cannot be met (got {}; {} is at most 1); write 0.9 for 90 %", *constraint.above,
                                            member.key));
    if (constraint.above || constraint.below) return out.proposals.subject_to.push_back(constraint);
    reader.missing("below", R"(say which values are allowed, for example {"below": 1e6})");
}

Json constraints_schema() {
    auto const number = Json::object({{"type", Json::Array{"number", "null"}}});
    auto const bounds = Json::object({{"type", "object"},
                                      {"properties", Json::object({{"above", number}, {"below", number}})},
                                      {"additionalProperties", false},
                                      {"minProperties", 1}});
    auto const names = fmt::format("^({}|train_loss|val_[a-z0-9_]+)$", fmt::join(measure_names(), "|"));
    return Json::object(
        {{"type", "object"}, {"propertyNames", Json::object({{"pattern", names}})}, {"additionalProperties", bounds}});
}

// A metric can be bounded if it is an objective.
void read_constraints(ObjectReader& reader, SearchConfig& out) {
    Key const key{"subject_to",
                  "Exclusive bounds {name: {above, below}} of parameters, state_mb, flops_per_row: other configurations are "
                  "not tried. Of a metric among the objectives: trials that meet them come first."};
    if (reader.watched()) reader.describe(key, constraints_schema());
    auto const* given = reader.take(key.name);
    if (given == nullptr || reader.watched()) return;
    auto section = reader.child(key);
    if (!given->is_object()) return;
    auto known = measure_names();
    for (auto const& name : out.front.names)
        if (out.front.compares && std::ranges::find(known, name) == known.end()) known.push_back(name);
    for (auto const& member : given->object()) {
        if (std::ranges::find(known, member.key) != known.end()) {
            read_constraint(member, section.child(member.key), out);
            continue;
        }
        section.take(member.key);
        bool const metric = is_metric(member.key) || may_be_own_metric(member.key);
        section.problem(
            member.key,
            metric ? fmt::format("is a result and cannot be constrained (known: {}); name it in search.objectives, too",
                                 fmt::join(known, ", "))
                   : fmt::format("is not known and cannot be constrained (known: {})", fmt::join(known, ", ")));
    }
}

// For a schema: the known names, or one that a plug-in's metric may have.
void describe_front(ObjectReader& reader, Key const& key, std::vector<std::string> const& known, std::size_t most) {
    std::string others;
    for (auto const& name : known)
        if (!name.starts_with("val_")) others += name + "|";
    auto items =
        Json::object({{"type", "string"}, {"pattern", "^(" + others + "val_[a-z0-9_]+)$"}, {"examples", Json(known)}});
    reader.describe(key, Json::object({{"type", "array"},
                                       {"items", std::move(items)},
                                       {"minItems", 2},
                                       {"maxItems", static_cast<std::int64_t>(most)},
                                       {"uniqueItems", true}}));
}

struct FrontKey {
    Key key;
    std::size_t most = 2;  // names
    std::vector<std::string> known;
};

void read_front(ObjectReader& reader, FrontKey const& wanted, OwnMetrics own, std::vector<std::string>& out) {
    auto const& [key, most, known] = wanted;
    if (reader.watched()) describe_front(reader, key, known, most);
    reader.read(key.name, out);
    auto const* given = reader.take(key.name);
    if (given == nullptr || !given->is_array()) return;
    for (auto const& name : out)
        if (auto const refused = one_of(known)(name);
            !refused.empty() && !(own == OwnMetrics::possible && may_be_own_metric(name)))
            return reader.problem(key.name, refused);
    auto const distinct = std::set<std::string>(out.begin(), out.end()).size();
    if (out.size() < 2 || out.size() > most || distinct < out.size())
        reader.problem(key.name, fmt::format(R"(expected {} different names, for example ["val_accuracy", "parameters"])",
                                             most == 2 ? "two" : "two or three"));
}

void read_pareto(ObjectReader& reader, OwnMetrics own, SearchConfig& out) {
    auto known = compared_names();
    known.emplace_back("train_s");
    std::vector<std::string> names;
    read_front(reader, {{"pareto", "Two measures to trade off; the summary lists the best compromises."}, 2, known}, own,
               names);
    if (!out.front.compares)
        out.front.names = std::move(names);
    else if (!names.empty())
        reader.problem("pareto", "has no effect beside objectives (their front is listed); leave it out");
}

void read_modes(ObjectReader& reader, SearchConfig& out) {
    constexpr std::array<Name<Mode>, 2> modes{{{"min", Mode::min}, {"max", Mode::max}}};
    Key const key{"modes", "Of objectives, beside `mode`: whether small or large values are better, {name: min or max}."};
    if (reader.watched())
        reader.describe(key, Json::object({{"type", "object"},
                                           {"additionalProperties", Json::object({{"enum", Json::Array{"min", "max"}}})}}));
    auto const* given = reader.take(key.name);
    if (given == nullptr || reader.watched()) return;
    auto section = reader.child(key);
    if (!given->is_object()) return;
    for (auto const& [name, value, _] : given->object()) {
        if (!out.front.includes(name) || name == out.metric) {
            section.take(name);
            section.problem(name, name == out.metric ? "is search.metric; write search.mode"
                                                     : "is neither in objectives nor in pareto; leave it out");
            continue;
        }
        read_name(section, {name, ""}, modes, out.front.modes[name]);
    }
}

}  // namespace

void read_objectives(ObjectReader& reader, OwnMetrics own, SearchConfig& out) {
    auto& names = out.front.names;
    read_front(reader,
               {{"objectives", "Two or three measures that trials are compared by together, in place of metric."},
                k_most_objectives,
                compared_names()},
               own, names);
    out.front.compares = !names.empty();
    auto const is_result = [](std::string const& name) { return is_metric(name) || may_be_own_metric(name); };
    auto const first = std::ranges::find_if(names, is_result);
    if (first != names.end())
        out.metric = *first;
    else if (names.size() > 1)
        reader.problem("objectives", "name no metric (a search needs a result of the training); add \"val_accuracy\"");
}

void read_comparison(ObjectReader& reader, std::string const& procedure, OwnMetrics own, SearchConfig& out) {
    constexpr std::array<Name<Objective>, 2> objectives{{{"last", Objective::last}, {"best", Objective::best}}};
    read_name(reader, {"objective", "Trials are compared by the metric of the last epoch, or of the best epoch so far."},
              objectives, out.objective);
    if (out.front.compares && out.objective == Objective::best)
        reader.problem("objective", "cannot be best with objectives (each may be best after another epoch); leave it out");
    read_copies(reader, procedure, out);
    read_constraints(reader, out);
    read_pareto(reader, own, out);
    read_modes(reader, out);
}

}  // namespace hopscotch
