// SPDX-License-Identifier: Apache-2.0
#include "analysis/plan/print_plan.hpp"
#include "analysis/plan/plan_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/plan/group_choice.hpp"
#include "analysis/plan/known_speed.hpp"
#include "analysis/plan/simulated_search.hpp"
#include "core/counted.hpp"
#include "core/error.hpp"
#include "core/quantity_text.hpp"
#include "data/dataset/shard.hpp"
#include "experiment/procedures.hpp"
#include "experiment/reader.hpp"
#include "job/largest_trial.hpp"
#include "job/plan_trials.hpp"
#include "job/prepared_run.hpp"
#include "job/storage.hpp"
#include "model/zoo/zoo.hpp"
#include "schedule/policy.hpp"
#include "schedule/simulate.hpp"
#include "view/progress.hpp"

namespace hopscotch {
namespace {

// In a real run, the trainers make this check in the roll call.
void check_shards(PreparedRun const& prepared) {
    try {
        for (auto const split : {Split::train, Split::valid, Split::test})
            for (auto const& file : prepared.inputs.manifest.files(split))
                check_shard(prepared.inputs.experiment.data.path, file, prepared.inputs.manifest);
    } catch (DataError const& error) {
        throw ConfigError(error.what());
    }
}

// Indents all lines but the first.
std::string indented(std::string text) {
    while (text.ends_with('\n')) text.pop_back();
    for (auto at = text.find('\n'); at != text.npos; at = text.find('\n', at + 1)) text.insert(at + 1, 13, ' ');
    return text;
}

constexpr std::int64_t k_most_simulated_units = 10'000'000;  // some seconds

// In FLOPs. makespan: with MOP only.
struct Work {
    double total = 0;
    std::optional<double> makespan;
};

std::optional<Work> print_schedule(PreparedRun const& prepared, std::vector<TrialCost> const& costs) {
    auto const& policy = policy_named(prepared.inputs.experiment.strategy.policy);
    double const work = work_of(costs, prepared.plan.shards);
    if (!is_hopping(prepared)) return Work{work, std::nullopt};
    auto const first = first_laps(costs, prepared.plan.shards, k_most_simulated_units);
    auto const bound = lower_bound(first, prepared.fleet.owners);
    auto const simulated = simulate(policy, first, prepared.fleet.owners, {.in_flight = prepared.plan.in_flight});
    fmt::print("visits       {}\n", prepared.notes.routes_and_number);
    if (bound > 0)
        fmt::print("schedule     {:.3f} of the lower bound, trainers busy {:.0f} % (simulated{})\n",
                   simulated.makespan / bound, 100 * simulated.busy / (simulated.makespan * prepared.fleet.owners.trainers),
                   work_of(first, prepared.plan.shards) < work ? ": the first laps of each trial" : "");
    auto const makespan =
        bound > 0 ? simulated.makespan / bound * lower_bound(costs, prepared.fleet.owners) : simulated.makespan;
    return Work{work * prepared.inputs.experiment.strategy.group_size, makespan};
}

std::string hops_text(PreparedRun const& prepared, std::vector<TrialView> const& trials,
                      std::vector<TrialCost> const& costs) {
    auto const& policy = policy_named(prepared.inputs.experiment.strategy.policy);
    std::int64_t laps = 0, hops = 0;
    for (auto const& trial : trials) {
        auto const held_out = held_out_of(trial.assignment, prepared.inputs.experiment.search.copies.folds);
        if (!policy.dispatched())
            hops += hops_of(policy, {trial.id, trial.epochs_wanted, held_out, trial.route}, prepared.fleet.owners);
        laps += trial.epochs_wanted;
    }
    if (!policy.dispatched()) return fmt::format(", {} hops", hops);
    double const of_lap = simulated_hops_per_lap(policy, costs, prepared.fleet.owners, prepared.plan.in_flight);
    return fmt::format(", about {:.0f} hops", of_lap * static_cast<double>(laps));
}

// The simulation uses the director up. The caller shows the trials as they were before.
std::optional<Work> print_search_simulation(PreparedRun const& prepared) {
    if (!is_hopping(prepared)) return std::nullopt;
    auto const simulated = simulated_search(prepared, prepared.fleet.owners);
    if (!simulated) return std::nullopt;
    bool const waits = procedure_traits(prepared.inputs.experiment.search.procedure).rungs_wait;
    fmt::print("schedule     trainers busy {:.0f} % (simulated with made-up results, without validation){}\n",
               100 * simulated->busy, waits ? "; each rung waits for all of its trials: asha does not" : "");
    auto const busy = simulated->busy * simulated->makespan * prepared.fleet.owners.trainers;
    return Work{busy * prepared.inputs.experiment.strategy.group_size, simulated->makespan};
}

void print_hours(PreparedRun const& prepared, Work const& work) {
    auto const known = known_speed(prepared);
    if (!known) return;
    auto const text = [&](double flops) { return duration(flops * known->seconds_per_flop); };
    fmt::print("time         {}{} of one trainer's work (at the speed of {})\n",
               work.makespan ? fmt::format("about {} on {} trainers, ", text(*work.makespan), prepared.fleet.trainers) : "",
               text(work.total), known->run);
}

std::string groups_text(PreparedRun const& prepared) {
    int const size = prepared.inputs.experiment.strategy.group_size, groups = prepared.fleet.owners.trainers;
    return size == 1 ? "" : fmt::format(" in {} group{} of {}", groups, groups == 1 ? "" : "s", size);
}

void print_storage(PreparedRun const& prepared) {
    auto const largest = largest_trial(prepared);
    auto const storage = storage_of(prepared, prepared.inputs.experiment.strategy, largest);
    fmt::print("storage      about {} at the peak: checkpoints {}, units {}, journal, trace and events {}, best model {}\n",
               bytes_text(storage.run_dir()), bytes_text(storage.checkpoints), bytes_text(storage.units),
               bytes_text(storage.lines), bytes_text(storage.best));
    fmt::print(
        "memory       about {} of states a trainer, up to {} each (beyond run.state_memory: on the disk), and {} of "
        "validation rows a host\n",
        bytes_text(storage.states), bytes_text(largest.state), bytes_text(storage.validation));
    if (auto const missing = missing_space(prepared, storage); !missing.empty()) fmt::print("warning      {}\n", missing);
}

void print_frozen_layers(PreparedRun const& prepared, TrialConfig const& config) {
    auto const part = frozen_part(config, prepared.inputs.schema);
    if (!part) return;
    auto const outputs = static_cast<std::uint64_t>(part->outputs) * sizeof(float);
    auto const percent = std::floor(100 * part->share);  // rounded down: the rest is never nothing
    if (config.model.cache_frozen)
        fmt::print(
            "frozen       layers with {:.0f} % of the arithmetic compute each row once; their outputs, {} a row, stay in "
            "memory\n",
            percent, bytes_text(outputs));
    else
        fmt::print(
            "frozen       layers with {:.0f} % of the arithmetic compute each row in every epoch; once, with "
            "model.cache_frozen ({} a row in memory)\n",
            percent, bytes_text(outputs));
}

// "Hopscotch's own on CPUs for 4 trials, LibTorch's for 8 trials (train.precision is bf16)"
void print_step(PreparedRun const& prepared, std::vector<TrialView> const& trials) {
    if (prepared.inputs.synthetic || trials.empty()) return;
    std::map<std::string, std::ptrdiff_t> counts;  // by the reason for LibTorch's step; empty: the lean step
    for (auto const& trial : trials) {
        auto why = why_torch_step(*trial.config);
        if (why.empty() && prepared.inputs.experiment.run.device == "cuda") why = "run.device is cuda";
        ++counts[why];
    }
    std::string out;
    for (auto const& [why, trials_of] : counts) {
        if (!out.empty()) out += ", ";
        out += why.empty() ? "Hopscotch's own on CPUs" : "LibTorch's";
        if (counts.size() > 1) out += " for " + counted(trials_of, "trial");
        if (!why.empty()) out += " (" + why + ")";
    }
    fmt::print("step         {}\n", out);
}

std::string in_flight_text(PreparedRun const& prepared) {
    auto const out = fmt::format("{} trials in flight", prepared.plan.in_flight);
    auto const at_once = trials_at_once(prepared);
    if (at_once == prepared.plan.in_flight) return out;
    return out + fmt::format(" (about {} with those whose results the search awaits)", at_once);
}

}  // namespace

void print_plan(PreparedRun const& prepared) {
    auto const trials = prepared.trials();
    auto const costs = costs_of(prepared, trials);
    std::int64_t units = 0;
    double longest = 0, shortest = 0;
    for (auto const& trial : trials) {
        units += static_cast<std::int64_t>(prepared.shard_files()) * trial.epochs_wanted;
        auto const cost = trial.unit_cost * trial.epochs_wanted;
        longest = std::max(longest, cost);
        shortest = shortest == 0 ? cost : std::min(shortest, cost);
    }
    check_shards(prepared);
    fmt::print("experiment   {} ({}{} trials by {}, model {}{})\n", prepared.inputs.experiment.name,
               prepared.plan.search.trials_bound == SearchPlan::Bound::at_most ? "at most " : "",
               prepared.plan.search.trials, prepared.inputs.experiment.search.procedure,
               prepared.inputs.experiment.model.name, prepared.inputs.synthetic ? ", synthetic" : "");
    fmt::print("data         {} ({} rows in {} shards, {} validation rows)\n", prepared.inputs.experiment.data.path,
               prepared.inputs.schema.train_rows, prepared.shard_files(), prepared.inputs.manifest.rows(Split::valid));
    fmt::print("search       {}\n", indented(text_of(prepared.plan.search)));
    fmt::print("strategy     {} on {} trainers{}, {}\n", prepared.inputs.experiment.strategy.name, prepared.fleet.trainers,
               groups_text(prepared), in_flight_text(prepared));
    print_step(prepared, trials);
    fmt::print("run dir      {}\n", prepared.inputs.experiment.run.dir);
    if (!prepared.plan.decides)
        fmt::print("work         {}{} units{}; the longest trial costs {:.2f} times the shortest\n",
                   prepared.plan.search.bound() == SearchPlan::Bound::exact ? "" : "at most ", units,
                   is_hopping(prepared) ? hops_text(prepared, trials, costs) : "", longest / shortest);
    if (auto const work = prepared.plan.decides ? print_search_simulation(prepared) : print_schedule(prepared, costs))
        print_hours(prepared, *work);
    if (auto const choice = choose_groups(prepared))
        fmt::print("groups       {} (hopscotch plan knows more)\n", text_of(*choice, prepared));
    print_storage(prepared);
    if (!trials.empty()) print_frozen_layers(prepared, *trials.front().config);
    for (std::size_t i = 0; i < std::min<std::size_t>(3, trials.size()); ++i)
        fmt::print("trial {:<6} {}\n", trials[i].id.value, to_json(trials[i].assignment).dump());
    if (trials.size() > 3 && !prepared.plan.decides) fmt::print("...          {} more\n", trials.size() - 3);
    if (!prepared.notes.known_trials.empty()) fmt::print("note         {}\n", prepared.notes.known_trials);
    for (auto const& note : prepared.notes.warnings) fmt::print("note         {}\n", note);
    fmt::print("dry run: nothing was written or trained\n");
}

}  // namespace hopscotch
