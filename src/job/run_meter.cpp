// SPDX-License-Identifier: Apache-2.0
#include "job/run_meter.hpp"

#include <algorithm>

namespace hopscotch {

bool RunMeter::start(double now_s) {
    if (started_s_) return false;
    started_s_ = now_s;
    return true;
}

void RunMeter::begin(std::vector<TrialView> const& trials, std::map<TrialId, double> const& units) {
    for (auto const& trial : trials) before_[trial.id] = trial.epochs_done - trial.first_epoch;
    for (auto const& [trial, count] : units) before_[trial] += count / shards_;
}

double RunMeter::flops_of(std::vector<TrialView> const& trials, std::map<TrialId, double> const& units) {
    double sum = 0;
    for (auto const& [trial, count] : units) sum += count * trials[trial.index()].unit_cost;
    return sum;
}

void RunMeter::learn(LapRecord const& record, TrialView const& trial) {
    unit_s(trial);
    // Of many units a sample is enough; another lap takes others.
    constexpr std::size_t k_most_units = 64;
    auto const& kind = kinds_.at(trial.id);
    auto const stride = record.units.size() / k_most_units + 1;
    for (auto u = laps_++ % stride; u < record.units.size(); u += stride)
        times_.learn(kind, record.units[u].trainer, record.units[u].rows, record.units[u].seconds);
}

double RunMeter::unit_s(TrialView const& trial) {
    auto const [found, is_new] = kinds_.try_emplace(trial.id);
    if (is_new) found->second = {trial.unit_cost, trial.config->train.batch_size};
    return times_.seconds(found->second);
}

RunMeter::Work RunMeter::work(std::vector<TrialView> const& trials, double flops_ahead, double planned_epochs) {
    Work out;
    double epochs = 0, here_s = 0, running_s = 0, running_flops = 0;
    bool ended = true;
    for (auto const& trial : trials) {
        auto const lap_s = shards_ * unit_s(trial);
        auto const wanted = (has_ended(trial.status) ? trial.epochs_done : trial.epochs_wanted) - trial.first_epoch;
        epochs += wanted;
        out.total += wanted * lap_s;
        auto const found = before_.find(trial.id);
        auto const before = found == before_.end() ? 0 : found->second;
        auto const here = trial.epochs_done - trial.first_epoch - before;  // negative: a part of the lap that goes on
        out.before += before * lap_s;
        here_s += std::max(0.0, here) * lap_s;
        flops_ahead -= std::max(0.0, -here) * shards_ * trial.unit_cost;
        ended = ended && has_ended(trial.status);
        if (trial.status != TrialStatus::running) continue;
        running_s += lap_s / shards_;
        running_flops += trial.unit_cost;
    }
    if (planned_epochs > epochs && epochs > 0) out.total *= planned_epochs / epochs;
    if (running_flops > 0) here_s += std::max(0.0, flops_ahead) * running_s / running_flops;
    constexpr double k_nearly = 0.999;  // a trial that has not ended has work left: its validation
    out.done = std::min(out.before + here_s, (ended ? 1 : k_nearly) * out.total);
    out.before = std::min(out.before, out.done);
    return out;
}

}  // namespace hopscotch
