// SPDX-License-Identifier: Apache-2.0
#include "experiment/search_section.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "experiment/metric.hpp"
#include "experiment/procedures.hpp"
#include "experiment/section_keys.hpp"
#include "experiment/sections.hpp"

namespace hopscotch {
namespace {

// The keys of a procedure: its row in experiment/procedures.cpp lists them.
class ProcedureKeys {
public:
    // procedure: empty if the given one is wrong.
    ProcedureKeys(ObjectReader& reader, std::string const& procedure) : own_(reader, procedure, "procedure") {}
    bool include(std::string_view key) const { return own_.include(key, procedures_with(key)); }

private:
    OwnKeys own_;
};

// Likewise of a sampler.
class SamplerKeys {
public:
    SamplerKeys(ObjectReader& reader, std::string const& sampler) : own_(reader, sampler, "sampler") {}
    bool include(std::string_view key) const { return own_.include(key, samplers_with(key)); }

private:
    OwnKeys own_;
};

// The procedure's name; empty if the given one is wrong.
std::string read_procedure(ObjectReader& reader, std::string& out) {
    read_choice(reader, "procedure", out, procedure_names(), {"gp", "cmaes", "nsga2", "pb2"});
    auto const* given = reader.take("procedure");
    return given == nullptr || (given->is_string() && given->string() == out) ? out : "";
}

std::string read_sampler(ObjectReader& reader, std::string const& procedure, std::string& out) {
    out = procedure.empty() ? "" : procedure_traits(procedure).samplers.front();
    if (!ProcedureKeys(reader, procedure).include("sampler")) return out;
    read_choice(reader, "sampler", out, procedure_traits(procedure).samplers);
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
    if (ProcedureKeys(reader, procedure).include("patience")) reader.read("patience", out.patience, at_least(1));
    reader.read("hours", out.hours, above(0));
    reader.read("hours_per_trial", out.hours_per_trial, above(0));
    reader.finish();
}

void read_trials(ObjectReader& reader, std::string const& procedure, SearchConfig& out) {
    if (!ProcedureKeys(reader, procedure).include("trials")) return;
    reader.read("trials", out.trials, up_to(k_most_trials, at_least(1)));
    if (out.trials && *out.trials > k_most_trials / out.copies())
        reader.problem("trials", fmt::format("{} configurations, {} times each, are too many (at most {} trials)",
                                             *out.trials, out.copies(), k_most_trials));
    auto const* given = reader.take("trials");
    bool const ends = sampler_traits(out.sampler).is_list() || procedure_traits(procedure).ends_by_itself;
    if (ends || out.budget.trials || out.budget.epochs || (given != nullptr && !given->is_null())) return;
    auto words = procedure;
    std::ranges::replace(words, '_', ' ');
    reader.missing("trials", fmt::format("say how many configurations {} search should draw, for example 16", words));
}

void read_arrays(ObjectReader& reader, std::string const& procedure, SearchConfig& out) {
    ProcedureKeys const own(reader, procedure);
    SamplerKeys const sampled(reader, procedure.empty() ? "" : out.sampler);
    auto const read = [&](char const* key, Json& place) {
        auto const* given = reader.take(key);
        if (given != nullptr && !given->is_array())
            reader.problem(key, fmt::format("expected an array of objects (got {})", given->kind()));
        else if (given != nullptr)
            place = *given;
    };
    if (own.include("start_with")) read("start_with", out.start_with);
    read("forbid", out.forbid);
    if (sampled.include("configurations")) read("configurations", out.configurations);
}

void read_epochs(ObjectReader& reader, ProcedureKeys const& own, SearchConfig& out) {
    std::optional<std::int64_t> most;
    if (own.include("min_epochs")) reader.read("min_epochs", out.min_epochs, at_least(1));
    if (own.include("max_epochs")) reader.read("max_epochs", most, up_to(100'000, at_least(1)));
    if (most) out.max_epochs = static_cast<int>(*most);
    if (own.include("eta")) reader.read("eta", out.eta, up_to(1000, at_least(2)));
    if (own.include("min_trials")) reader.read("min_trials", out.min_trials, at_least(1));
    constexpr std::array<Name<AshaVariant>, 2> variants{{{"promote", AshaVariant::promote}, {"stop", AshaVariant::stop}}};
    if (own.include("variant")) read_name(reader, "variant", variants, out.variant);
}

void read_pbt(ObjectReader& reader, ProcedureKeys const& own, PbtConfig& out) {
    if (own.include("population")) reader.read("population", out.population, up_to(10'000, at_least(1)));
    if (own.include("interval")) reader.read("interval", out.interval, up_to(100'000, at_least(1)));
    if (own.include("quantile")) reader.read("quantile", out.quantile, between(0, 0.5));
    if (own.include("resample")) reader.read("resample", out.resample, between(0, 1));
    if (!own.include("factors")) return;
    read_numbers(reader, "factors", out.factors, above(0));
    if (out.factors.empty()) reader.problem("factors", "is empty (numbers could not be perturbed); write [0.8, 1.2]");
}

void read_tpe(ObjectReader& reader, SamplerKeys const& own, TpeConfig& out) {
    if (own.include("startup")) reader.read("startup", out.startup, up_to(1e6, at_least(1)));
    if (own.include("candidates")) reader.read("candidates", out.candidates, up_to(10'000, at_least(1)));
    if (own.include("multivariate")) reader.read("multivariate", out.multivariate);
}

}  // namespace

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
    ProcedureKeys const own(reader, procedure);
    read_epochs(reader, own, out);
    read_pbt(reader, own, out.pbt);
    read_tpe(reader, SamplerKeys(reader, sampler), out.tpe);
    reader.read("lookahead", out.lookahead, up_to(1e6, at_least(0)));
    reader.read("deterministic", out.deterministic);
    if (own.include("start_from")) reader.read("start_from", out.start_from, not_empty());
    reader.read("retries", out.retries, up_to(1000, at_least(0)));
    reader.finish();
    return out;
}

}  // namespace hopscotch
