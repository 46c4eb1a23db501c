// SPDX-License-Identifier: Apache-2.0
#include "schedule/undecided_director.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "experiment/reader.hpp"
#include "schedule/lap_metric.hpp"
#include "schedule/trial_end.hpp"

namespace hopscotch {

UndecidedDirector::UndecidedDirector(Experiment const& experiment, std::unique_ptr<Search> search,
                                     DirectorOptions const& options)
    : search_(std::move(search)),
      config_(experiment.search),
      shards_(options.shards),
      in_flight_(options.in_flight > 0 ? options.in_flight : INT64_MAX) {
    while (auto proposal = search_->next()) {
        auto const cost = options.unit_cost(proposal->assignment);
        add(std::move(*proposal), experiment, cost);
    }
    // Stable: equals stay in the order of their ids.
    std::stable_sort(waiting_.begin(), waiting_.end(), [&](TrialId a, TrialId b) {
        auto const total = [&](TrialId id) { return trials_[id.index()].unit_cost * trials_[id.index()].epochs_wanted; };
        return total(a) > total(b);
    });
}

void UndecidedDirector::add(Proposal proposal, Experiment const& experiment, double unit_cost) {
    Problems told("");  // what is wrong with an assignment was said when the experiment was read
    auto const train = resolve(experiment, proposal.assignment, told).train;
    TrialView view;
    view.id = proposal.trial;
    view.assignment = std::move(proposal.assignment);
    view.epochs_wanted = proposal.until_epoch;
    view.unit_cost = unit_cost;
    waiting_.push_back(view.id);
    trials_.push_back(std::move(view));
    plans_.push_back({train.loss, EarlyStop(train.early_stopping, config_.metric, config_.mode)});
}

std::vector<Lap> UndecidedDirector::release() {
    std::vector<Lap> out;
    if (interrupted_) return out;
    std::int64_t alive = 0;
    for (auto const& view : trials_) {
        if (view.status != TrialStatus::running) continue;
        ++alive;
        release_laps(view.id, out);
    }
    std::size_t admitted = 0;
    for (; admitted < waiting_.size() && alive < in_flight_; ++admitted, ++alive) {
        trials_[waiting_[admitted].index()].status = TrialStatus::running;
        release_laps(waiting_[admitted], out);
    }
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(admitted));
    return out;
}

void UndecidedDirector::release_laps(TrialId trial, std::vector<Lap>& out) {
    auto const& view = trials_[trial.index()];
    auto& plan = plans_[trial.index()];
    for (int const end = plan.stop.certain_laps(view.epochs_done, view.epochs_wanted); plan.released < end;
         ++plan.released) {
        Lap lap;
        lap.trial = trial;
        lap.epoch = plan.released;
        lap.remaining_cost = view.unit_cost * shards_ * (view.epochs_wanted - lap.epoch);
        lap.assignment = view.assignment;
        out.push_back(std::move(lap));
    }
}

void UndecidedDirector::record(LapRecord const& record) {
    require(record.trial.value >= 0 && record.trial.index() < trials_.size(),
            fmt::format("a record of trial {} (there are {} trials)", record.trial.value, trials_.size()));
    auto& view = trials_[record.trial.index()];
    // A lap that was on its way when its trial ended, or one that an earlier attempt has delivered.
    if (view.status != TrialStatus::running || record.epoch < view.epochs_done) return;
    bool const good = record.outcome == Outcome::finished;
    require(!good || record.epoch == view.epochs_done,
            fmt::format("lap {} of trial {} came before lap {}", record.epoch, view.id.value, view.epochs_done));
    auto& plan = plans_[view.id.index()];
    auto const value = good ? lap_metric(record, config_.metric, plan.loss) : k_no_score;
    plan.told = objective_value(config_, plan.told, value);
    search_->report({view.id, record.epoch, search_loss(plan.told, config_.mode)});
    if (good) return end_lap(view, value);
    view.status = status_of(record.outcome);
    view.reason = record.reason;
}

void UndecidedDirector::end_lap(TrialView& view, double value) {
    auto& stop = plans_[view.id.index()].stop;
    stop.observe(view.epochs_done++, value);
    if (view.epochs_done == view.epochs_wanted) {
        view.status = TrialStatus::finished;
    } else if (stop.due()) {
        view.status = TrialStatus::stopped;
        view.reason = stop.reason();
    }
}

void UndecidedDirector::interrupt() {
    interrupted_ = true;
    waiting_.clear();
    for (auto& view : trials_)
        if (view.status == TrialStatus::waiting || view.status == TrialStatus::running) {
            view.status = TrialStatus::interrupted;
            view.reason = "the run was interrupted";
        }
}

bool UndecidedDirector::finished() const {
    return std::none_of(trials_.begin(), trials_.end(), [](TrialView const& view) {
        return view.status == TrialStatus::waiting || view.status == TrialStatus::running;
    });
}

}  // namespace hopscotch
