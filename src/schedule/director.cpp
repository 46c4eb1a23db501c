// SPDX-License-Identifier: Apache-2.0
#include "schedule/director.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "core/error.hpp"
#include "experiment/reader.hpp"
#include "schedule/lap_metric.hpp"

namespace hopscotch {

std::string_view name_of(TrialStatus status) {
    constexpr std::array<std::string_view, 8> names{"waiting", "running",  "finished", "stopped",
                                                    "paused",  "diverged", "failed",   "interrupted"};
    return names[static_cast<std::size_t>(status)];
}

bool has_ended(TrialStatus status) {
    return status != TrialStatus::waiting && status != TrialStatus::running && status != TrialStatus::paused;
}

Director::Director(Experiment const& experiment, std::function<double(Assignment const&)> unit_cost, int shards,
                   std::int64_t in_flight)
    : search_(make_search(experiment)), metric_(experiment.search.metric), shards_(shards), in_flight_(in_flight) {
    require(shards >= 1 && in_flight >= 1, "a director needs at least one shard and one trial in flight");
    if (!search_->decides_nothing())
        throw ConfigError(fmt::format(
            "/search/procedure: \"{}\" decides on the way, which is not available in this version (use grid or random)",
            experiment.search.procedure));
    while (auto proposal = search_->next()) {
        auto const cost = unit_cost(proposal->assignment);
        add(std::move(*proposal), experiment, cost);
    }
    // Stable: equals stay in the order of their ids.
    std::stable_sort(waiting_.begin(), waiting_.end(), [&](TrialId a, TrialId b) {
        auto const total = [&](TrialId id) { return trials_[id.index()].unit_cost * trials_[id.index()].epochs_wanted; };
        return total(a) > total(b);
    });
}

void Director::add(Proposal proposal, Experiment const& experiment, double unit_cost) {
    Problems told("");  // what is wrong with an assignment was said when the experiment was read
    auto const train = resolve(experiment, proposal.assignment, told).train;
    TrialView view;
    view.id = proposal.trial;
    view.assignment = std::move(proposal.assignment);
    view.epochs_wanted = proposal.until_epoch;
    view.unit_cost = unit_cost;
    waiting_.push_back(view.id);
    trials_.push_back(std::move(view));
    plans_.push_back({train.loss, EarlyStop(train.early_stopping, metric_, experiment.search.mode)});
}

std::vector<Lap> Director::release() {
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

void Director::release_laps(TrialId trial, std::vector<Lap>& out) {
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

void Director::record(LapRecord const& record) {
    require(record.trial.value >= 0 && record.trial.index() < trials_.size(),
            fmt::format("a record of trial {} (there are {} trials)", record.trial.value, trials_.size()));
    auto& view = trials_[record.trial.index()];
    // A lap that was on its way when its trial ended, or one that an earlier attempt has delivered.
    if (view.status != TrialStatus::running || record.epoch < view.epochs_done) return;
    bool const good = record.outcome == Outcome::finished;
    require(!good || record.epoch == view.epochs_done,
            fmt::format("lap {} of trial {} came before lap {}", record.epoch, view.id.value, view.epochs_done));
    auto const value = good ? lap_metric(record, metric_, plans_[view.id.index()].loss) : k_no_score;
    search_->report({view.id, record.epoch, std::isfinite(value) ? std::optional(value) : std::nullopt});
    if (good) return end_lap(view, value);
    view.status = record.outcome == Outcome::diverged ? TrialStatus::diverged : TrialStatus::failed;
    view.reason = record.reason;
}

void Director::end_lap(TrialView& view, double value) {
    auto& stop = plans_[view.id.index()].stop;
    stop.observe(view.epochs_done++, value);
    if (view.epochs_done == view.epochs_wanted) {
        view.status = TrialStatus::finished;
    } else if (stop.due()) {
        view.status = TrialStatus::stopped;
        view.reason = stop.reason();
    }
}

void Director::interrupt() {
    interrupted_ = true;
    waiting_.clear();
    for (auto& view : trials_)
        if (view.status == TrialStatus::waiting || view.status == TrialStatus::running) {
            view.status = TrialStatus::interrupted;
            view.reason = "the run was interrupted";
        }
}

bool Director::finished() const {
    return std::none_of(trials_.begin(), trials_.end(), [](TrialView const& view) {
        return view.status == TrialStatus::waiting || view.status == TrialStatus::running;
    });
}

}  // namespace hopscotch
