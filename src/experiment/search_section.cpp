// SPDX-License-Identifier: Apache-2.0
#include "experiment/search_section.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "experiment/metric.hpp"
#include "experiment/procedures.hpp"
#include "experiment/section_keys.hpp"
#include "experiment/sections.hpp"
#include "experiment/space_parameter.hpp"

namespace hopscotch {
namespace {

constexpr std::string_view k_chosen = "chosen_because";

// The keys of a procedure: its row in experiment/procedures.cpp lists them.
class ProcedureKeys {
public:
    // procedure: empty if the given one is wrong.
    ProcedureKeys(ObjectReader& reader, std::string const& procedure)
        : own_(reader, procedure, reader.has(k_chosen) ? "procedure that auto chose" : "procedure") {}
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

// The procedure's name; empty if the given one is wrong. auto is replaced before: here it is only described, with the keys
// of the choice that has most.
std::string read_procedure(ObjectReader& reader, std::string& out) {
    auto names = procedure_names();
    names.emplace_back(k_auto_procedure);
    read_choice(reader, {"procedure", "The search procedure: `docs/search.md` describes each. auto chooses one."}, out,
                names, {"pb2"});
    std::string reason;
    reader.read({k_chosen, "Why auto has chosen this procedure. Hopscotch writes it."}, reason);
    if (out == k_auto_procedure) return out = procedure_that(Serves::long_trials);
    auto const* given = reader.take("procedure");
    return given == nullptr || (given->is_string() && given->string() == out) ? out : "";
}

std::string read_sampler(ObjectReader& reader, std::string const& procedure, std::string& out) {
    out = procedure.empty() ? "" : procedure_traits(procedure).samplers.front();
    if (!ProcedureKeys(reader, procedure).include("sampler")) return out;
    read_choice(reader, {"sampler", "The source of configurations for a procedure that decides during training."}, out,
                procedure_traits(procedure).samplers);
    auto const* given = reader.take("sampler");
    return given == nullptr || (given->is_string() && given->string() == out) ? out : "";
}

// For a schema: the built-in metrics, or a name that a plug-in's metric may have.
void describe_metric(ObjectReader& reader, Key const& key, std::string const& fallback) {
    reader.describe(key, Json::object({{"type", "string"},
                                       {"pattern", "^(train_loss|val_[a-z0-9_]+)$"},
                                       {"examples", Json(metric_names())},
                                       {"default", fallback}}));
}

void read_metric(ObjectReader& reader, OwnMetrics own, SearchConfig& out) {
    Key const key{"metric",
                  "What trials are compared by; without the key: val_accuracy, and val_loss for a regression. A "
                  "plug-in may have more."};
    if (reader.watched()) {
        describe_metric(reader, key, out.metric);
        reader.take(key.name);
    } else if (auto const* given = reader.take(key.name);
               own == OwnMetrics::possible && given != nullptr && given->is_string()) {
        out.metric = given->string();
    } else {
        read_choice(reader, key, out.metric, metric_names());
    }
    out.mode = is_metric(out.metric) ? natural_mode(out.metric) : Mode::max;
    constexpr std::array<Name<Mode>, 2> modes{{{"min", Mode::min}, {"max", Mode::max}}};
    read_name(reader, {"mode", "Whether small or large values are better; without the key, as the metric says."}, modes,
              out.mode);
    bool const named = reader.take(key.name) != nullptr;
    if (named && out.front.compares && !out.front.includes(out.metric))
        reader.problem(key.name,
                       fmt::format("must be one of the objectives (it chooses the best epoch of a trial and the best "
                                   "trial; got {}); leave it out, or name it in objectives, too",
                                   out.metric));
}

void read_budget(ObjectReader reader, std::string const& procedure, SearchBudget& out) {
    reader.read({"trials", "No more configurations than this."}, out.trials, up_to(k_most_trials, at_least(1)));
    reader.read({"epochs", "After this many epochs of all trials together, no trial starts or goes on."}, out.epochs,
                up_to(1e12, at_least(1)));
    reader.read({"target", "After a trial has reached this value of the metric, no trial starts or goes on."}, out.target);
    if (ProcedureKeys(reader, procedure).include("patience"))
        reader.read({"patience", "After this many trials in a row without a new best, no trial starts or goes on."},
                    out.patience, at_least(1));
    reader.read({"hours", "Hours of wall clock of the whole run; then no trial starts or goes on."}, out.hours, above(0));
    reader.read({"hours_per_trial", "Hours of training and validation after which a trial is stopped, at the end of a lap."},
                out.hours_per_trial, above(0));
    reader.finish();
}

void read_trials(ObjectReader& reader, std::string const& procedure, SearchConfig& out) {
    if (!ProcedureKeys(reader, procedure).include("trials")) return;
    reader.read({"trials", "How many configurations are tried; a grid or a list tries all of them without the key."},
                out.trials, up_to(k_most_trials, at_least(1)));
    if (out.trials && *out.trials > k_most_trials / out.copies.count())
        reader.problem("trials", fmt::format("{} configurations, {} times each, are too many (at most {} trials)",
                                             *out.trials, out.copies.count(), k_most_trials));
    auto const* given = reader.take("trials");
    bool const ends = sampler_traits(out.sampler).is_list() || procedure_traits(procedure).ends_by_itself;
    if (ends || out.budget.trials || out.budget.epochs || (given != nullptr && !given->is_null())) return;
    auto words = reader.has(k_chosen) ? "the" : procedure;
    std::ranges::replace(words, '_', ' ');
    reader.missing("trials", fmt::format("say how many configurations {} search should draw, for example 16", words));
}

void read_arrays(ObjectReader& reader, std::string const& procedure, SearchConfig& out) {
    ProcedureKeys const own(reader, procedure);
    SamplerKeys const sampled(reader, procedure.empty() ? "" : out.sampler);
    auto const read = [&](Key const& named, Json const& item, Json& place) {
        auto const key = named.name;
        reader.describe(named, Json::object({{"type", "array"}, {"items", item}}));
        auto const* given = reader.take(key);
        if (given != nullptr && !given->is_array())
            reader.problem(key, fmt::format("expected an array of objects (got {})", given->kind()));
        else if (given != nullptr)
            place = *given;
    };
    auto const assignment = Json::object({{"type", "object"}});
    if (own.include("start_with"))
        read({"start_with", "Assignments {path: value} of every searched key, which are tried first."}, assignment,
             out.proposals.start_with);
    read({"forbid", "Conditions {path: demand}: a configuration that meets all of one entry is not tried."},
         conditions_schema(), out.proposals.forbid);
    if (sampled.include("configurations"))
        read({"configurations", "Assignments {path: value} to try, in place of a space."}, assignment,
             out.proposals.configurations);
}

void read_epochs(ObjectReader& reader, ProcedureKeys const& own, SearchConfig& out) {
    auto const read = [&](Key const& key, std::optional<int>& place) {
        std::optional<std::int64_t> given;
        if (own.include(key.name)) reader.read(key, given, up_to(100'000, at_least(1)));
        if (given) place = static_cast<int>(*given);
    };
    read({"min_epochs", "Epochs before the first decision; null: `docs/search.md` says how the number is chosen."},
         out.rule.min_epochs);
    read({"max_epochs", "No trial trains longer; null: train.epochs."}, out.rule.max_epochs);
    read({"keep", "How many trials go on to the last epoch; null: one in ten, at least one."}, out.rule.keep);
    if (own.include("confidence"))
        reader.read({"confidence", "A trial stops if it will stay worse than the best with this probability."},
                    out.rule.confidence, between(0.5, 1));
    if (own.include("eta"))
        reader.read({"eta", "One in eta trials continues, to eta times as many epochs."}, out.rule.eta,
                    up_to(1000, at_least(2)));
    if (own.include("min_trials"))
        reader.read({"min_trials", "A trial is stopped only if this many others have trained as long."}, out.rule.min_trials,
                    at_least(1));
    constexpr std::array<Name<AshaVariant>, 2> variants{{{"promote", AshaVariant::promote}, {"stop", AshaVariant::stop}}};
    if (own.include("variant"))
        read_name(reader, {"variant", "promote: trials pause and the best are resumed; stop: the worst end at once."},
                  variants, out.rule.variant);
}

void read_pbt(ObjectReader& reader, ProcedureKeys const& own, PbtConfig& out) {
    if (own.include("population"))
        reader.read({"population", "Trials of the population."}, out.population, up_to(10'000, at_least(1)));
    if (own.include("interval"))
        reader.read({"interval", "Epochs between decisions."}, out.interval, up_to(100'000, at_least(1)));
    if (own.include("quantile"))
        reader.read({"quantile", "Share of the worst trials, which take over states of as many of the best."}, out.quantile,
                    between(0, 0.5));
    if (own.include("resample"))
        reader.read({"resample", "Probability that a value is drawn anew instead of perturbed."}, out.resample,
                    between(0, 1));
    if (!own.include("factors")) return;
    read_numbers(reader, {"factors", "Numbers are multiplied by one of these factors; lists move to a neighbour."},
                 out.factors, above(0));
    if (out.factors.empty()) reader.problem("factors", "is empty (numbers could not be perturbed); write [0.8, 1.2]");
}

void read_tpe(ObjectReader& reader, SamplerKeys const& own, TpeConfig& out) {
    if (own.include("startup"))
        reader.read({"startup", "Results of random trials before the model proposes."}, out.startup,
                    up_to(1e6, at_least(1)));
    if (own.include("candidates"))
        reader.read({"candidates", "Candidates drawn for each proposal."}, out.candidates, up_to(10'000, at_least(1)));
    if (own.include("multivariate"))
        reader.read({"multivariate", "One density over all keys that are always active; false: one for each key."},
                    out.multivariate);
}

void read_start_with_best(ObjectReader& reader, ProcedureKeys const& own, ProposalConfig& out) {
    if (!own.include("start_with_best")) return;
    reader.read({"start_with_best", "This many configurations of start_from, the best ones, are tried first."},
                out.start_with_best, up_to(1e6, at_least(0)));
    if (out.start_with_best > 0 && out.start_from.empty())
        reader.problem("start_with_best",
                       "needs start_from (the run that the configurations come from); name its directory");
}

}  // namespace

SearchConfig read_search(ObjectReader reader, OwnMetrics own_metrics) {
    SearchConfig out;
    auto const procedure = read_procedure(reader, out.procedure);
    auto const sampler = read_sampler(reader, procedure, out.sampler);
    if (ProcedureKeys(reader, procedure).include("objectives")) read_objectives(reader, own_metrics, out);
    read_metric(reader, own_metrics, out);
    read_comparison(reader, procedure, own_metrics, out);
    read_budget(reader.child({"budget", "Limits that end the search early."}), procedure, out.budget);
    read_trials(reader, procedure, out);
    reader.read({"in_flight", "Trials in training at once; null: chosen from the numbers of shards, trainers and trials."},
                out.in_flight, at_least(1));
    read_arrays(reader, sampler.empty() ? "" : procedure, out);
    ProcedureKeys const own(reader, procedure);
    read_epochs(reader, own, out);
    read_pbt(reader, own, out.rule.pbt);
    SamplerKeys const sampled(reader, sampler);
    read_tpe(reader, sampled, out.proposals.tpe);
    if (sampled.include("parents"))
        reader.read({"parents", "The best results, whose values new configurations take; as many random trials come first."},
                    out.proposals.parents, up_to(10'000, at_least(2)));
    reader.read({"lookahead", "A result reaches the search this many laps after its virtual end."}, out.decide.lookahead,
                up_to(1e6, at_least(0)));
    reader.read({"deterministic", "false: decide by arrival; then only the journal can replay the run."},
                out.decide.deterministic);
    if (own.include("start_from"))
        reader.read({"start_from", "The directory of an earlier run whose results the sampler learns from."},
                    out.proposals.start_from, not_empty());
    read_start_with_best(reader, own, out.proposals);
    reader.read({"retries", "How often a trial goes back to its newest checkpoint after a failure that is not its own."},
                out.retries, up_to(1000, at_least(0)));
    reader.finish();
    return out;
}

}  // namespace hopscotch
