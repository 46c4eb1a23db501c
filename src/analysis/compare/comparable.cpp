// SPDX-License-Identifier: Apache-2.0
#include "analysis/compare/comparable.hpp"

#include <fmt/format.h>

#include "core/json_lookup.hpp"

namespace hopscotch {
namespace {

struct Difference {
    std::string path, base, other;
};

constexpr std::size_t k_longest = 60;

std::string text_of(Json const* value) {
    if (value == nullptr) return "not given";
    auto text = value->is_string() ? value->string() : value->dump();
    return text.size() <= k_longest ? text : text.substr(0, k_longest) + "...";
}

// The smallest parts that differ: an object's keys one by one.
void differ(Json const* base, Json const* other, std::string const& path, std::vector<Difference>& out) {
    bool const equal = base == nullptr || other == nullptr ? base == other : *base == *other;
    if (equal) return;
    if (base == nullptr || other == nullptr || !base->is_object() || !other->is_object()) {
        out.push_back({path, text_of(base), text_of(other)});
        return;
    }
    for (auto const& member : base->object()) differ(&member.value, other->find(member.key), path + "." + member.key, out);
    for (auto const& member : other->object())
        if (base->find(member.key) == nullptr) differ(nullptr, &member.value, path + "." + member.key, out);
}

std::vector<std::string> lines_of(ComparedRun const& base, ComparedRun const& other, std::vector<Difference> const& found) {
    std::vector<std::string> out;
    for (auto const& each : found)
        out.push_back(fmt::format("{} and {}: {} is {} and {}", base.dir(), other.dir(), each.path, each.base, each.other));
    return out;
}

Json const& document_of(ComparedRun const& run) { return run.recorded.facts.experiment; }
int epochs_of(ComparedRun const& run) { return run.recorded.experiment.train.epochs; }

}  // namespace

std::vector<std::string> reasons_against(ComparedRun const& base, ComparedRun const& other) {
    std::vector<Difference> found;
    auto const facts = to_json(base.recorded.facts), other_facts = to_json(other.recorded.facts);
    differ(facts.find("dataset_hash"), other_facts.find("dataset_hash"), "dataset_hash", found);
    for (auto const* section : {"space", "search", "model"})
        differ(document_of(base).find(section), document_of(other).find(section), section, found);
    if (epochs_of(base) != epochs_of(other))
        found.push_back({"train.epochs", fmt::format("{}", epochs_of(base)), fmt::format("{}", epochs_of(other))});
    if (base.status() != "finished" || other.status() != "finished")
        found.push_back({"status", base.status(), other.status()});
    return lines_of(base, other, found);
}

std::vector<std::string> other_differences(ComparedRun const& base, ComparedRun const& other) {
    std::vector<Difference> found;
    auto const section = [&](std::string const& name) {
        std::vector<Difference> inside;
        differ(document_of(base).find(name), document_of(other).find(name), name, inside);
        for (auto& each : inside)
            if (each.path != "train.epochs" && each.path != "data.path") found.push_back(std::move(each));
    };
    for (auto const* name : {"seed", "data", "train"}) section(name);
    auto const facts = to_json(base.recorded.facts), other_facts = to_json(other.recorded.facts);
    for (auto const* name : {"trainers", "hosts"}) differ(facts.find(name), other_facts.find(name), name, found);
    differ(find_path(facts, "hopscotch.git"), find_path(other_facts, "hopscotch.git"), "hopscotch.git", found);
    return lines_of(base, other, found);
}

}  // namespace hopscotch
