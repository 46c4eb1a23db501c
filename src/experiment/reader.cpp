// SPDX-License-Identifier: Apache-2.0
#include "experiment/reader.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "experiment/auto_procedure.hpp"
#include "experiment/loss_traits.hpp"
#include "experiment/metric.hpp"
#include "experiment/paths.hpp"
#include "experiment/procedures.hpp"
#include "experiment/search_section.hpp"
#include "experiment/section_keys.hpp"
#include "experiment/sections.hpp"
#include "experiment/space.hpp"

namespace hopscotch {
namespace {

void place_all(Json& json, Position at) {
    json.place(at);
    if (json.is_array())
        for (auto& item : json.array()) place_all(item, at);
    if (json.is_object())
        for (auto& member : json.object()) {
            member.key_position = at;
            place_all(member.value, at);
        }
}

// Like Json::set, but keys that are new in the document stand at `at`, so that complaints about them have a place.
void assign(Json& document, std::string_view path, Json value, Position at) {
    auto const dot = path.find('.');
    auto const key = path.substr(0, dot);
    if (!document.is_object()) {
        document = Json(Json::Object{});
        document.place(at);
    }
    if (document.find(key) == nullptr) {
        document.object().push_back({std::string(key), Json(), at});
        document[key].place(at);
    }
    if (dot != path.npos) return assign(document[key], path.substr(dot + 1), std::move(value), at);
    if (value.at_position().line == 0) place_all(value, at.line != 0 ? at : document[key].at_position());
    document[key] = std::move(value);
}

void erase(Json& document, std::string_view path) {
    auto const dot = path.find('.');
    if (!document.is_object()) return;
    if (dot == path.npos) {
        std::erase_if(document.object(), [&](Json::Member const& member) { return member.key == path; });
    } else if (document.find(path.substr(0, dot)) != nullptr) {
        erase(document[path.substr(0, dot)], path.substr(dot + 1));
    }
}

void apply_override(Json& document, std::string const& text, Problems& problems) {
    auto const equals = text.find('=');
    auto const path = text.substr(0, equals);
    auto const at = problems.add_source("--set " + text, json_path(path));
    if (equals == text.npos || path.empty() || path.front() == '.' || path.back() == '.' || path.find("..") != path.npos)
        return problems.add(at, json_path(path), "expected path=value (for example train.optimizer.lr=0.1)");
    auto const words = text.substr(equals + 1);
    Problems unread("");  // a value that is not JSON is a string: --set run.dir=runs/a
    Json value = parse_json(words, unread);
    if (!unread.empty() && is_number_too_large(words)) return problems.add(at, json_path(path), unread.entries()[0].problem);
    if (!unread.empty()) value = Json(words);
    place_all(value, at);
    // Keys of the space are dotted themselves: everything after "space." is one key.
    if (path.starts_with("space.")) {
        auto& space = document["space"];
        if (!space.is_object()) space = Json(Json::Object{});
        if (space.find(path.substr(6)) == nullptr) space.object().push_back({path.substr(6), Json(), at});
        space[path.substr(6)] = std::move(value);
    } else {
        assign(document, path, std::move(value), at);
    }
}

// The list of a manual search is a space in which every configuration has the key.
bool is_searched(Json const& document, std::string_view path) {
    auto const is_in = [&](Json const& keys) {
        return keys.is_object() && std::ranges::any_of(keys.object(), [&](Json::Member const& member) {
                   return path == member.key || path.starts_with(member.key + ".");
               });
    };
    auto const* space = document.find("space");
    auto const* search = document.find("search");
    auto const* list = search != nullptr ? search->find("configurations") : nullptr;
    bool const listed = list != nullptr && list->is_array() && !list->array().empty();
    return (space != nullptr && is_in(*space)) || (listed && std::ranges::all_of(list->array(), is_in));
}

// A trial takes its value from the space: a value that --set writes elsewhere would change nothing.
void refuse_searched(Json const& document, std::vector<std::string> const& overrides, Problems& problems) {
    for (auto const& text : overrides) {
        auto const path = text.substr(0, text.find('='));
        if (!is_searched(document, path)) continue;
        auto const* space = document.find("space");
        bool const own = space != nullptr && space->find(path) != nullptr;
        problems.add(problems.add_source("--set " + text, json_path(path)), json_path(path),
                     fmt::format("is searched (each trial takes its value from {}, so this one would not be used); {}",
                                 space != nullptr ? "the space" : "search.configurations",
                                 own ? "write --set space." + text : "change the value there"));
    }
}

void read_trial_sections(Json const& document, ObjectReader& reader, Problems& problems, TrialConfig& out) {
    static Json const absent;
    auto const* model = document.find("model");
    out.data = read_data(reader.child({"data", "The dataset, and how its rows become batches."}), problems);
    out.model = read_model(reader.child({"model", "The network. The other keys are arguments of the named model."}),
                           model != nullptr ? *model : absent);
    out.train = read_train(reader.child({"train", "How each trial is trained."}));
}

// The model, or a searched one, comes from a file.
OwnMetrics own_metrics_of(Experiment const& experiment) {
    auto const* space = experiment.document.find("space");
    bool const searched = space != nullptr && space->is_object() && space->find("model.file") != nullptr;
    return searched || !experiment.model.file.empty() ? OwnMetrics::possible : OwnMetrics::none;
}

// All but the space, which can be checked when the rest has been read.
void read_sections(ObjectReader& reader, Problems& problems, Experiment& out) {
    std::string for_editors;
    reader.read({"$schema", "The address of a schema, for editors; hopscotch ignores it."}, for_editors);
    reader.read({"name", "The experiment's name, in reports and in tables of runs."}, out.name, not_empty());
    reader.read({"seed", "The source of all random numbers: the same seed gives the same trials."}, out.seed, at_least(0));
    TrialConfig base;
    read_trial_sections(out.document, reader, problems, base);
    out.data = base.data;
    out.model = base.model;
    out.train = base.train;
    out.search = read_search(reader.child({"search", "Which configurations are tried, and how they are compared."}),
                             own_metrics_of(out));
    out.strategy = read_strategy(reader.child({"strategy", "How trainers share the work."}));
    out.run = read_run(reader.child({"run", "The run directory, checkpoints, time limits, devices and memory."}));
}

}  // namespace

Experiment read_experiment(std::string_view text, std::vector<std::string> const& overrides, Problems& problems,
                           BeganWith const& began_with) {
    Experiment out;
    std::size_t const before = problems.entries().size();
    out.document = parse_json(plain_json(std::string(text)), problems);
    if (out.document.is_null() && problems.entries().size() > before) return out;  // a syntax error: the rest would be noise
    if (out.document.is_object())
        for (auto const& each : overrides) apply_override(out.document, each, problems);
    if (out.document.is_object()) refuse_searched(out.document, overrides, problems);
    settle_paths(out.document, problems);
    auto const* run = out.document.find("run");
    auto const* directory = run != nullptr ? run->find("dir") : nullptr;
    bool const goes_on = began_with && directory != nullptr && directory->is_string();
    choose_procedure(out.document, goes_on ? began_with(directory->string()) : Json());
    ObjectReader reader(out.document, "", problems);
    if (!out.document.is_object()) return out;

    read_sections(reader, problems, out);
    auto const* space = reader.take("space");
    if (space != nullptr) out.space = *space;
    bool const listed = has_named_configurations(out.search);
    if (listed && space != nullptr)
        reader.problem("space", "belongs to other procedures (manual tries the list search.configurations); leave it out");
    std::size_t const unlisted = problems.entries().size();
    if (listed) out.space = listed_space(out, problems);
    bool const has_space = problems.entries().size() == unlisted;
    reader.finish();
    if (has_space) check_space(out, problems);
    return out;
}

void describe_experiment(Problems& problems) {
    Experiment out;
    ObjectReader reader(out.document, "", problems);
    read_sections(reader, problems, out);
    describe_space(reader, problems);
}

TrialConfig resolve(Experiment const& experiment, Assignment const& assignment, Problems& problems) {
    TrialConfig out;
    Json document(Json::Object{});  // only the part that a trial reads: this is done for every value of the space
    document.place(experiment.document.at_position());
    for (auto const* section : {"data", "model", "train"})
        if (auto const* given = experiment.document.find(section)) document[section] = *given;
    // A searched key that is not active in this trial is absent, even if the document gives it a value.
    if (experiment.space.is_object())
        for (auto const& member : experiment.space.object()) erase(document, member.key);
    for (auto const& [path, value] : assignment) {
        if (path == k_repeat_entry) out.repeat = static_cast<int>(value.integer());
        if (path == k_fold_entry) out.fold = static_cast<int>(value.integer());
        if (path == k_repeat_entry || path == k_fold_entry) continue;
        auto const* entry = experiment.space.find(path);
        assign(document, path, value, entry != nullptr ? entry->at_position() : Position{});
    }
    ObjectReader reader(document, "", problems);
    read_trial_sections(document, reader, problems, out);
    if (out.train.arithmetic.engine == Engine::automatic) out.train.arithmetic.engine = experiment.train.arithmetic.engine;
    out.train.outer_momentum = experiment.strategy.averaging.outer && experiment.strategy.averaging.outer->momentum > 0;
    return out;
}

TrialConfig resolve(Experiment const& experiment, Assignment const& assignment, std::string const& document) {
    Problems problems(document);
    auto config = resolve(experiment, assignment, problems);
    problems.throw_if_any();
    return config;
}

LossKind loss_of(Experiment const& experiment, Assignment const& assignment) {
    Problems told("");  // the assignment has been checked
    return resolve(experiment, assignment, told).train.loss;
}

std::map<TrialId, LossKind> losses_of(Experiment const& experiment, std::map<TrialId, Assignment> const& assignments) {
    std::map<TrialId, LossKind> out;
    for (auto const& [trial, assignment] : assignments) out[trial] = loss_of(experiment, assignment);
    return out;
}

void default_loss(Experiment& experiment, LossKind loss, Problems& problems) {
    auto& train = experiment.document["train"];
    if (train.find("loss") != nullptr || experiment.space.find("train.loss") != nullptr ||
        experiment.space.find("train") != nullptr)
        return;
    train["loss"] = Json(name_of(loss));
    experiment.train = read_train(ObjectReader(train, "/train", problems));
}

void default_metric(Experiment& experiment, std::string_view metric, Problems& problems) {
    auto& search = experiment.document["search"];
    if (search.find("metric") != nullptr || experiment.search.front.compares) return;
    search["metric"] = Json(std::string(metric));
    experiment.search = read_search(ObjectReader(search, "/search", problems), own_metrics_of(experiment));
}

void default_mode(Experiment& experiment, Mode mode) {
    auto& search = experiment.document["search"];
    if (search.find("mode") != nullptr) return;
    search["mode"] = Json(mode == Mode::max ? "max" : "min");
    experiment.search.mode = mode;
}

Json to_json(Assignment const& assignment) {
    Json::Object out;
    for (auto const& [path, value] : assignment) out.push_back({path, value, {}});
    return Json(std::move(out));
}

Assignment configuration_of(Assignment const& assignment) {
    Assignment out;
    for (auto const& entry : assignment)
        if (entry.first != k_repeat_entry && entry.first != k_fold_entry) out.push_back(entry);
    return out;
}

Assignment assignment_from_json(Json const& object) {
    Assignment out;
    for (auto const& member : object.object()) out.emplace_back(member.key, member.value);
    return out;
}

}  // namespace hopscotch
