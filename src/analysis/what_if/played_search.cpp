// SPDX-License-Identifier: Apache-2.0
#include "analysis/what_if/played_search.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/error.hpp"
#include "core/rng.hpp"
#include "direct/director.hpp"
#include "direct/play_search.hpp"
#include "experiment/measures.hpp"
#include "experiment/objectives.hpp"
#include "experiment/procedures.hpp"
#include "experiment/reader.hpp"
#include "experiment/space.hpp"
#include "rundir/past_run.hpp"
#include "rundir/recorded_run.hpp"
#include "search/context.hpp"
#include "search/search.hpp"

namespace hopscotch {
namespace {

constexpr std::string_view k_random = "random";  // the list in another order

std::string key_of(Assignment const& assignment) { return to_json(assignment).dump(); }

// The procedures that can take their configurations from a list.
std::vector<std::string> playable() {
    std::vector<std::string> out{std::string(k_random)};
    for (auto const& row : procedure_traits())
        if (row.has_rule && !row.clones && std::ranges::count(row.samplers, list_sampler()) > 0) out.emplace_back(row.name);
    return out;
}

// The configurations without their copies, in this order.
Json::Array configurations(KnownTrials const& known) {
    Json::Array out;
    std::set<std::string> seen;
    for (auto const& trial : known.trials) {
        auto const configuration = configuration_of(trial.assignment);
        if (seen.insert(key_of(configuration)).second) out.push_back(to_json(configuration));
    }
    return out;
}

bool procedures_accept(std::string_view key, std::string const& procedure) {
    return std::ranges::count(procedures_with(key), procedure) > 0;
}

// Those of sizes have left configurations out of the run already.
void keep_bounds_of_metrics(Json const& own, Json& out) {
    auto const* bounds = own.find("subject_to");
    if (bounds == nullptr) return;
    for (auto const& [name, bound, _] : bounds->object())
        if (!is_measure(name)) out["subject_to"][name] = bound;
}

Json search_of(KnownTrials const& known, WhatIfCase const& wanted) {
    auto const& own = *known.experiment.document.find("search");
    Json out = Json::object({{"procedure", wanted.procedure == k_random ? list_sampler() : wanted.procedure}});
    std::vector<std::string> kept{"mode", "objective", "repeats", "folds", "in_flight", "lookahead"};
    if (procedures_accept("objectives", wanted.procedure)) kept.emplace_back("objectives");
    bool const same = own.find("procedure") != nullptr && *own.find("procedure") == Json(wanted.procedure);
    if (same) kept.insert(kept.end(), {"eta", "min_epochs", "max_epochs", "keep", "min_trials", "confidence", "variant"});
    for (auto const& key : kept)
        if (auto const* value = own.find(key)) out[key] = *value;
    if (out.find("objectives") != nullptr) keep_bounds_of_metrics(own, out);
    out["metric"] = known.experiment.search.metric;
    if (wanted.procedure != k_random) out["sampler"] = list_sampler();
    out["configurations"] = configurations(known);
    out.set("budget.epochs", wanted.epochs);
    return out;
}

DirectorOptions options_of(KnownTrials const& known, Experiment const& experiment) {
    DirectorOptions out;
    out.shards = known.shards;
    out.in_flight = experiment.search.in_flight.value_or(0);
    out.lookahead = experiment.search.decide.lookahead;
    return out;
}

// Of the configurations that the run has measured. Throws ConfigError if it has not measured what the search compares.
Measure measure_of(KnownTrials const& known, SearchConfig const& search) {
    for (auto const& each : objectives_of(search))
        if (!each.is_metric &&
            !std::ranges::all_of(known.trials, [&](auto& trial) { return trial.measures.contains(each.name); }))
            throw ConfigError(
                fmt::format("{}: the {} of its trials is not known (summary.json has them if search.objectives or "
                            "search.pareto named them in the run)",
                            known.source, each.name));
    std::map<std::string, Measures> measured;
    for (auto const& trial : known.trials) {
        auto& measures = measured[key_of(configuration_of(trial.assignment))];
        for (auto const& [name, value] : trial.measures) value_in(measures, name) = value;
    }
    return [measured, source = known.source](Assignment const& assignment) {
        auto const found = measured.find(key_of(configuration_of(assignment)));
        if (found != measured.end()) return found->second;
        throw ConfigError(fmt::format("{}: {} was not trained (its size is not known)", source, key_of(assignment)));
    };
}

// What became of the trials of a played search.
class Account {
public:
    explicit Account(KnownTrials const& known) : known_(known) {}

    LapRecord record(Lap const& lap, std::size_t index) {
        auto const& trial = known_.trials[index];
        auto const last = std::ssize(trial.laps) - 1;
        auto out = trial.laps[static_cast<std::size_t>(std::min<std::ptrdiff_t>(lap.epoch, last))];
        out.trial = lap.trial;
        out.epoch = lap.epoch;
        ++played_.epochs;
        if (lap.epoch > last)
            ++played_.not_known;
        else
            played_.seconds += totals_of(out).seconds + validation_s_of(out);
        auto const value = known_.value_of(out, trial);
        if (std::isfinite(value)) note(index, value, known_.point_of(out, trial));
        if (!std::isfinite(value) || (played_.best && !known_.is_better(value, *played_.best))) return out;
        played_.best = value;
        played_.best_trial = index;
        played_.improvements.push_back({played_.epochs, value});
        return out;
    }

    PlayedSearch end(Director& director) {
        played_.trials = std::ssize(director.trials());
        played_.hypervolume = hypervolume();
        played_.decisions = director.take_decisions();
        return std::move(played_);
    }

private:
    struct BestEpoch {
        double value = k_no_score;
        std::optional<Point> point;
    };

    void note(std::size_t index, double value, std::optional<Point> const& point) {
        auto& best = best_[index];
        if (!std::isfinite(best.value) || known_.is_better(value, best.value)) best = {value, point};
    }

    std::optional<double> hypervolume() const {
        std::vector<Losses> all, played;
        for (auto const& trial : known_.trials) {
            BestEpoch best;
            for (auto const& lap : trial.laps)
                if (double const value = known_.value_of(lap, trial);
                    std::isfinite(value) && (!std::isfinite(best.value) || known_.is_better(value, best.value)))
                    best = {value, known_.point_of(lap, trial)};
            if (best.point) all.push_back(best.point->losses);
        }
        for (auto const& [index, best] : best_)
            if (best.point && best.point->violation == 0) played.push_back(best.point->losses);
        return all.empty() ? std::nullopt : std::optional(hypervolume_share(all, played));
    }

    KnownTrials const& known_;
    std::map<std::size_t, BestEpoch> best_;  // by index
    PlayedSearch played_;
};

}  // namespace

Experiment experiment_of(KnownTrials const& known, WhatIfCase const& wanted) {
    procedure_traits(wanted.procedure);  // known?
    auto const names = playable();
    if (std::ranges::count(names, wanted.procedure) == 0)
        throw ConfigError(
            fmt::format("--procedure {}: cannot be played on known results (it asks for configurations without "
                        "results); choose among {}",
                        wanted.procedure, fmt::join(names, ", ")));
    if (procedure_traits(known.experiment.search.procedure).clones)
        throw ConfigError(
            fmt::format("{}: only its own search can be played (its trials took over states of others, so their "
                        "results belong to several configurations); use a run of another procedure",
                        known.source));
    if (known.experiment.search.copies.race)
        throw ConfigError(fmt::format(
            "{}: only its own search can be played (search.race gave each configuration its own number of copies); "
            "use a run without a race",
            known.source));
    auto document = known.experiment.document;
    std::erase_if(document.object(), [](auto const& member) { return member.key == "space"; });
    document["search"] = search_of(known, wanted);
    Problems problems("what-if");
    auto const objectives = [](std::string const& override) { return override.starts_with("search.objectives"); };
    if (known.is_table && std::ranges::any_of(wanted.overrides, objectives))
        throw ConfigError(
            fmt::format("{}: search.objectives cannot be played (a table is read with one metric); use the run directory",
                        known.source));
    auto out = read_experiment(document.dump(), wanted.overrides, problems);
    problems.throw_if_any();
    return out;
}

PlayedSearch play(KnownTrials const& known, Experiment experiment, int order) {
    auto const key = stream_key(static_cast<std::uint64_t>(order), Purpose::search, {0});
    if (order > 0) Rng(key).shuffle(std::span(experiment.search.proposals.configurations.array()));
    std::map<std::string, std::size_t> index;
    for (std::size_t i = 0; i < known.trials.size(); ++i) index[key_of(known.trials[i].assignment)] = i;
    auto const at = [&](Assignment const& assignment) {
        auto const found = index.find(key_of(assignment));
        if (found != index.end()) return found->second;
        throw ConfigError(
            fmt::format("{}: {} was not trained (a copy of a configuration is missing)", known.source, key_of(assignment)));
    };
    auto options = options_of(known, experiment);
    options.unit_cost = [&](TrialView const& trial) { return known.trials[at(trial.assignment)].unit_cost; };
    SearchContext context;
    context.measure = measure_of(known, experiment.search);
    auto const director = make_director(experiment, make_search(experiment, context), options);
    Account account(known);
    play_search(*director, [&](Lap const& lap) {
        auto record = account.record(lap, at(lap.assignment));
        record.orders.clear();
        return record;
    });
    return account.end(*director);
}

PlayedSearch play_own_search(KnownTrials const& known, RecordedRun const& run) {
    if (run.status() != "finished")
        throw ConfigError(
            fmt::format("{}: has not finished (its search cannot be played to its end); --procedure plays "
                        "others on its trials",
                        known.source));
    auto const& bounds = known.experiment.search.proposals.subject_to;
    if (std::ranges::any_of(bounds, [](Constraint const& each) { return is_measure(each.name); }))
        throw ConfigError(
            fmt::format("{}: has search.subject_to, which needs the models; --procedure plays others on its "
                        "trials",
                        known.source));
    SearchContext context;
    context.measure = measure_of(known, known.experiment.search);
    context.stages = run.facts.plan.extended;
    auto const past = run.directory / "start_from.json";
    if (!known.experiment.search.proposals.start_from.empty()) context.past = read_past_trials(past);
    auto options = options_of(known, known.experiment);
    options.unit_cost = [&](TrialView const& trial) {
        return trial.id.index() < known.trials.size() ? known.trials[trial.id.index()].unit_cost : 0;
    };
    auto const director = make_director(known.experiment, make_search(known.experiment, context), options);
    Account account(known);
    auto const released = released_laps(run.journal);
    play_search(*director, [&](Lap const& lap) {
        auto const index = lap.trial.index();
        auto const there = released.find(lap.id());
        if (there == released.end() || there->second->assignment != lap.assignment || index >= known.trials.size() ||
            lap.epoch >= std::ssize(known.trials[index].laps))
            throw ConfigError(
                fmt::format("{}: the search asks for epoch {} of trial {} with {}, which the run did not train "
                            "(it began with another version, or decided by arrival)",
                            known.source, lap.epoch + 1, index, key_of(lap.assignment)));
        return account.record(lap, index);
    });
    return account.end(*director);
}

std::optional<std::string> first_difference(std::vector<Decision> const& recorded, std::vector<Decision> const& played) {
    auto const text = [](Decision const& each) {
        return fmt::format("{} trial {} after epoch {} until {}", name_of(each.kind), each.trial.value, each.epoch + 1,
                           each.until_epoch);
    };
    auto const same = [](Decision const& a, Decision const& b) {
        return a.kind == b.kind && a.trial == b.trial && a.epoch == b.epoch && a.until_epoch == b.until_epoch &&
               a.source == b.source;
    };
    for (std::size_t i = 0; i < std::max(recorded.size(), played.size()); ++i) {
        if (i >= recorded.size()) return fmt::format("decision {}: only played: {}", i + 1, text(played[i]));
        if (i >= played.size()) return fmt::format("decision {}: only in the run: {}", i + 1, text(recorded[i]));
        if (!same(recorded[i], played[i]))
            return fmt::format("decision {}: in the run {}, played {}", i + 1, text(recorded[i]), text(played[i]));
    }
    return std::nullopt;
}

}  // namespace hopscotch
