// SPDX-License-Identifier: Apache-2.0
#include "schedule/undecided_director.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.hpp"
#include "experiment/reader.hpp"
#include "schedule/lap_metric.hpp"
#include "schedule/trial_end.hpp"

namespace hopscotch {

UndecidedDirector::UndecidedDirector(Experiment const& experiment, std::unique_ptr<Search> search,
                                     DirectorOptions const& options)
    : experiment_(experiment),
      search_(std::move(search)),
      unit_cost_(options.unit_cost),
      shards_(options.shards),
      in_flight_(options.in_flight > 0 ? options.in_flight : INT64_MAX) {
    while (auto proposal = search_->next()) add(std::move(*proposal));
    // Stable: equals stay in the order of their ids.
    std::stable_sort(waiting_.begin(), waiting_.end(), [&](TrialId a, TrialId b) {
        auto const total = [&](TrialId id) { return trials_[id.index()].unit_cost * trials_[id.index()].epochs_wanted; };
        return total(a) > total(b);
    });
}

void UndecidedDirector::add(Proposal proposal) {
    Problems told("");  // what is wrong with an assignment was said when the experiment was read
    auto const train = resolve(experiment_, proposal.assignment, told).train;
    TrialView view;
    view.id = proposal.trial;
    view.unit_cost = unit_cost_(proposal.assignment);
    view.assignment = std::move(proposal.assignment);
    view.epochs_wanted = proposal.until_epoch;
    waiting_.push_back(view.id);
    trials_.push_back(std::move(view));
    plans_.push_back({train.loss, EarlyStop(train.early_stopping, experiment_.search.metric, experiment_.search.mode)});
    plans_.back().epochs = train.epochs;
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
        if (plan.source && plan.source->epoch + 1 == lap.epoch) lap.clone_of = plan.source;
        out.push_back(std::move(lap));
    }
    trials_[trial.index()].epochs_released = plan.released;
}

void UndecidedDirector::record(LapRecord const& record) {
    require(record.trial.value >= 0 && record.trial.index() < trials_.size(),
            fmt::format("a record of trial {} (there are {} trials)", record.trial.value, trials_.size()));
    if (interrupted_) return;
    for (auto const& order : record.orders)
        if (order.kind == Order::Kind::finish) finish(order.why);  // nor does this trial go on
    take(record);
    for (auto const& order : record.orders) obey(order);
    begin_clones();
}

void UndecidedDirector::take(LapRecord const& record) {
    auto& view = trials_[record.trial.index()];
    // A lap that was on its way when its trial ended, or one that an earlier attempt has delivered.
    if (view.status != TrialStatus::running || record.epoch < view.epochs_done) return;
    bool const good = record.outcome == Outcome::finished;
    require(!good || record.epoch == view.epochs_done,
            fmt::format("lap {} of trial {} came before lap {}", record.epoch, view.id.value, view.epochs_done));
    auto const& search = experiment_.search;
    auto& plan = plans_[view.id.index()];
    auto const value = good ? lap_metric(record, search.metric, plan.loss) : k_no_score;
    plan.told = objective_value(search, plan.told, value);
    if (plan.known) search_->report({view.id, record.epoch, search_loss(plan.told, search.mode)});
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
    } else if (!finish_.empty()) {
        view.status = TrialStatus::stopped;
        view.reason = finish_;
    }
}

void UndecidedDirector::obey(Order const& order) {
    if (order.kind == Order::Kind::finish) return finish(order.why);
    require(order.trial.value >= 0 && order.trial.index() < trials_.size(), "an order for a trial that does not exist");
    if (order.kind == Order::Kind::clone) return clones_.push_back(order);
    auto& view = trials_[order.trial.index()];
    return order.kind == Order::Kind::stop ? stop(view, order.why) : resume(view);
}

void UndecidedDirector::stop(TrialView& view, std::string const& why) {
    if (has_ended(view.status)) return;
    auto& plan = plans_[view.id.index()];
    if (std::exchange(plan.known, false)) search_->report({view.id, view.epochs_done, std::nullopt});
    std::erase(waiting_, view.id);
    view.status = TrialStatus::stopped;
    view.reason = why;
}

// To the end of its epochs, whatever its early stopping says. Laps that came to nothing are released again.
void UndecidedDirector::resume(TrialView& view) {
    auto& plan = plans_[view.id.index()];
    if (!finish_.empty() || view.status != TrialStatus::stopped || view.epochs_done >= plan.epochs) return;
    plan.known = false;  // it has heard of the end
    plan.stop = EarlyStop({}, experiment_.search.metric, experiment_.search.mode);
    plan.released = view.epochs_released = view.epochs_done;
    view.epochs_wanted = plan.epochs;
    view.status = TrialStatus::running;
    view.reason.clear();
}

std::set<LapId> UndecidedDirector::ordered_sources() const {
    std::set<LapId> out;
    for (auto const& order : clones_) out.insert({order.trial, order.epoch});
    return out;
}

void UndecidedDirector::begin_clones() {
    for (auto& order : std::exchange(clones_, {})) clone(std::move(order));
}

void UndecidedDirector::clone(Order order) {
    auto const& source = trials_[order.trial.index()];
    auto const start = clone_start(order.epoch, {source.first_epoch, source.epochs_done}, !has_ended(source.status));
    if (!start) return clones_.push_back(std::move(order));
    Problems told("");  // what is wrong with the assignment was said to who gave the order
    auto const train = resolve(experiment_, order.assignment, told).train;
    if (!finish_.empty() || *start + 1 >= train.epochs) return;
    order.epoch = *start;
    int const first = order.epoch + 1;
    trials_.push_back(view_of_clone(TrialId(trials_.size()), order, train.epochs));
    trials_.back().unit_cost = unit_cost_(order.assignment);
    EarlyStop const early(train.early_stopping, experiment_.search.metric, experiment_.search.mode);
    plans_.push_back({train.loss, early, first, k_no_score, train.epochs, LapId{order.trial, order.epoch}, false});
}

// Who has a lap under way trains it to its end.
void UndecidedDirector::finish(std::string const& why) {
    if (!finish_.empty()) return;
    finish_ = why;
    for (auto const trial : std::exchange(waiting_, {})) {
        trials_[trial.index()].status = TrialStatus::stopped;
        trials_[trial.index()].reason = why;
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
