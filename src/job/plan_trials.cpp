// SPDX-License-Identifier: Apache-2.0
#include "job/plan_trials.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "direct/director.hpp"
#include "experiment/strategy_traits.hpp"
#include "job/earlier_jobs.hpp"
#include "job/largest_trial.hpp"
#include "job/prepared_run.hpp"
#include "job/run_owners.hpp"
#include "job/storage.hpp"
#include "schedule/in_flight.hpp"
#include "schedule/policy.hpp"
#include "schedule/routes.hpp"
#include "strategy/trainer/free_memory.hpp"

namespace hopscotch {
namespace {

// As many trials are alive as in the earlier job, whatever the number of trainers is now.
std::int64_t alive_before(PreparedRun const& prepared) {
    if (!prepared.inputs.earlier) return 0;
    auto const& earlier = *prepared.inputs.earlier;
    return earlier.facts.plan.in_flight > 0 ? earlier.facts.plan.in_flight
                                            : static_cast<std::int64_t>(earlier.journal.most_alive);
}

// As many as have room for their states in memory, and for their checkpoints in half of the free disk space. The trainers
// have not reported yet: the host of rank 0 stands for all, with all trainers on it.
std::int64_t trials_with_room(PreparedRun const& prepared) {
    auto const bytes = std::max<std::uint64_t>(1, prepared.plan.state_bytes);
    auto const holders = static_cast<std::uint64_t>(prepared.holders());
    auto const memory = holders * state_memory(prepared.inputs.experiment.run.states.memory, prepared.fleet.trainers);
    auto const kept = static_cast<std::uint64_t>(prepared.inputs.experiment.run.checkpoints.keep);
    auto const disk = free_space(prepared) / 2 / kept;
    return static_cast<std::int64_t>(std::min(memory / bytes, disk / bytes));
}

InFlight number_in_flight(PreparedRun& prepared, std::vector<TrialView> const& views, std::vector<TrialCost> const& trials) {
    auto const& experiment = prepared.inputs.experiment;
    auto const usual = usual_in_flight(prepared.holders());
    bool const after_a_loss = !prepared.fleet.owners.owner.empty();
    bool const hops = strategy_traits(experiment.strategy.name).training == Training::hopping;
    InFlight out{usual};
    if (hops && !after_a_loss) prepared.fleet.owners = owners_of_run(prepared, trials);
    if (experiment.search.in_flight) return {*experiment.search.in_flight};
    if (hops && !after_a_loss) {
        auto const largest = largest_trial(prepared, views);
        prepared.plan.state_bytes = largest.state;
        prepared.plan.weight_bytes = largest.weights;
        auto const room = trials_with_room(prepared);
        out = choose_in_flight(policy_named(experiment.strategy.policy), trials, prepared.fleet.owners,
                               {std::min(usual, room), std::max(usual, room)});
    }
    out.trials = std::max(out.trials, alive_before(prepared));
    return out;
}

std::string text_of(RoutePlan const& plan, std::vector<TrialCost> const& trials) {
    auto const backward = [](TrialCost const& trial) { return trial.route.direction == Direction::backward; };
    auto const first = std::ranges::find_if(trials, backward);
    auto out = fmt::format("homes {}", plan.permutation < 0 ? "in order" : "drawn from the seed");
    if (auto const count = std::ranges::count_if(trials, backward); count == 1)
        out +=
            fmt::format(", trial {} (costs over {} times the mean) goes round backward", first->trial.value, plan.long_from);
    else if (count > 1)
        out += fmt::format(", {} trials (cost over {} times the mean) go round backward", count, plan.long_from);
    return out;
}

std::string text_of(InFlight const& number, std::size_t trials, int trainers) {
    auto const shown = std::min(number.trials, static_cast<std::int64_t>(trials));
    auto out = fmt::format("; {} trial{} in flight", shown, shown == 1 ? "" : "s");
    if (number.ratio > 0) out += fmt::format(": {:.2f} times the bound of these owners", number.ratio);
    if (number.usual_ratio > 0 && number.trials > usual_in_flight(trainers))
        out += fmt::format(", with {} it would be {:.2f} times", usual_in_flight(trainers), number.usual_ratio);
    return out;
}

bool balances(Experiment const& experiment) {
    return has_setting(experiment.strategy.name, "visits") && experiment.strategy.visits == Visits::balanced;
}

// In the order of their first laps.
std::vector<BegunTrial> begun_trials(PreparedRun const& prepared) {
    std::vector<BegunTrial> out;
    if (!prepared.inputs.earlier) return out;
    std::set<TrialId> seen;
    for (auto const& lap : prepared.inputs.earlier->journal.released)
        if (seen.insert(lap.trial).second) out.push_back({lap.trial, lap.route});
    return out;
}

// The plan of a run of all these trials, if each begun trial has the route that it would have there. Else the run keeps its
// own: its bits differ from those of a run that knew all trials from the start.
void extend_routes(PreparedRun& prepared, std::vector<TrialCost> const& trials, std::vector<BegunTrial> const& begun) {
    auto const seed = prepared.inputs.experiment.seed;
    auto const plan =
        plan_routes(policy_named(prepared.inputs.experiment.strategy.policy), trials, prepared.plan.shards, seed);
    auto const planned = with_routes(trials, plan, prepared.plan.shards, seed);
    bool const same = std::ranges::all_of(begun, [&](BegunTrial const& each) {
        return each.trial.index() >= planned.size() || planned[each.trial.index()].route == each.route;
    });
    if (same)
        prepared.plan.routes = plan;
    else
        prepared.notes.other_bits = fmt::format(
            "a new run of {} trials would visit the shards in other orders (this run keeps its own), and end with other "
            "states; strategy.visits \"in_order\" does not look at the trials",
            trials.size());
}

TrialsPlan plan_known_trials(PreparedRun& prepared, std::vector<TrialView> const& views,
                             std::vector<BegunTrial> const& begun) {
    auto const seed = prepared.inputs.experiment.seed;
    auto trials = costs_of(prepared, views);
    if (prepared.plan.routes == k_blind_routes && !prepared.inputs.earlier)
        prepared.plan.routes =
            plan_routes(policy_named(prepared.inputs.experiment.strategy.policy), trials, prepared.plan.shards, seed);
    bool const extends = prepared.inputs.earlier && prepared.inputs.earlier->extends && balances(prepared.inputs.experiment);
    if (extends) extend_routes(prepared, trials, begun);
    trials = with_routes(trials, prepared.plan.routes, prepared.plan.shards, seed);
    for (auto const& each : begun)
        if (each.trial.index() < trials.size()) trials[each.trial.index()].route = each.route;
    auto const number = number_in_flight(prepared, views, trials);
    prepared.plan.admits = number.trials;
    if (strategy_traits(prepared.inputs.experiment.strategy.name).training == Training::hopping)
        prepared.notes.routes_and_number =
            text_of(prepared.plan.routes, trials) + text_of(number, trials.size(), prepared.holders());
    return {prepared.plan.routes, number.trials};
}

}  // namespace

void plan_trials(PreparedRun& prepared, DirectorOptions& options) {
    prepared.plan.routes = prepared.inputs.earlier                ? prepared.inputs.earlier->facts.plan.routes
                           : balances(prepared.inputs.experiment) ? k_blind_routes
                                                                  : RoutePlan{};
    // Decisions must not depend on the trainers.
    prepared.plan.admits = prepared.inputs.experiment.search.in_flight.value_or(2 * prepared.plan.shards);
    options.routes = prepared.plan.routes;
    options.in_flight = prepared.plan.admits;
    options.begun = begun_trials(prepared);
    options.plan = [&prepared, begun = options.begun](std::vector<TrialView> const& trials) {
        return plan_known_trials(prepared, trials, begun);
    };
}

std::int64_t trials_at_once(PreparedRun const& prepared) {
    auto const& search = prepared.inputs.experiment.search;
    if (!prepared.plan.decides || !search.decide.deterministic) return prepared.plan.in_flight;
    auto const awaited =
        static_cast<std::int64_t>(std::ceil(search.decide.lookahead * static_cast<double>(prepared.plan.in_flight)));
    return std::min<std::int64_t>(prepared.plan.search.trials, prepared.plan.in_flight + awaited);
}

std::vector<TrialCost> costs_of(PreparedRun const& prepared, std::vector<TrialView> const& trials) {
    bool const folds = prepared.inputs.experiment.search.copies.folds > 1;  // then the shards held out validate
    double const rows = folds ? 0 : static_cast<double>(prepared.inputs.manifest.rows(Split::valid));
    double const units = rows * prepared.shard_files() / static_cast<double>(prepared.inputs.schema.train_rows);
    std::vector<TrialCost> out;
    out.reserve(trials.size());
    for (auto const& trial : trials)
        out.push_back(
            {trial.id, trial.unit_cost, k_forward_share * units * trial.unit_cost, trial.epochs_wanted, trial.route});
    return out;
}

}  // namespace hopscotch
