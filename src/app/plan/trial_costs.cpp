// SPDX-License-Identifier: Apache-2.0
#include "app/plan/trial_costs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "app/compare/run_work.hpp"
#include "app/job/prepare.hpp"
#include "app/plan/known_speed.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "experiment/reader.hpp"
#include "model/zoo/zoo.hpp"
#include "run/past_run.hpp"

namespace hopscotch {
namespace {

// Trials with this in common take equally long.
std::string key_of(TrialConfig const& config, Assignment const& assignment, double flops) {
    return fmt::format("{} {} {:.6g}", to_json(assignment).dump(), config.train.batch_size, flops);
}

}  // namespace

CostTable::CostTable(GivenCosts const& given, PreparedRun const& prepared)
    : given_(given),
      dataset_(prepared.experiment.data.path),
      dataset_hash_(to_hex(dataset_hash(prepared.manifest))),
      schema_(prepared.schema),
      validation_rows_(prepared.manifest.rows(Split::valid)) {
    if (given_.like.empty() && !given_.row_s)
        if (auto const known = known_speed(prepared)) given_.like.push_back(known->run);
    for (auto const& directory : given_.like) add_run(directory);
    if (!given_.like.empty() && measured_.empty())
        throw ConfigError(fmt::format("--like {}: has no finished epoch (nothing was measured); name another run",
                                      fmt::join(given_.like, " --like ")));
}

void CostTable::add_run(std::string const& directory) {
    auto const past = read_past_costs(directory);
    if (past.facts.dataset_hash != dataset_hash_)
        throw ConfigError(
            fmt::format("--like {}: its costs do not fit (it was trained on another dataset); name a run on {}, or give "
                        "--seconds-per-row",
                        directory, dataset_));
    auto const work = read_work(read_compared_run(directory));
    for (auto const& [id, trial] : work.trials) {
        auto const found = past.trials.find(id);
        if (found == past.trials.end() || trial.steps == 0) continue;
        auto const config = resolve(past.experiment, found->second.assignment, directory);
        double const flops = flops_per_row(config, schema_);
        auto& measured = measured_[key_of(config, found->second.assignment, flops)];
        for (auto const& point : measured.points)
            several_batches_ = several_batches_ || std::abs(point.rows - trial.local_rows) > 0.01 * point.rows;
        measured.points.push_back({trial.local_rows, trial.step_s, static_cast<double>(trial.steps)});
        measured.validation_s = trial.validation_s * (work.group() ? work.workers : 1);  // a group validates in parts
        auto const steps = static_cast<double>(trial.steps);
        seconds_ += steps * trial.step_s;
        flops_ += steps * trial.local_rows * flops;
        validation_s_ += measured.validation_s;
        validation_flops_ += flops;
    }
}

// Least squares, weighted by steps. One batch size alone cannot tell a step's own cost from that of its rows.
TrialCosts CostTable::fitted(Measured const& measured) const {
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (auto const& point : measured.points) {
        n += point.steps;
        x += point.steps * point.rows;
        y += point.steps * point.step_s;
        xx += point.steps * point.rows * point.rows;
        xy += point.steps * point.rows * point.step_s;
    }
    TrialCosts out{given_.step_s.value_or(0), 0, measured.validation_s};
    double const spread = n * xx - x * x;
    if (!given_.step_s && spread > 1e-9 * n * xx) {
        double const per_row = std::clamp((n * xy - x * y) / spread, 0.0, y / x);
        return {(y - per_row * x) / n, per_row, measured.validation_s};
    }
    out.fixed_s = std::min(out.fixed_s, y / n);
    out.row_s = (y - out.fixed_s * n) / x;
    return out;
}

TrialCosts CostTable::of(TrialConfig const& config, Assignment const& assignment, double mean_flops) const {
    double const flops = flops_per_row(config, schema_);
    double const share = mean_flops > 0 ? flops / mean_flops : 1;
    TrialCosts out;
    if (auto const found = measured_.find(key_of(config, assignment, flops)); found != measured_.end()) {
        out = fitted(found->second);
    } else if (!measured_.empty() && flops_ > 0) {
        out = {given_.step_s.value_or(0), flops * seconds_ / flops_, flops * validation_s_ / validation_flops_};
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
