// SPDX-License-Identifier: Apache-2.0
#include "app/plan/planned_run.hpp"

#include <algorithm>
#include <map>

#include "app/forecast/gantt.hpp"
#include "app/job/largest_trial.hpp"
#include "app/job/prepare.hpp"
#include "app/plan/epoch_steps.hpp"
#include "app/plan/simulated_search.hpp"
#include "app/plan/trial_costs.hpp"
#include "data/batches/row_block.hpp"
#include "experiment/strategy_traits.hpp"
#include "model/zoo/zoo.hpp"
#include "schedule/director.hpp"
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
        if (is_new) size->second = prepared_.context.measure(assignment);
        trial.weight_bytes = static_cast<std::int64_t>(4 * size->second.parameters);
        trial.optimizer_bytes = static_cast<std::int64_t>(1e6 * size->second.state_mb) - trial.weight_bytes;
    }

private:
    PreparedRun const& prepared_;
    std::map<std::string, Measures> sizes_;
};

double mean_flops(PreparedRun const& prepared) {
    auto const& trials = prepared.director->trials();
    double sum = 0;
    for (auto const& trial : trials) sum += flops_per_row(prepared.config_of(trial.assignment), prepared.schema);
    return sum / static_cast<double>(trials.size());
}

}  // namespace

PlannedRun::PlannedRun(PreparedRun const& prepared, CostTable const& costs)
    : prepared_(prepared),
      mop_owners_(strategy_traits(prepared.experiment.strategy.name).training == Training::hopping
                      ? prepared.owners
                      : make_owners(prepared.shards, prepared.trainers,
                                    static_cast<std::int64_t>(prepared.director->trials().size()))) {
    if (prepared.decides) simulate_decisions();
    add_trials(costs);
    if (!prepared.decides) simulate_units();
    if (prepared.decides && simulated_busy_ && *simulated_busy_ > 0)
        simulated_s_ = work_s(trials_) / (*simulated_busy_ * prepared.trainers);
}

std::int64_t PlannedRun::dataset_bytes() const {
    return prepared_.schema.train_rows * static_cast<std::int64_t>(stored_row_bytes(prepared_.manifest));
}

std::string PlannedRun::gantt(std::size_t columns) const {
    return simulated_s_ ? gantt_text(tasks_, {prepared_.trainers, prepared_.shards, tasks_makespan_, columns}) : "";
}

bool PlannedRun::spread_evenly() const { return prepared_.decides && !simulated_busy_; }

void PlannedRun::simulate_decisions() {
    auto const run = simulated_search(prepared_, mop_owners_, [this](SimulatedUnit const& task) { tasks_.push_back(task); });
    if (!run) return tasks_.clear();
    tasks_makespan_ = run->makespan;
    simulated_busy_ = run->busy;
}

void PlannedRun::simulate_units() {
    std::int64_t units = 0;
    for (auto const& trial : trials_) units += trial.epochs * prepared_.shards;
    if (units > k_most_drawn_units) return;
    auto const run =
        simulate(policy_named(prepared_.experiment.strategy.policy), unit_costs(), mop_owners_,
                 {.in_flight = prepared_.in_flight}, [this](SimulatedUnit const& task) { tasks_.push_back(task); });
    simulated_s_ = tasks_makespan_ = run.makespan;
    if (run.makespan > 0) simulated_busy_ = run.busy / (run.makespan * prepared_.trainers);
}

std::vector<TrialCost> PlannedRun::unit_costs() const {
    std::vector<TrialCost> out;
    for (auto const& trial : trials_)
        out.push_back(
            {trial.id, trial.epoch_s() / prepared_.shards, trial.validation_s, static_cast<int>(trial.epochs), trial.route});
    return out;
}

void PlannedRun::add_trials(CostTable const& costs) {
    auto const& all = prepared_.director->trials();
    SizeTable sizes(prepared_);
    std::map<std::int64_t, EpochSteps> alone;  // by batch
    auto const one = make_owners(prepared_.shards, 1, 1);
    double const flops = mean_flops(prepared_);
    auto const spread = std::max<std::int64_t>(1, prepared_.plan.epochs / static_cast<std::int64_t>(all.size()));
    for (auto const& view : all) {
        PlannedTrial trial;
        trial.id = view.id;
        trial.route = view.route;
        trial.held_out = held_out_of(view.assignment, prepared_.experiment.search.folds);
        trial.epochs = !prepared_.decides ? view.epochs_wanted : spread_evenly() ? spread : view.epochs_done;
        if (trial.epochs == 0) continue;
        auto const config = prepared_.config_of(view.assignment);
        auto const cost = costs.of(config, view.assignment, flops);
        trial.rows = static_cast<std::int64_t>(trained_share(prepared_) * static_cast<double>(prepared_.schema.train_rows));
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
