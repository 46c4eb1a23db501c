// SPDX-License-Identifier: Apache-2.0
#include "analysis/plan/epoch_steps.hpp"

#include <algorithm>

#include "direct/trial_view.hpp"
#include "job/prepared_run.hpp"
#include "strategy/together/step_plan.hpp"

namespace hopscotch {

double trained_share(PreparedRun const& prepared) {
    int const folds = prepared.inputs.experiment.search.copies.folds;
    return folds > 1 ? (folds - 1.0) / folds : 1;
}

EpochSteps epoch_steps_in_groups(PreparedRun const& prepared, TrialId trial, StrategyConfig const& strategy) {
    auto const& config = *prepared.trials()[trial.index()].config;
    EpochSteps out{0, 0};
    for (int first = 0; first < prepared.shard_files(); first += strategy.group_size) {
        std::vector<ShardId> bundle;
        for (int k = 0; k < strategy.group_size; ++k) bundle.emplace_back(first + k);
        auto const plan = plan_of_bundle(prepared.inputs.manifest, bundle, strategy, config);
        out.steps += plan.steps();
        double most = 0;
        for (int k = 0; k < plan.trainers(); ++k) {
            double rows = 0;
            for (std::int64_t step = 0; step < plan.own_steps(k); ++step) rows += static_cast<double>(plan.rows(k, step));
            most = std::max(most, rows);
        }
        out.rows += most;
    }
    return out;
}

EpochSteps epoch_steps(PreparedRun const& prepared, TrialId trial, OwnerTable const& owners,
                       StrategyConfig const& strategy) {
    auto const& config = *prepared.trials()[trial.index()].config;
    auto const sizes = local_batches(strategy, config, static_cast<int>(group_of(owners).size()));
    auto const plan = make_step_plan({prepared.inputs.manifest, owners, config, trial, sizes});
    double const share = trained_share(prepared);
    EpochSteps out;
    out.steps = std::max<std::int64_t>(1, static_cast<std::int64_t>(share * static_cast<double>(plan.steps()) + 0.5));
    for (int trainer = 0; trainer < plan.trainers(); ++trainer) {
        double rows = 0;
        for (std::int64_t step = 0; step < plan.own_steps(trainer); ++step)
            rows += static_cast<double>(plan.rows(trainer, step));
        out.rows = std::max(out.rows, share * rows);
    }
    return out;
}

}  // namespace hopscotch
