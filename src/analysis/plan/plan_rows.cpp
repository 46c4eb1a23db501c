// SPDX-License-Identifier: Apache-2.0
#include "analysis/plan/plan_rows.hpp"

#include <algorithm>

#include "analysis/plan/planned_run.hpp"
#include "analysis/plan/strategy_cases.hpp"
#include "experiment/strategy_traits.hpp"
#include "job/largest_trial.hpp"
#include "job/prepared_run.hpp"
#include "job/storage.hpp"

namespace hopscotch {
namespace {

// The two whose crossover is asked for.
constexpr std::string_view k_mop = "mop", k_allreduce = "allreduce";

// Rank 0, measured with tests/scale: the process, and its data for each trial, lap and trainer.
constexpr std::uint64_t k_rank0 = 126'000'000, k_of_trial = 10'000, k_of_lap = 240, k_of_trainer = 60'000;

// The sizes that the dry run predicts too.
void add_storage(StrategyForecast& row, PreparedRun const& prepared, TrialBytes const& largest, int workers) {
    auto const storage = storage_of(prepared, row.strategy, largest);
    row.run_dir_bytes = storage.run_dir();
    row.memory.waiting = storage.states;
    row.memory.validation = storage.validation;
    if (prepared.inputs.experiment.data.cache == Cache::all)
        row.memory.rows = static_cast<std::uint64_t>(row.data_bytes / std::max(1, workers));
    row.memory.rank0 = k_rank0 + k_of_trial * static_cast<std::uint64_t>(prepared.plan.search.trials) +
                       k_of_lap * static_cast<std::uint64_t>(prepared.plan.search.epochs) +
                       k_of_trainer * static_cast<std::uint64_t>(prepared.fleet.trainers) + largest.state;
}

}  // namespace

bool is_hopping(PreparedRun const& prepared) {
    return strategy_traits(prepared.inputs.experiment.strategy.name).training == Training::hopping;
}

std::vector<StrategyForecast> rows_of(PreparedRun const& prepared, PlannedRun const& planned, PlanBasis const& basis) {
    auto const largest = largest_trial(prepared);
    std::vector<StrategyForecast> out;
    for (auto const& name : strategy_names()) {
        auto const strategy = settings_of(name, prepared);
        if (auto reason = refusal_of(strategy, prepared); !reason.empty()) {
            out.emplace_back().strategy = strategy;
            out.back().refused = std::move(reason);
            continue;
        }
        auto const what = case_of(strategy, prepared, planned);
        auto& row = out.emplace_back(forecast(basis, what));
        add_storage(row, prepared, largest, what.workers);
    }
    return out;
}

// Both strategies with all rows of an epoch in one piece: the answer must not depend on remainders.
std::optional<Crossovers> crossovers_of(PreparedRun const& prepared, PlannedRun const& planned, PlanBasis const& basis) {
    auto const strategy = settings_of(std::string(k_allreduce), prepared);
    auto const what = case_of(settings_of(std::string(k_mop), prepared), prepared, planned);
    if (!basis.knows_seconds || what.workers < 2 || what.strategy.group_size > 1) return std::nullopt;
    Contest contest;
    contest.cluster = {what.workers, basis.link};
    contest.hops_per_lap = what.hops_per_lap;
    contest.use.collective =
        strategy.reduce.algorithm == ReduceAlgorithm::deterministic ? Collective::direct : Collective::ring;
    contest.use.bucket_bytes = std::max<std::int64_t>(1, static_cast<std::int64_t>(strategy.reduce.bucket_mb * (1 << 20)));
    contest.use.batch = strategy.batch;
    for (auto const& trial : planned.trials())
        contest.work.models.push_back({trial.epochs, trial.rows, trial.batch, trial.fixed_s, trial.row_s, trial.validation_s,
                                       trial.weight_bytes, trial.optimizer_bytes});
    std::int64_t largest = prepared.inputs.manifest.train.front().rows;
    for (auto const& shard : prepared.inputs.manifest.train) largest = std::min(largest, shard.rows);
    constexpr double k_close = 1.1;
    return Crossovers{batch_crossover(contest, largest), batch_crossover(contest, largest, k_close),
                      bandwidth_crossover(contest), bandwidth_crossover(contest, k_close)};
}

}  // namespace hopscotch
