// SPDX-License-Identifier: Apache-2.0
#include "schedule/director.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/error.hpp"

namespace hopscotch {

std::string_view name_of(TrialStatus status) {
    constexpr std::array<std::string_view, 8> names{"waiting", "running",  "finished", "stopped",
                                                    "paused",  "diverged", "failed",   "interrupted"};
    return names[static_cast<std::size_t>(status)];
}

std::optional<double> metric_of(LapRecord const& record, std::string_view metric) {
    double sum = record.valid_loss;
    double rows = static_cast<double>(record.valid_rows);
    if (metric == "val_accuracy") sum = record.valid_correct;
    if (metric == "val_top5") sum = record.valid_top5;
    if (metric == "train_loss") {
        sum = rows = 0;
        for (auto const& unit : record.units) {
            sum += unit.loss_sum;
            rows += static_cast<double>(unit.rows);
        }
    }
    if (record.outcome != Outcome::finished || rows <= 0) return std::nullopt;
    return sum / rows;
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
        TrialView view;
        view.id = proposal->trial;
        view.assignment = std::move(proposal->assignment);
        view.epochs_wanted = proposal->until_epoch;
        view.unit_cost = unit_cost(view.assignment);
        waiting_.push_back(view.id);
        trials_.push_back(std::move(view));
    }
    // Stable: equals stay in the order of their ids.
    std::stable_sort(waiting_.begin(), waiting_.end(), [&](TrialId a, TrialId b) {
        auto const total = [&](TrialId id) { return trials_[id.index()].unit_cost * trials_[id.index()].epochs_wanted; };
        return total(a) > total(b);
    });
}

std::vector<Lap> Director::release() {
    std::vector<Lap> out;
    if (interrupted_) return out;
    auto const is_running = [](TrialView const& view) { return view.status == TrialStatus::running; };
    auto alive = std::count_if(trials_.begin(), trials_.end(), is_running);
    std::size_t admitted = 0;
    for (; admitted < waiting_.size() && alive < in_flight_; ++admitted, ++alive) {
        auto& view = trials_[waiting_[admitted].index()];
        view.status = TrialStatus::running;
        for (int epoch = 0; epoch < view.epochs_wanted; ++epoch) {
            Lap lap;
            lap.trial = view.id;
            lap.epoch = epoch;
            lap.remaining_cost = view.unit_cost * shards_ * (view.epochs_wanted - epoch);
            lap.assignment = view.assignment;
            out.push_back(std::move(lap));
        }
    }
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(admitted));
    return out;
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
    search_->report({view.id, record.epoch, metric_of(record, metric_)});
    if (good) {
        view.epochs_done = record.epoch + 1;
        if (view.epochs_done == view.epochs_wanted) view.status = TrialStatus::finished;
    } else {
        view.status = record.outcome == Outcome::diverged ? TrialStatus::diverged : TrialStatus::failed;
        view.reason = record.reason;
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
