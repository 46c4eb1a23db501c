// SPDX-License-Identifier: Apache-2.0
#include "analysis/plan/plan_run.hpp"

#include <algorithm>
#include <memory>

#include "analysis/plan/plan_rows.hpp"
#include "analysis/plan/planned_run.hpp"
#include "job/prepare.hpp"

namespace hopscotch {
namespace {

PreparedRun prepared_for(PlanOptions const& options, int trainers) {
    auto run = options.run;
    run.dry_run = run.overwrite = true;  // a plan may be made although the run exists
    return prepare_run(run, [trainers](RunConfig const&) { return trainers; });
}

std::int64_t all_epochs(std::vector<PlannedTrial> const& trials) {
    std::int64_t out = 0;
    for (auto const& trial : trials) out += trial.epochs;
    return out;
}

// columns: of the chart.
void add_simulation(TrainersForecast& out, PlannedRun const& planned, std::size_t columns) {
    out.simulation = planned.gantt(columns);
    if (out.simulation.empty()) {
        out.notes.push_back(
            "no simulation of mop (results may end the search at any time, or the search is too large); hours are bounds");
        return;
    }
    out.simulated_s = planned.simulated_s();
    out.simulated_busy = planned.simulated_busy();
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
            PlannedRun const planned(prepared, *costs_, options_.link);
            if (report_.forecasts.empty()) begin(prepared, planned);
            add(prepared, planned);
        }
        return std::move(report_);
    }

private:
    void begin(PreparedRun const& prepared, PlannedRun const& planned) {
        report_.experiment = prepared.inputs.experiment.name;
        report_.dataset = prepared.inputs.experiment.data.path;
        auto const& plan = prepared.plan.search;
        report_.trials = plan.trials;
        report_.epochs = plan.bound() == SearchPlan::Bound::exact ? plan.most : all_epochs(planned.trials());
        report_.sums = sums_text(plan);
        report_.least_epochs = plan.least;
        report_.most_epochs = plan.most;
        report_.rows = prepared.inputs.schema.train_rows;
        report_.shards = prepared.shard_files();
        report_.basis.dataset_bytes = planned.dataset_bytes();
        report_.basis.knows_seconds = costs_->knows_seconds();
        report_.costs = costs_->source();
        add_assumptions(planned);
        if (prepared.inputs.experiment.strategy.group_size > 1) return;  // the curve is one of trainers
        auto const costs = planned.unit_costs();
        bool const by_trainers = !prepared.plan.decides && !prepared.inputs.experiment.search.in_flight;
        auto const in_flight = by_trainers ? std::nullopt : std::optional(prepared.plan.admits);
        bool const hops = is_hopping(prepared);
        report_.curve = trainer_curve({planned.policy(), costs, prepared.plan.shards, in_flight, options_.trainers,
                                       hops ? owners_by(prepared) : StrategyConfig().owners});
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
        if (costs_->of_other_step())
            assume(
                "costs of some trials were measured with another train.engine, whose steps have another speed; --like a run "
                "with the same one");
        if (!costs_->knows_validation())
            assume("validation not known: a third of a training row's cost; --seconds-per-validation sets it");
        if (planned.spread_evenly()) assume("the search goes by results: its epochs are spread evenly over known trials");
    }

    void add(PreparedRun const& prepared, PlannedRun const& planned) {
        auto basis = report_.basis;
        basis.trials = planned.trials();
        TrainersForecast out;
        out.trainers = prepared.fleet.trainers;
        out.rows = rows_of(prepared, planned, basis);
        out.allreduce = crossovers_of(prepared, planned, basis);
        out.notes = prepared.notes.warnings;  // that no smaller number of trainers has
        for (auto const& earlier : report_.forecasts)
            std::erase_if(out.notes, [&](auto const& note) { return std::ranges::count(earlier.notes, note) > 0; });
        if (auto groups = proposed_groups(prepared, planned, basis); !groups.empty()) out.notes.push_back(std::move(groups));
        if (options_.gantt_columns) add_simulation(out, planned, *options_.gantt_columns);
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
