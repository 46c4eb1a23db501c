// SPDX-License-Identifier: Apache-2.0
// The keys of `search` that say what is compared: copies of a configuration, constraints, the Pareto front.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "experiment/measures.hpp"
#include "experiment/metric.hpp"
#include "experiment/procedures.hpp"
#include "experiment/search_section.hpp"
#include "experiment/section_keys.hpp"

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
    for (auto const& [key, count] : {std::pair("repeats", out.copies.repeats), std::pair("folds", out.copies.folds)})
        if (count > 1 && !procedure.empty() && procedure_traits(procedure).clones)
            reader.problem(
                key,
                fmt::format(
                    "cannot be more than 1 with {} (its trials take over each other's states, so copies of a configuration "
                    "become different); leave it out",
                    procedure));
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
    if (constraint.above || constraint.below) return out.proposals.subject_to.push_back(constraint);
    reader.missing("below", R"(say which values are allowed, for example {"below": 1e6})");
}

void read_constraints(ObjectReader& reader, SearchConfig& out) {
    auto const* given = reader.take("subject_to");
    if (given == nullptr && !reader.watched()) return;
    auto section = reader.child({"subject_to", "Configurations outside of these bounds are not tried."});
    auto const known = measure_names();
    if (reader.watched())
        for (auto const& name : known)
            read_constraint({name, {}, {}}, section.child({name, "Bounds of this measure, both exclusive."}), out);
    if (given == nullptr || !given->is_object()) return;
    for (auto const& member : given->object()) {
        if (std::find(known.begin(), known.end(), member.key) != known.end()) {
            read_constraint(member, section.child(member.key), out);
            continue;
        }
        section.take(member.key);
        bool const metric = is_metric(member.key);
        section.problem(member.key,
                        fmt::format("{} be constrained (known: {})",
                                    metric ? "is a result and cannot" : "is not known and cannot", fmt::join(known, ", ")));
    }
}

// For a schema: the known names, or one that a plug-in's metric may have.
void describe_pareto(ObjectReader& reader, std::vector<std::string> const& known) {
    std::string others;
    for (auto const& name : known)
        if (!name.starts_with("val_")) others += name + "|";
    auto items =
        Json::object({{"type", "string"}, {"pattern", "^(" + others + "val_[a-z0-9_]+)$"}, {"examples", Json(known)}});
    reader.describe(
        {"pareto", "Two measures to trade off; the summary lists the best compromises."},
        Json::object(
            {{"type", "array"}, {"items", std::move(items)}, {"minItems", 2}, {"maxItems", 2}, {"uniqueItems", true}}));
}

void read_pareto(ObjectReader& reader, OwnMetrics own, SearchConfig& out) {
    auto known = metric_names();
    for (auto& name : measure_names()) known.push_back(std::move(name));
    known.emplace_back("train_s");
    if (reader.watched()) describe_pareto(reader, known);
    reader.read("pareto", out.pareto.names);
    auto const* given = reader.take("pareto");
    if (given == nullptr || !given->is_array()) return;
    for (auto const& name : out.pareto.names)
        if (auto const refused = one_of(known)(name);
            !refused.empty() && !(own == OwnMetrics::possible && may_be_own_metric(name)))
            return reader.problem("pareto", refused);
    if (out.pareto.names.size() != 2 || out.pareto.names[0] == out.pareto.names[1])
        reader.problem("pareto", R"(expected two different names, for example ["val_accuracy", "parameters"])");
}

}  // namespace

void read_objectives(ObjectReader& reader, std::string const& procedure, OwnMetrics own, SearchConfig& out) {
    constexpr std::array<Name<Objective>, 2> objectives{{{"last", Objective::last}, {"best", Objective::best}}};
    read_name(reader, {"objective", "Trials are compared by the metric of the last epoch, or of the best epoch so far."},
              objectives, out.objective);
    read_copies(reader, procedure, out);
    read_constraints(reader, out);
    read_pareto(reader, own, out);
}

}  // namespace hopscotch
