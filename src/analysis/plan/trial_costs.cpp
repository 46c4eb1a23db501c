// SPDX-License-Identifier: Apache-2.0
#include "analysis/plan/trial_costs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "analysis/cost/run_work.hpp"
#include "analysis/plan/known_speed.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "direct/trial_view.hpp"
#include "experiment/reader.hpp"
#include "job/prepared_run.hpp"
#include "job/run_code.hpp"
#include "model/zoo/zoo.hpp"
#include "rundir/recorded_run.hpp"

namespace hopscotch {
namespace {

// Trials with this in common take equally long.
std::string key_of(TrialConfig const& config, Assignment const& assignment, double flops) {
    return fmt::format("{} {} {:.6g}", to_json(assignment).dump(), config.train.batch_size, flops);
}

}  // namespace

double mean_flops(PreparedRun const& prepared) {
    auto const& trials = prepared.trials();
    double sum = 0;
    for (auto const& trial : trials) sum += flops_per_row(*trial.config, prepared.inputs.schema);
    return sum / static_cast<double>(trials.size());
}

CostTable::CostTable(GivenCosts const& given, PreparedRun const& prepared)
    : given_(given),
      dataset_(prepared.inputs.experiment.data.path),
      dataset_hash_(to_hex(dataset_hash(prepared.inputs.manifest))),
      schema_(prepared.inputs.schema),
      validation_rows_(prepared.inputs.manifest.rows(Split::valid)),
      engine_(prepared.inputs.experiment.train.arithmetic.engine) {
    if (given_.like.empty() && !given_.row_s)
        if (auto const known = known_speed(prepared)) given_.like.push_back(known->run);
    for (auto const& directory : given_.like) add_run(directory);
    if (!given_.like.empty() && measured_.empty())
        throw ConfigError(fmt::format("--like {}: has no finished epoch (nothing was measured); name another run",
                                      fmt::join(given_.like, " --like ")));
}

void CostTable::add_run(std::string const& directory) {
    auto const past = read_run(directory);
    if (past.facts.dataset_hash != dataset_hash_)
        throw ConfigError(
            fmt::format("--like {}: its costs do not fit (it was trained on another dataset); name a run on {}, or give "
                        "--seconds-per-row",
                        directory, dataset_));
    auto const work = work_of(past);
    std::set<std::string> code{past.experiment.model.file};
    std::map<TrialId, TrialConfig> configs;
    for (auto const& [id, trial] : work.trials)
        if (trial.finished_epochs > 0) code.insert(configs.emplace(id, past.config_of(id)).first->second.model.file);
    code.erase("");
    require_allowed(if_allowed(given_.allow_code), std::move(code), directory);
    for (auto const& [id, trial] : work.trials) {
        if (trial.finished_epochs == 0 || trial.steps == 0) continue;
        auto const& config = configs.at(id);
        double const flops = flops_per_row(config, schema_);
        auto const steps = static_cast<double>(trial.steps);
        auto& measured = measured_[key_of(config, trial.assignment, flops)];
        measured.times.add(trial.local_rows, trial.step_s, steps);
        of_other_step_ = of_other_step_ || !by_same_step(config, engine_);
        several_batches_ = several_batches_ || measured.times.several_sizes();
        measured.validation_s = trial.validation_s * (work.group() ? work.workers : 1);  // a group validates in parts
        steps_ += steps;
        seconds_ += steps * trial.step_s;
        flops_ += steps * trial.local_rows * flops;
        validation_s_ += measured.validation_s;
        validation_flops_ += flops;
    }
}

TrialCosts CostTable::of(TrialConfig const& config, Assignment const& assignment, double mean_flops) const {
    double const flops = flops_per_row(config, schema_);
    double const share = mean_flops > 0 ? flops / mean_flops : 1;
    TrialCosts out;
    if (auto const found = measured_.find(key_of(config, assignment, flops)); found != measured_.end()) {
        auto const& measured = found->second;
        auto const step = measured.times.fitted(given_.step_s);
        out = {step.fixed_s, step.row_s, measured.validation_s};
    } else if (!measured_.empty() && flops_ > 0) {
        double const step_s = given_.step_s.value_or(0);
        out = {step_s, flops * std::max(0.0, seconds_ - steps_ * step_s) / flops_,
               flops * validation_s_ / validation_flops_};
    } else {
        out.fixed_s = given_.step_s.value_or(0);
        out.row_s = given_.row_s ? *given_.row_s * share : flops;
        out.validation_s = k_forward_share * out.row_s * static_cast<double>(validation_rows_);
    }
    if (given_.row_s) out.row_s = *given_.row_s * share;
    if (given_.valid_s) out.validation_s = *given_.valid_s * share;
    return out;
}

std::string CostTable::source() const {
    if (given_.row_s) return "as given";
    return measured_.empty() ? "" : fmt::format("measured in {}", fmt::join(given_.like, " and "));
}

}  // namespace hopscotch
