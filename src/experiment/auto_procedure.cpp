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
    bool has_objectives = false;
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
    out.points = space.parameters.empty() ? std::nullopt : std::optional<std::int64_t>(1);
    for (auto const& parameter : space.parameters) {
        auto const values = all_values(parameter);
        out.keys += !values || values->size() > 1 ? 1U : 0U;
        if (parameter.path == "train.epochs" || parameter.path == "train") out.epochs = 0;
        if (!values || !out.points || *out.points > k_most_trials)
            out.points.reset();
        else
            *out.points *= std::ssize(*values);
    }
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
    out.trials = integer_at(search, "trials");
    if (auto const most = integer_at(budget, "trials")) out.trials = std::min(out.trials.value_or(*most), *most);
    if (auto const paid = integer_at(budget, "epochs"); paid && !out.trials)
        out.trials = *paid / std::max(length, std::int64_t{1});
    count_points(document, out);
    return out;
}

Choice choose(Case const& it) {
    using enum Serves;
    if (it.points && *it.points <= it.trials.value_or(k_small_grid))
        return {small_spaces, none, fmt::format("the space has at most {} configurations", *it.points)};
    auto const trials = it.trials.value_or(0);
    auto const model = it.has_objectives || trials > k_many_trials ? many_trials : costly_trials;
    std::string const why_model = procedure_that(model) + (model == costly_trials ? " learns most from each result"
                                                           : it.has_objectives    ? " learns from several objectives"
                                                                                  : " learns from any number of results");
    if (trials >= k_few_for_a_rule && it.epochs >= k_short_training)
        return {long_trials, model,
                fmt::format("of {} trials of {} epochs most can end early, and {}", trials, it.epochs, why_model)};
    if (trials >= k_few_trials) return {model, none, fmt::format("there are {} trials, and {}", trials, why_model)};
    auto const most_keys = sampler_traits(procedure_that(few_trials)).most_keys;
    if (it.keys > most_keys) return {many_keys, none, fmt::format("the space has more than {} keys", most_keys)};
    return {few_trials, none, fmt::format("{} trials are too few to learn from: they are spread evenly", trials)};
}

}  // namespace

void choose_procedure(Json& document) {
    auto const* search = document.find("search");
    auto const* given = search != nullptr ? search->find("procedure") : nullptr;
    if (given == nullptr || *given != Json(k_auto_procedure)) return;
    auto const [procedure, sampler, reason] = choose(case_of(document));
    auto const at = given->at_position();
    auto& section = document["search"];
    section["procedure"] = Json(procedure_that(procedure));
    section["procedure"].place(at);
    if (sampler != Serves::none && section.find("sampler") == nullptr) section["sampler"] = Json(procedure_that(sampler));
    section[k_reason] = Json(reason);
}

std::string text_of_choice(Experiment const& experiment) {
    auto const* section = experiment.document.find("search");
    auto const* reason = section != nullptr ? section->find(k_reason) : nullptr;
    if (reason == nullptr || !reason->is_string()) return "";
    auto const& search = experiment.search;
    return fmt::format("procedure: {}{} (chosen by {}: {})", search.procedure,
                       search.sampler == search.procedure ? "" : " with " + search.sampler, k_auto_procedure,
                       reason->string());
}

}  // namespace hopscotch
