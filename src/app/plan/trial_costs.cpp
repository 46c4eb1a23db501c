// SPDX-License-Identifier: Apache-2.0
#include "app/plan/trial_costs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "app/common/run_code.hpp"
#include "app/compare/run_work.hpp"
#include "app/job/prepare.hpp"
#include "app/plan/known_speed.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/line_fit.hpp"
#include "experiment/reader.hpp"
#include "model/zoo/zoo.hpp"
#include "run/past_run.hpp"
#include "schedule/director.hpp"

namespace hopscotch {
namespace {

// Trials with this in common take equally long.
std::string key_of(TrialConfig const& config, Assignment const& assignment, double flops) {
    return fmt::format("{} {} {:.6g}", to_json(assignment).dump(), config.train.batch_size, flops);
}

}  // namespace

double mean_flops(PreparedRun const& prepared) {
    auto const& trials = prepared.director->trials();
    double sum = 0;
    for (auto const& trial : trials) sum += flops_per_row(prepared.config_of(trial.assignment), prepared.schema);
    return sum / static_cast<double>(trials.size());
}

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
    std::set<std::string> code{past.experiment.model.file};
    for (auto const& [id, cost] : past.trials) code.insert(resolve(past.experiment, cost.assignment, directory).model.file);
    code.erase("");
    require_allowed(if_allowed(given_.allow_code), std::move(code), directory);
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
        steps_ += steps;
        seconds_ += steps * trial.step_s;
        flops_ += steps * trial.local_rows * flops;
        validation_s_ += measured.validation_s;
        validation_flops_ += flops;
    }
}

// Least squares, weighted by steps. One batch size alone cannot tell a step's own cost from that of its rows.
TrialCosts CostTable::fitted(Measured const& measured) const {
    LineFit fit;
    for (auto const& point : measured.points) fit.add(point.rows, point.step_s, point.steps);
    TrialCosts out{given_.step_s.value_or(0), 0, measured.validation_s};
    if (auto const slope = fit.slope(); slope && !given_.step_s) {
        out.row_s = std::clamp(*slope, 0.0, fit.mean_y() / fit.mean_x());
        out.fixed_s = fit.mean_y() - out.row_s * fit.mean_x();
        return out;
    }
    out.fixed_s = std::min(out.fixed_s, fit.mean_y());
    out.row_s = (fit.mean_y() - out.fixed_s) / fit.mean_x();
    return out;
}

TrialCosts CostTable::of(TrialConfig const& config, Assignment const& assignment, double mean_flops) const {
    double const flops = flops_per_row(config, schema_);
    double const share = mean_flops > 0 ? flops / mean_flops : 1;
    TrialCosts out;
    if (auto const found = measured_.find(key_of(config, assignment, flops)); found != measured_.end()) {
        out = fitted(found->second);
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
