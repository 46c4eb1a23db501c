// SPDX-License-Identifier: Apache-2.0
#include "app/plan/plan_run.hpp"

#include <algorithm>
#include <memory>

#include "app/forecast/gantt.hpp"
#include "app/job/largest_trial.hpp"
#include "app/job/prepare.hpp"
#include "app/job/storage.hpp"
#include "app/plan/planned_run.hpp"
#include "core/error.hpp"
#include "experiment/strategy_traits.hpp"
#include "schedule/policy.hpp"

namespace hopscotch {
namespace {

// Rank 0, measured with tests/scale: the process, and what it keeps of each trial, lap and trainer.
constexpr std::uint64_t k_rank0 = 126'000'000, k_of_trial = 10'000, k_of_lap = 240, k_of_trainer = 60'000;

PreparedRun prepared_for(PlanOptions const& options, int trainers) {
    auto run = options.run;
    run.dry_run = run.overwrite = true;  // a run that is there already is no reason not to plan
    return prepare_run(run, [trainers](RunConfig const&) { return trainers; });
}

std::int64_t all_epochs(std::vector<PlannedTrial> const& trials) {
    std::int64_t out = 0;
    for (auto const& trial : trials) out += trial.epochs;
    return out;
}

// The sizes that the dry run predicts too. They are of the strategy that `prepared` has.
void add_storage(StrategyForecast& row, PreparedRun const& prepared, TrialBytes const& largest, int workers) {
    auto const storage = storage_of(prepared, largest);
    row.run_dir_bytes = storage.run_dir();
    row.memory.waiting = storage.states;
    row.memory.validation = storage.validation;
    if (prepared.experiment.data.cache == Cache::all)
        row.memory.rows = static_cast<std::uint64_t>(row.data_bytes / std::max(1, workers));
    row.memory.rank0 = k_rank0 + k_of_trial * static_cast<std::uint64_t>(prepared.plan.trials) +
                       k_of_lap * static_cast<std::uint64_t>(prepared.plan.epochs) +
                       k_of_trainer * static_cast<std::uint64_t>(prepared.trainers) + largest.state;
}

std::vector<StrategyForecast> rows_of(PreparedRun& prepared, PlannedRun const& planned, PlanBasis const& basis) {
    auto const own = prepared.experiment.strategy;
    auto const largest = largest_trial(prepared);
    std::vector<StrategyForecast> out;
    for (auto const& name : strategy_names()) {
        auto const strategy = planned.settings_of(name);
        if (auto reason = planned.refusal_of(strategy); !reason.empty()) {
            out.emplace_back().strategy = strategy;
            out.back().refused = std::move(reason);
            continue;
        }
        auto const what = planned.case_of(strategy);
        auto& row = out.emplace_back(forecast(basis, what));
        prepared.experiment.strategy = strategy;
        add_storage(row, prepared, largest, what.workers);
        prepared.experiment.strategy = own;
    }
    return out;
}

// Both strategies with all rows of an epoch in one piece: the answer must not depend on remainders.
std::optional<Crossovers> crossovers_of(PreparedRun const& prepared, PlannedRun const& planned, PlanBasis const& basis) {
    auto const strategy = planned.settings_of("allreduce");
    auto const what = planned.case_of(planned.settings_of("mop"));
    if (!basis.knows_seconds || what.workers < 2) return std::nullopt;
    Contest contest;
    contest.cluster = {what.workers, basis.link};
    contest.hops_per_lap = what.hops_per_lap;
    contest.use.collective = strategy.algorithm == ReduceAlgorithm::deterministic ? Collective::direct : Collective::ring;
    contest.use.bucket_bytes = std::max<std::int64_t>(1, static_cast<std::int64_t>(strategy.bucket_mb * (1 << 20)));
    contest.use.batch = strategy.batch;
    for (auto const& trial : planned.trials())
        contest.work.models.push_back({trial.epochs, trial.rows, trial.batch, trial.fixed_s, trial.row_s, trial.validation_s,
                                       trial.weight_bytes, trial.optimizer_bytes});
    std::int64_t largest = prepared.manifest.train.front().rows;
    for (auto const& shard : prepared.manifest.train) largest = std::min(largest, shard.rows);
    constexpr double k_close = 1.1;
    return Crossovers{batch_crossover(contest, largest), batch_crossover(contest, largest, k_close),
                      bandwidth_crossover(contest), bandwidth_crossover(contest, k_close)};
}

void add_simulation(TrainersForecast& out, PlanOptions const& options, PlannedRun const& planned, bool knows_seconds) {
    if (!options.gantt_columns) return;
    if (planned.tasks().empty() || !planned.simulated_s()) {
        out.notes.push_back(
            "no simulation of mop (results may end the search at any time, or the search is too large); hours are bounds");
        return;
    }
    out.simulated_s = planned.simulated_s();
    out.simulated_busy = planned.simulated_busy();
    GanttFrame const frame{out.trainers, planned.shards(), planned.tasks_makespan(), *options.gantt_columns,
                           time_text(*out.simulated_s, knows_seconds)};
    out.simulation = gantt_text(planned.tasks(), frame);
}

class Planner {
public:
    explicit Planner(PlanOptions const& options) : options_(options) {
        report_.assumptions = options.assumptions;
        report_.basis.link = options.link;
        report_.basis.price_per_trainer_hour = options.price_per_trainer_hour;
    }

    PlanReport report() {
        for (int const trainers : options_.trainers) {
            auto prepared = prepared_for(options_, trainers);
            if (!costs_) costs_ = std::make_unique<CostTable>(options_.costs, prepared);
            PlannedRun const planned(prepared, *costs_);
            if (report_.forecasts.empty()) begin(prepared, planned);
            add(prepared, planned);
        }
        return std::move(report_);
    }

private:
    void begin(PreparedRun const& prepared, PlannedRun const& planned) {
        report_.experiment = prepared.experiment.name;
        report_.dataset = prepared.experiment.data.path;
        report_.trials = static_cast<std::int64_t>(planned.trials().size());
        report_.epochs = all_epochs(planned.trials());
        report_.rows = prepared.schema.train_rows;
        report_.shards = prepared.shards;
        report_.basis.dataset_bytes = planned.dataset_bytes();
        report_.basis.knows_seconds = costs_->knows_seconds();
        report_.costs = costs_->source();
        add_assumptions(planned);
        auto const costs = planned.unit_costs();
        auto const& search = prepared.experiment.search;
        auto const decides = prepared.decides ? std::optional<std::int64_t>(2 * prepared.shards) : std::nullopt;
        report_.curve = trainer_curve({policy_named(prepared.experiment.strategy.policy), costs, prepared.shards,
                                       search.in_flight ? search.in_flight : decides, options_.trainers});
    }

    void add_assumptions(PlannedRun const& planned) {
        auto const assume = [&](std::string text) { report_.assumptions.push_back(std::move(text)); };
        if (!costs_->knows_seconds())
            assume("seconds not known: times are multiples of W, by FLOPs; --like RUN_DIR or --seconds-per-row sets them");
        if (!costs_->knows_seconds() && options_.price_per_trainer_hour) assume("no price of strategies: it needs seconds");
        if (costs_->knows_seconds() && !costs_->knows_fixed())
            assume(
                "a step's own cost not known: 0 s besides its rows, which flatters allreduce and parameter_server; "
                "--seconds-per-step or a second --like with another batch size sets it");
        if (!costs_->knows_validation())
            assume("validation not known: a third of a training row's cost; --seconds-per-validation sets it");
        if (planned.spread_evenly()) assume("the search goes by results: its epochs are spread evenly over known trials");
    }

    void add(PreparedRun& prepared, PlannedRun const& planned) {
        auto basis = report_.basis;
        basis.trials = planned.trials();
        TrainersForecast out;
        out.trainers = prepared.trainers;
        out.rows = rows_of(prepared, planned, basis);
        out.allreduce = crossovers_of(prepared, planned, basis);
        out.notes = prepared.notes;  // that no smaller number of trainers has
        for (auto const& earlier : report_.forecasts)
            std::erase_if(out.notes, [&](auto const& note) { return std::ranges::count(earlier.notes, note) > 0; });
        add_simulation(out, options_, planned, basis.knows_seconds);
        if (report_.forecasts.empty()) report_.basis = basis;
        report_.forecasts.push_back(std::move(out));
    }

    PlanOptions const& options_;
    std::unique_ptr<CostTable> costs_;
    PlanReport report_;
};

}  // namespace

PlanReport plan_run(PlanOptions const& options) { return Planner(options).report(); }

}  // namespace hopscotch
