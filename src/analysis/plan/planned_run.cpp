// SPDX-License-Identifier: Apache-2.0
#include "analysis/plan/planned_run.hpp"

#include <algorithm>
#include <map>

#include "analysis/forecast/gantt.hpp"
#include "analysis/plan/epoch_steps.hpp"
#include "analysis/plan/simulated_search.hpp"
#include "analysis/plan/trial_costs.hpp"
#include "data/batches/row_block.hpp"
#include "direct/trial_view.hpp"
#include "experiment/measures.hpp"
#include "job/largest_trial.hpp"
#include "job/prepared_run.hpp"
#include "schedule/policy.hpp"
#include "schedule/simulate.hpp"

namespace hopscotch {
namespace {

constexpr std::int64_t k_most_drawn_units = 1'000'000;

// Trials whose states have one shape have one size.
class SizeTable {
public:
    explicit SizeTable(PreparedRun const& prepared) : prepared_(prepared) {}

    void set(PlannedTrial& trial, Assignment const& assignment) {
        auto const [size, is_new] = sizes_.try_emplace(state_shape_of(assignment));
        if (is_new) size->second = prepared_.inputs.context.measure(assignment);
        trial.weight_bytes = static_cast<std::int64_t>(4 * size->second.parameters);
        trial.optimizer_bytes = static_cast<std::int64_t>(1e6 * size->second.state_mb) - trial.weight_bytes;
    }

private:
    PreparedRun const& prepared_;
    std::map<std::string, Measures> sizes_;
};

}  // namespace

PlannedRun::PlannedRun(PreparedRun const& prepared, CostTable const& costs, Link const& link)
    : prepared_(prepared), link_(costs.knows_seconds() ? link : k_free_link), mop_owners_(owners_for_mop(prepared)) {
    if (prepared.plan.decides) simulate_decisions();
    add_trials(costs);
    if (!prepared.plan.decides) simulate_units();
    if (prepared.plan.decides && simulated_busy_ && *simulated_busy_ > 0)
        simulated_s_ = mop_work_s() / (*simulated_busy_ * mop_owners_.trainers);
}

std::int64_t PlannedRun::dataset_bytes() const {
    return prepared_.inputs.schema.train_rows * static_cast<std::int64_t>(stored_row_bytes(prepared_.inputs.manifest));
}

Policy const& PlannedRun::policy() const { return policy_named(prepared_.inputs.experiment.strategy.policy); }

std::string PlannedRun::gantt(std::size_t columns) const {
    return simulated_s_ ? gantt_text(tasks_, {mop_owners_.trainers, prepared_.plan.shards, tasks_makespan_, columns}) : "";
}

double PlannedRun::hops_per_lap(Policy const& policy) const {
    if (policy.dispatched()) return simulated_hops_per_lap(policy, unit_costs(), mop_owners_, prepared_.plan.in_flight);
    double hops = 0;
    for (auto const& trial : trials_)
        hops +=
            static_cast<double>(hopscotch::hops_per_lap(policy, {trial.id, 0}, mop_owners_, trial.held_out, trial.route));
    return trials_.empty() ? 0 : hops / static_cast<double>(trials_.size());
}

bool PlannedRun::spread_evenly() const { return prepared_.plan.decides && !simulated_busy_; }

void PlannedRun::simulate_decisions() {
    auto const run = simulated_search(prepared_, mop_owners_, [this](SimulatedUnit const& task) { tasks_.push_back(task); });
    if (!run) return tasks_.clear();
    tasks_makespan_ = run->makespan;
    simulated_busy_ = run->busy;
}

void PlannedRun::simulate_units() {
    std::int64_t units = 0;
    for (auto const& trial : trials_) units += trial.epochs * prepared_.plan.shards;
    if (units > k_most_drawn_units) return;
    auto const run = simulate(policy(), unit_costs(), mop_owners_, {.in_flight = prepared_.plan.in_flight},
                              [this](SimulatedUnit const& task) { tasks_.push_back(task); });
    simulated_s_ = tasks_makespan_ = run.makespan;
    if (run.makespan > 0) simulated_busy_ = run.busy / (run.makespan * mop_owners_.trainers);
}

// On a trainer, or on a group: with the exchanges that computation does not hide.
double PlannedRun::unit_s(PlannedTrial const& trial, StrategyConfig const& strategy) const {
    int const size = strategy.group_size, units = prepared_.shard_files() / size;
    if (size == 1) return trial.epoch_s() / units;
    auto const steps = epoch_steps_in_groups(prepared_, trial.id, strategy);
    return group_epoch_s(group_model(trial, steps, size, strategy.batch), link_, group_use(strategy, units)) / units;
}

double PlannedRun::validation_s(PlannedTrial const& trial, StrategyConfig const& strategy) const {
    if (strategy.group_size == 1) return trial.validation_s;
    auto const steps = epoch_steps_in_groups(prepared_, trial.id, strategy);
    return group_validation_s(group_model(trial, steps, strategy.group_size, strategy.batch), link_, strategy.group_size);
}

std::vector<TrialCost> PlannedRun::unit_costs(StrategyConfig const& strategy) const {
    std::vector<TrialCost> out;
    for (auto const& trial : trials_)
        out.push_back(
            {trial.id, unit_s(trial, strategy), validation_s(trial, strategy), static_cast<int>(trial.epochs), trial.route});
    return out;
}

std::vector<TrialCost> PlannedRun::unit_costs() const { return unit_costs(prepared_.inputs.experiment.strategy); }

// Of one trainer, or of one group.
double PlannedRun::mop_work_s() const { return work_of(unit_costs(), prepared_.plan.shards); }

void PlannedRun::add_trials(CostTable const& costs) {
    auto const& all = prepared_.trials();
    SizeTable sizes(prepared_);
    std::map<std::int64_t, EpochSteps> alone;  // by batch
    auto const one = make_owners(prepared_.shard_files(), 1, 1);
    double const flops = mean_flops(prepared_);
    auto const spread = std::max<std::int64_t>(1, prepared_.plan.search.epochs / static_cast<std::int64_t>(all.size()));
    for (auto const& view : all) {
        PlannedTrial trial;
        trial.id = view.id;
        trial.route = view.route;
        trial.held_out = held_out_of(view.assignment, prepared_.inputs.experiment.search.copies.folds);
        trial.epochs = !prepared_.plan.decides ? view.epochs_wanted : spread_evenly() ? spread : view.epochs_done;
        if (trial.epochs == 0) continue;
        auto const& config = *view.config;
        auto const cost = costs.of(config, view.assignment, flops);
        trial.rows =
            static_cast<std::int64_t>(trained_share(prepared_) * static_cast<double>(prepared_.inputs.schema.train_rows));
        trial.batch = config.train.batch_size * config.train.accumulate;
        trial.fixed_s = cost.fixed_s * config.train.accumulate;
        trial.row_s = cost.row_s;
        trial.validation_s = cost.validation_s;
        sizes.set(trial, view.assignment);
        auto const [steps, is_new] = alone.try_emplace(trial.batch);
        if (is_new) steps->second = epoch_steps(prepared_, trial.id, one, {});
        trial.alone = steps->second;
        trials_.push_back(trial);
    }
    auto const work = work_s(trials_);
    if (costs.knows_seconds() || work <= 0) return;
    for (auto& trial : trials_) {
        trial.row_s /= work;
        trial.validation_s /= work;
    }
}

}  // namespace hopscotch
