// SPDX-License-Identifier: Apache-2.0
#include "analysis/compare/predictions.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "analysis/cost/run_estimate.hpp"
#include "analysis/cost/run_work.hpp"
#include "core/json_lookup.hpp"
#include "experiment/strategy_traits.hpp"
#include "schedule/lap.hpp"
#include "schedule/policy.hpp"

namespace hopscotch {
namespace {

// The facts that are equal in all runs of an experiment, from any run that has them.
struct Sizes {
    std::optional<double> weight_share;  // of a state's bytes
    std::optional<std::int64_t> dataset_bytes;
    std::map<TrialId, std::int64_t> state_bytes;
};

Sizes sizes_of(std::vector<ComparedRun> const& runs, std::vector<RunWork> const& works) {
    Sizes out;
    std::int64_t largest = 0;
    for (auto const& work : works)
        for (auto const& [trial, of_trial] : work.trials) {
            auto& bytes = out.state_bytes[trial];
            bytes = std::max(bytes, of_trial.state_bytes);
            largest = std::max(largest, bytes);
        }
    for (std::size_t r = 0; r < runs.size(); ++r) {
        auto const weights = number_in(runs[r].summary, "weight_bytes");  // of the largest trial
        if (weights && largest > 0) out.weight_share = std::min(1.0, *weights / static_cast<double>(largest));
        auto const held = number_in(runs[r].summary, "storage_bytes");
        auto const& strategy = works[r].strategy;
        bool const copies = has_setting(strategy.name, "data") && strategy.data == TaskData::replicated;
        if (held) out.dataset_bytes = static_cast<std::int64_t>(copies ? *held / works[r].workers : *held);
    }
    return out;
}

// The run's own step counts: shards end with batches that are not full, so rows are counted in whole batches.
Workload workload_of(std::vector<RunWork> const& works, std::size_t run, Sizes const& sizes) {
    auto const& work = works[run];
    bool const per_worker = work.members() > 1 && work.strategy.batch == GroupBatch::per_worker;
    bool const slots_too = work.strategy.averaging.momentum == SlotPolicy::averaged;
    Workload out;
    out.dataset_bytes = sizes.dataset_bytes.value_or(0);
    for (auto const& [trial, measured] : work.trials) {
        if (measured.steps == 0) continue;
        ModelWork model;
        model.epochs = measured.epochs;
        model.batch = measured.batch;
        model.rows =
            (measured.steps + measured.epochs - 1) / measured.epochs * measured.batch * (per_worker ? work.members() : 1);
        model.fixed_s = fitted_step_s(works, run, trial);
        model.validation_s = measured.validation_s * (work.group() ? work.workers : 1);  // a group validates in parts
        auto const state = sizes.state_bytes.at(trial);
        model.weight_bytes = static_cast<std::int64_t>(static_cast<double>(state) * sizes.weight_share.value_or(1));
        if (slots_too) model.weight_bytes = state;
        model.optimizer_bytes = state - model.weight_bytes;
        out.models.push_back(model);
    }
    return out;
}

double mean_hops_per_lap(RunWork const& work) {
    auto const& policy = policy_named(work.strategy.policy);
    auto const owners = of_groups(work.owners, work.strategy.group_size);
    double hops = 0;
    for (auto const& [trial, measured] : work.trials)
        hops += static_cast<double>(hops_per_lap(policy, {trial, 0}, owners, measured.held_out, measured.route));
    return work.trials.empty() ? 0 : hops / static_cast<double>(work.trials.size());
}

std::optional<Estimate> estimate_of(RunWork const& work, Workload const& load, Link const& link, Sizes const& sizes) {
    if (load.models.empty()) return std::nullopt;
    return estimate_run({.strategy = work.strategy,
                         .work = load,
                         .cluster = {work.workers / work.strategy.group_size, link},
                         .hops_per_lap = mean_hops_per_lap(work),
                         .bundles = static_cast<int>(work.owners.owner.size()) / work.strategy.group_size,
                         .knows_weights = sizes.weight_share.has_value(),
                         .knows_dataset = sizes.dataset_bytes.has_value()});
}

// Of all ranks, without control messages and without the best model's way to rank 0.
std::optional<double> measured_bytes(ComparedRun const& run) {
    auto const state = bytes_sent(run, "state"), gradient = bytes_sent(run, "gradient");
    if (!state || !gradient) return std::nullopt;
    auto const& strategy = run.recorded.experiment.strategy;
    bool const rows_travel = has_setting(strategy.name, "data") && strategy.data == TaskData::remote;
    auto const rows = rows_travel ? bytes_sent(run, "data") : number_in(run.summary, "staged_bytes");
    return *state + *gradient + rows.value_or(0);
}

// Mean over the trainers.
std::optional<double> measured_exposed(ComparedRun const& run) {
    auto const* exposed = run.summary.find("exposed_s");
    if (exposed == nullptr || !exposed->is_array() || exposed->array().empty()) return std::nullopt;
    double sum = 0;
    for (auto const& seconds : exposed->array()) sum += seconds.is_number() ? seconds.number() : 0;
    return sum / static_cast<double>(exposed->array().size());
}

}  // namespace

std::vector<std::optional<Estimate>> predict(std::vector<ComparedRun> const& runs, Link const& link) {
    std::vector<RunWork> works;
    for (auto const& run : runs) works.push_back(work_of(run.recorded));
    auto const sizes = sizes_of(runs, works);
    std::vector<std::optional<Estimate>> out;
    for (std::size_t r = 0; r < runs.size(); ++r)
        out.push_back(estimate_of(works[r], workload_of(works, r, sizes), link, sizes));
    return out;
}

std::vector<MeasureRow> predicted_measures(std::vector<ComparedRun> const& runs,
                                           std::vector<std::optional<Estimate>> const& estimates) {
    std::vector<MeasureRow> rows{{"predicted_makespan_s", "makespan", Quantity::seconds, {}, {}},
                                 {"predicted_exposed_s", "exposed", Quantity::seconds, {}, {}},
                                 {"predicted_network_bytes", "all ranks sent", Quantity::bytes, {}, {}}};
    for (std::size_t r = 0; r < runs.size(); ++r) {
        auto const& estimate = estimates[r];
        auto const add = [&](std::size_t row, double value, std::optional<double> measured) {
            rows[row].values.push_back(estimate ? std::optional(value) : std::nullopt);
            rows[row].reference.push_back(measured);
        };
        auto const known = estimate.value_or(Estimate{});
        add(0, known.makespan_s, number_in(runs[r].summary, "makespan_s"));
        add(1, known.communication_s, measured_exposed(runs[r]));
        add(2, static_cast<double>(known.network_bytes), measured_bytes(runs[r]));
    }
    return rows;
}

}  // namespace hopscotch
