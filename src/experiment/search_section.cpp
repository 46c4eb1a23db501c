// SPDX-License-Identifier: Apache-2.0
#include "experiment/search_section.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "experiment/metric.hpp"
#include "experiment/section_keys.hpp"
#include "experiment/sections.hpp"

namespace hopscotch {
namespace {

Names const k_rules{"successive_halving", "hyperband", "asha", "median", "pbt"};  // take a sampler
Names const k_halving{"successive_halving", "hyperband", "bohb", "asha"};
Names const k_ruled{"successive_halving", "hyperband", "bohb", "asha", "median", "pbt"};
Names const k_counted{"grid", "random", "sobol", "tpe", "successive_halving", "hyperband", "bohb", "asha", "median"};
Names const k_patient{"grid",      "random", "sobol", "tpe",   "manual", "ablation", "successive_halving",
                      "hyperband", "bohb",   "asha",  "median"};
Names const k_warm{"grid",      "random", "sobol", "tpe",    "manual", "successive_halving",
                   "hyperband", "bohb",   "asha",  "median", "pbt"};  // ablation needs every one of its trials
Names const k_starting{"grid", "random", "sobol", "tpe", "successive_halving", "hyperband", "bohb", "asha", "median", "pbt"};

bool is_one_of(std::string const& name, Names const& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

// The name that holds; empty if what is given is none.
std::string read_procedure(ObjectReader& reader, std::string& out) {
    read_choice(reader, "procedure", out, procedure_names(), {"gp", "cmaes", "nsga2", "pb2"});
    auto const* given = reader.take("procedure");
    return given == nullptr || (given->is_string() && given->string() == out) ? out : "";
}

std::string read_sampler(ObjectReader& reader, std::string const& procedure, std::string& out) {
    out = procedure == "bohb" ? "tpe" : is_one_of(procedure, k_rules) ? "random" : procedure;
    if (!OwnKeys(reader, procedure, "procedure").include("sampler", k_rules)) return out;
    Names samplers{"random", "sobol", "tpe", "grid", "manual"};
    if (procedure == "pbt") std::erase(samplers, "tpe");  // a population is there before its first result
    read_choice(reader, "sampler", out, samplers);
    auto const* given = reader.take("sampler");
    return given == nullptr || (given->is_string() && given->string() == out) ? out : "";
}

void read_metric(ObjectReader& reader, SearchConfig& out) {
    read_choice(reader, "metric", out.metric, metric_names());
    out.mode = natural_mode(out.metric);
    constexpr std::array<Name<Mode>, 2> modes{{{"min", Mode::min}, {"max", Mode::max}}};
    read_name(reader, "mode", modes, out.mode);
}

void read_budget(ObjectReader reader, std::string const& procedure, SearchBudget& out) {
    reader.read("trials", out.trials, up_to(k_most_trials, at_least(1)));
    reader.read("epochs", out.epochs, up_to(1e12, at_least(1)));
    reader.read("target", out.target);
    // The trials of pbt all end at the same time.
    if (OwnKeys(reader, procedure, "procedure").include("patience", k_patient))
        reader.read("patience", out.patience, at_least(1));
    reader.read("hours", out.hours, above(0));
    reader.read("hours_per_trial", out.hours_per_trial, above(0));
    reader.finish();
}

void read_trials(ObjectReader& reader, std::string const& procedure, SearchConfig& out) {
    if (!OwnKeys(reader, procedure, "procedure").include("trials", k_counted)) return;
    reader.read("trials", out.trials, up_to(k_most_trials, at_least(1)));
    if (out.trials && *out.trials > k_most_trials / out.copies())
        reader.problem("trials", fmt::format("{} configurations, {} times each, are too many (at most {} trials)",
                                             *out.trials, out.copies(), k_most_trials));
    auto const* given = reader.take("trials");
    bool const listed = out.sampler == "grid" || out.sampler == "manual";
    bool const own = listed || procedure == "hyperband" || procedure == "bohb" || out.budget.trials || out.budget.epochs;
    if (!own && (given == nullptr || given->is_null()))
        reader.missing("trials", fmt::format("say how many configurations {} search should draw, for example 16",
                                             procedure == "successive_halving" ? "successive halving" : procedure));
}

void read_arrays(ObjectReader& reader, std::string const& procedure, SearchConfig& out) {
    OwnKeys const own(reader, procedure, "procedure");
    OwnKeys const sampled(reader, procedure.empty() ? "" : out.sampler, "sampler");
    auto const read = [&](char const* key, Json& place) {
        auto const* given = reader.take(key);
        if (given != nullptr && !given->is_array())
            reader.problem(key, fmt::format("expected an array of objects (got {})", given->kind()));
        else if (given != nullptr)
            place = *given;
    };
    if (own.include("start_with", k_starting)) read("start_with", out.start_with);
    read("forbid", out.forbid);
    if (sampled.include("configurations", {"manual"})) read("configurations", out.configurations);
}

void read_epochs(ObjectReader& reader, OwnKeys const& own, SearchConfig& out) {
    std::optional<std::int64_t> most;
    Names const stepwise{"successive_halving", "hyperband", "bohb", "asha", "median"};
    if (own.include("min_epochs", stepwise)) reader.read("min_epochs", out.min_epochs, at_least(1));
    if (own.include("max_epochs", k_ruled)) reader.read("max_epochs", most, up_to(100'000, at_least(1)));
    if (most) out.max_epochs = static_cast<int>(*most);
    if (own.include("eta", k_halving)) reader.read("eta", out.eta, up_to(1000, at_least(2)));
    if (own.include("min_trials", {"median"})) reader.read("min_trials", out.min_trials, at_least(1));
    constexpr std::array<Name<AshaVariant>, 2> variants{{{"promote", AshaVariant::promote}, {"stop", AshaVariant::stop}}};
    if (own.include("variant", {"asha"})) read_name(reader, "variant", variants, out.variant);
}

void read_pbt(ObjectReader& reader, OwnKeys const& own, PbtConfig& out) {
    if (own.include("population", {"pbt"})) reader.read("population", out.population, up_to(10'000, at_least(1)));
    if (own.include("interval", {"pbt"})) reader.read("interval", out.interval, up_to(100'000, at_least(1)));
    if (own.include("quantile", {"pbt"})) reader.read("quantile", out.quantile, between(0, 0.5));
    if (own.include("resample", {"pbt"})) reader.read("resample", out.resample, between(0, 1));
    if (!own.include("factors", {"pbt"})) return;
    read_numbers(reader, "factors", out.factors, above(0));
    if (out.factors.empty()) reader.problem("factors", "is empty (numbers could not be perturbed) write [0.8, 1.2]");
}

void read_tpe(ObjectReader& reader, OwnKeys const& own, TpeConfig& out) {
    if (own.include("startup", {"tpe"})) reader.read("startup", out.startup, up_to(1e6, at_least(1)));
    if (own.include("candidates", {"tpe"})) reader.read("candidates", out.candidates, up_to(10'000, at_least(1)));
    if (own.include("multivariate", {"tpe"})) reader.read("multivariate", out.multivariate);
}

}  // namespace

std::vector<std::string> procedure_names() {
    return {"grid",      "random", "sobol", "tpe",    "manual", "ablation", "successive_halving",
            "hyperband", "bohb",   "asha",  "median", "pbt"};
}

SearchConfig read_search(ObjectReader reader) {
    SearchConfig out;
    auto const procedure = read_procedure(reader, out.procedure);
    auto const sampler = read_sampler(reader, procedure, out.sampler);
    read_metric(reader, out);
    read_objectives(reader, procedure, out);
    read_budget(reader.child("budget"), procedure, out.budget);
    read_trials(reader, procedure, out);
    reader.read("in_flight", out.in_flight, at_least(1));
    read_arrays(reader, sampler.empty() ? "" : procedure, out);
    OwnKeys const own(reader, procedure, "procedure");
    read_epochs(reader, own, out);
    read_pbt(reader, own, out.pbt);
    read_tpe(reader, OwnKeys(reader, sampler, "sampler"), out.tpe);
    reader.read("lookahead", out.lookahead, up_to(1e6, at_least(0)));
    reader.read("deterministic", out.deterministic);
    if (own.include("start_from", k_warm)) reader.read("start_from", out.start_from, not_empty());
    reader.read("retries", out.retries, up_to(1000, at_least(0)));
    reader.finish();
    return out;
}

}  // namespace hopscotch
