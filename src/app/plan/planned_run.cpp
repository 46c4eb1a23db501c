// SPDX-License-Identifier: Apache-2.0
#include "app/plan/planned_run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/job/largest_trial.hpp"
#include "app/job/prepare.hpp"
#include "app/plan/simulated_search.hpp"
#include "core/error.hpp"
#include "data/batches/row_block.hpp"
#include "experiment/procedures.hpp"
#include "experiment/reader.hpp"
#include "experiment/strategy_traits.hpp"
#include "model/zoo/zoo.hpp"
#include "schedule/director.hpp"
#include "schedule/policy.hpp"
#include "schedule/simulate.hpp"
#include "strategy/check.hpp"
#include "strategy/strategy_table.hpp"
#include "strategy/together/step_plan.hpp"

namespace hopscotch {
namespace {

constexpr std::int64_t k_most_drawn_units = 1'000'000;

// The busiest trainer's: everybody waits for it.
EpochSteps steps_in(StepPlan const& plan) {
    EpochSteps out{plan.steps(), 0};
    for (int trainer = 0; trainer < plan.trainers(); ++trainer) {
        double rows = 0;
        for (std::int64_t step = 0; step < plan.own_steps(trainer); ++step)
            rows += static_cast<double>(plan.rows(trainer, step));
        out.rows = std::max(out.rows, rows);
    }
    return out;
}

// A trial of search.folds does not train on its part of the shards.
double trained_share(SearchConfig const& search) { return search.folds > 1 ? (search.folds - 1.0) / search.folds : 1; }

}  // namespace

PlannedRun::PlannedRun(PreparedRun& prepared, CostTable const& costs)
    : prepared_(prepared),
      mop_owners_(
          make_owners(prepared.shards, prepared.trainers, static_cast<std::int64_t>(prepared.director->trials().size()))) {
    if (prepared.decides) simulate_decisions();
    add_trials(costs);
    if (!prepared.decides) simulate_units();
    if (!simulated_) return;
    simulated_busy_ = simulated_->busy;
    if (simulated_->busy > 0) simulated_s_ = work_s() / (simulated_->busy * prepared.trainers);
}

int PlannedRun::shards() const { return prepared_.shards; }

double PlannedRun::work_s() const {
    double out = 0;
    for (auto const& trial : trials_) out += trial.alone_s();
    return out;
}

std::int64_t PlannedRun::dataset_bytes() const {
    return prepared_.schema.train_rows * static_cast<std::int64_t>(stored_row_bytes(prepared_.manifest));
}

bool PlannedRun::spread_evenly() const { return prepared_.decides && !simulated_; }

void PlannedRun::simulate_decisions() {
    simulated_ = simulated_search(prepared_, mop_owners_, [this](SimulatedUnit const& task) { tasks_.push_back(task); });
    if (simulated_) tasks_makespan_ = simulated_->makespan;
}

void PlannedRun::simulate_units() {
    std::int64_t units = 0;
    for (auto const& trial : trials_) units += trial.epochs * prepared_.shards;
    if (units > k_most_drawn_units) return;
    auto const run = simulate(policy_named(prepared_.experiment.strategy.policy), unit_costs(), mop_owners_,
                              prepared_.in_flight, [this](SimulatedUnit const& task) { tasks_.push_back(task); });
    simulated_s_ = tasks_makespan_ = run.makespan;
    if (run.makespan > 0) simulated_busy_ = run.busy / (run.makespan * prepared_.trainers);
}

std::vector<TrialCost> PlannedRun::unit_costs() const {
    std::vector<TrialCost> out;
    for (auto const& trial : trials_)
        out.push_back({trial.id, trial.epoch_s() / prepared_.shards, trial.validation_s, static_cast<int>(trial.epochs)});
    return out;
}

void PlannedRun::add_trials(CostTable const& costs) {
    auto const& all = prepared_.director->trials();
    std::map<std::string, Measures> sizes;  // by the shape of a state
    double flops = 0;
    for (auto const& trial : all) flops += flops_per_row(prepared_.config_of(trial.assignment), prepared_.schema);
    auto const spread = std::max<std::int64_t>(1, prepared_.plan.epochs / static_cast<std::int64_t>(all.size()));
    double const share = trained_share(prepared_.experiment.search);
    std::map<std::int64_t, EpochSteps> alone;  // by batch
    auto const one = make_owners(prepared_.shards, 1, 1);
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto const config = prepared_.config_of(all[i].assignment);
        auto const [size, is_new] = sizes.try_emplace(state_shape_of(all[i].assignment));
        if (is_new) size->second = prepared_.context.measure(all[i].assignment);
        auto const cost = costs.of(config, all[i].assignment, flops / static_cast<double>(all.size()));
        PlannedTrial trial;
        trial.id = all[i].id;
        trial.epochs = !prepared_.decides ? all[i].epochs_wanted : simulated_ ? all[i].epochs_done : spread;
        if (trial.epochs == 0) continue;
        of_director_.push_back(i);
        trial.rows = static_cast<std::int64_t>(share * static_cast<double>(prepared_.schema.train_rows));
        trial.batch = config.train.batch_size * config.train.accumulate;
        trial.fixed_s = cost.fixed_s * config.train.accumulate;
        trial.row_s = cost.row_s;
        trial.validation_s = cost.validation_s;
        trial.weight_bytes = static_cast<std::int64_t>(4 * size->second.parameters);
        trial.optimizer_bytes = static_cast<std::int64_t>(1e6 * size->second.state_mb) - trial.weight_bytes;
        trials_.push_back(trial);
        auto const [steps, unknown] = alone.try_emplace(trial.batch);
        if (unknown) steps->second = steps_of(trials_.size() - 1, one, {});
        trials_.back().alone = steps->second;
    }
    if (auto const work = work_s(); !costs.knows_seconds() && work > 0)
        for (auto& trial : trials_) {
            trial.row_s /= work;
            trial.validation_s /= work;
        }
}

EpochSteps PlannedRun::steps_of(std::size_t trial, OwnerTable const& owners, StrategyConfig const& strategy) const {
    auto const& view = prepared_.director->trials()[of_director_[trial]];
    auto const config = prepared_.config_of(view.assignment);
    auto const sizes = local_batches(strategy, config, static_cast<int>(group_of(owners).size()));
    auto out = steps_in(make_step_plan({prepared_.manifest, owners, config, view.id, sizes}));
    double const share = trained_share(prepared_.experiment.search);
    out.steps = std::max<std::int64_t>(1, static_cast<std::int64_t>(share * static_cast<double>(out.steps) + 0.5));
    out.rows *= share;
    return out;
}

StrategyConfig PlannedRun::settings_of(std::string const& strategy) const {
    if (strategy == prepared_.experiment.strategy.name) return prepared_.experiment.strategy;
    auto document = prepared_.experiment.document;
    document["strategy"] = Json::object({{"name", strategy}});
    Problems ignored("");  // refusal_of tells what does not fit
    return read_experiment(document.dump(), {}, ignored).strategy;
}

std::string PlannedRun::refusal_of(StrategyConfig const& strategy) const {
    auto experiment = prepared_.experiment;
    experiment.strategy = strategy;
    Problems problems("");
    auto const config = prepared_.config_of(prepared_.director->trials().front().assignment);
    check_strategy(experiment, config, prepared_.trainers, prepared_.shards, problems);
    if (!problems.empty()) return problems.entries().front().problem;
    if (procedure_traits(experiment.search.procedure).clones && strategy_traits(strategy.name).state_in_parts)
        return fmt::format("{} lets trials take over each other's states (they are in parts on several trainers)",
                           experiment.search.procedure);
    return "";
}

StrategyCase PlannedRun::case_of(StrategyConfig const& strategy) const {
    auto const& traits = strategy_traits(strategy.name);
    StrategyCase out{strategy, prepared_.trainers, prepared_.trainers, {}, 0, {}};
    if (traits.rows == Rows::stay)
        out.workers = std::min(trainers_with_data(strategy, prepared_.trainers), prepared_.shards);
    if (!traits.all_trainers) out.workers = 1;
    if (traits.training == Training::together) {
        auto const owners = make_owners(prepared_.shards, out.workers, static_cast<std::int64_t>(trials_.size()));
        std::map<std::int64_t, EpochSteps> known;  // by batch
        for (std::size_t i = 0; i < trials_.size(); ++i) {
            auto const [place, is_new] = known.try_emplace(trials_[i].batch);
            if (is_new) place->second = steps_of(i, owners, strategy);
            out.group.push_back(place->second);
        }
    }
    if (traits.training == Training::hopping) {
        auto const& policy = policy_named(strategy.policy);
        double hops = 0;
        for (auto const& trial : trials_) hops += static_cast<double>(hops_per_lap(policy, trial.id, mop_owners_));
        out.hops_per_lap = trials_.empty() ? 0 : hops / static_cast<double>(trials_.size());
        out.simulated_s = simulated_s_;
    }
    return out;
}

}  // namespace hopscotch
