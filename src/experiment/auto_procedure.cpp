// SPDX-License-Identifier: Apache-2.0
#include "experiment/auto_procedure.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "experiment/config.hpp"
#include "experiment/procedures.hpp"
#include "experiment/space.hpp"

namespace hopscotch {
namespace {

constexpr char const* k_reason = "chosen_because";  // key of `search`
constexpr std::int64_t k_few_trials = 15;           // below: a model has not learned enough to beat an even spread
constexpr std::int64_t k_many_trials = 500;         // above: a Gaussian process forgets results
constexpr std::int64_t k_few_for_a_rule = 9;        // below: two halvings leave none
constexpr std::int64_t k_short_training = 6;        // epochs; below: the first decision is near the end
constexpr std::int64_t k_small_grid = 100;          // points that are tried unless search.trials says how many

struct Case {
    std::optional<std::int64_t> trials;  // that are wanted or can be paid
    std::optional<std::int64_t> points;  // of a finite space, at most
    std::size_t keys = 0;                // that have several values
    std::int64_t epochs = 0;             // of each trial; 0: they differ
    bool is_list = false;                // of configurations, without a space
    bool has_objectives = false;
    bool has_sampler = false;  // the user has chosen one
};

struct Choice {
    Serves procedure;
    Serves sampler;  // none: the procedure's own
    std::string reason;
};

std::optional<std::int64_t> integer_at(Json const* section, std::string_view key) {
    auto const* given = section != nullptr ? section->find(key) : nullptr;
    return given != nullptr && given->is_integer() ? std::optional(given->integer()) : std::nullopt;
}

void count_points(Json const& document, Case& out) {
    Experiment experiment;
    if (auto const* space = document.find("space"); space != nullptr) experiment.space = *space;
    Problems told_later("");
    auto const space = read_space(experiment, told_later);
    bool has_priors = false;  // which a grid would ignore
    out.points = space.parameters.empty() ? std::nullopt : std::optional<std::int64_t>(1);
    for (auto const& parameter : space.parameters) {
        auto const values = all_values(parameter);
        bool const has_one = values && values->size() == 1;
        out.keys += has_one ? 0U : 1U;
        if (parameter.path == "train.epochs" || parameter.path == "train")
            out.epochs = has_one && values->front().is_integer() ? values->front().integer() : 0;
        has_priors |= parameter.prior.has_value();
        if (!values || !out.points || *out.points > k_most_trials)
            out.points.reset();
        else
            *out.points *= std::ssize(*values);
    }
    if (has_priors) out.points.reset();
}

Case case_of(Json const& document) {
    auto const* search = document.find("search");
    auto const* budget = search->find("budget");
    Case out;
    auto const* objectives = search->find("objectives");
    out.has_objectives = objectives != nullptr && objectives->is_array() && objectives->array().size() > 1;
    auto length = integer_at(document.find("train"), "epochs").value_or(TrainConfig{}.epochs);
    if (auto const most = integer_at(search, "max_epochs")) length = std::min(length, *most);
    out.epochs = length;
    out.has_sampler = search->find("sampler") != nullptr;
    out.is_list = search->find("configurations") != nullptr && document.find("space") == nullptr;
    out.trials = integer_at(search, "trials");
    if (auto const most = integer_at(budget, "trials")) out.trials = std::min(out.trials.value_or(*most), *most);
    if (auto const paid = integer_at(budget, "epochs"); paid && !out.trials)
        out.trials = *paid / std::max(length, std::int64_t{1});
    count_points(document, out);
    return out;
}

Choice choose(Case const& it) {
    using enum Serves;
    if (it.is_list) return {lists, none, "the search lists its configurations"};
    if (it.points && *it.points <= it.trials.value_or(k_small_grid))
        return {small_spaces, none, fmt::format("the space has at most {} configurations", *it.points)};
    auto const trials = it.trials.value_or(0);
    auto const model = it.has_objectives || trials > k_many_trials ? many_trials : costly_trials;
    std::string const why_model = ", and " + procedure_that(model) +
                                  (model == costly_trials ? " learns most from each result"
                                   : it.has_objectives    ? " learns from several objectives"
                                                          : " learns from any number of results");
    if (trials >= k_few_for_a_rule && it.epochs >= k_short_training)
        return {long_trials, it.has_sampler ? none : model,
                fmt::format("of {} trials of {} epochs most can end early{}", trials, it.epochs,
                            it.has_sampler ? "" : why_model)};
    if (trials >= k_few_trials) return {model, none, fmt::format("there are {} trials{}", trials, why_model)};
    auto const most_keys = sampler_traits(procedure_that(few_trials)).most_keys;
    if (it.keys > most_keys) return {many_keys, none, fmt::format("the space has more than {} keys", most_keys)};
    return {few_trials, none, fmt::format("{} trials are too few to learn from: they are spread evenly", trials)};
}

// "asha with gp"
std::string name_of_search(Json const& section) {
    auto const* sampler = section.find("sampler");
    auto const text = [](Json const* value) { return value != nullptr && value->is_string() ? value->string() : ""; };
    return text(section.find("procedure")) + (sampler == nullptr ? "" : " with " + text(sampler));
}

void take(Json& section, Json const& from, char const* key) {
    std::erase_if(section.object(), [&](Json::Member const& member) { return member.key == key; });
    if (auto const* value = from.find(key); value != nullptr) section[key] = *value;
}

}  // namespace

void choose_procedure(Json& document, Json const& before) {
    auto const* search = document.find("search");
    auto const* given = search != nullptr ? search->find("procedure") : nullptr;
    if (given == nullptr || *given != Json(k_auto_procedure)) return;
    auto const at = given->at_position();
    auto& section = document["search"];
    if (auto const* then = before.find("search"); then != nullptr && then->find(k_reason) != nullptr) {
        for (auto const* key : {"procedure", "sampler", k_reason}) take(section, *then, key);
    } else {
        auto const [procedure, sampler, reason] = choose(case_of(document));
        section["procedure"] = Json(procedure_that(procedure));
        if (sampler != Serves::none) section["sampler"] = Json(procedure_that(sampler));
        section[k_reason] = Json(name_of_search(section) + ": " + reason);
    }
    section["procedure"].place(at);
}

// A document may have the reason of another search: of the run from which it was copied.
std::string text_of_choice(Experiment const& experiment) {
    auto const* section = experiment.document.find("search");
    auto const* reason = section != nullptr ? section->find(k_reason) : nullptr;
    if (reason == nullptr || !reason->is_string()) return "";
    auto const name = name_of_search(*section);
    if (!reason->string().starts_with(name + ": ")) return "";
    return fmt::format("procedure: {} (chosen by {}: {})", name, k_auto_procedure, reason->string().substr(name.size() + 2));
}

}  // namespace hopscotch
