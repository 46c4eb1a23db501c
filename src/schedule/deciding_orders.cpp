// SPDX-License-Identifier: Apache-2.0
// What is not the search's to decide: the part of deciding_director.hpp that obeys orders.
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.hpp"
#include "experiment/reader.hpp"
#include "schedule/deciding_director.hpp"
#include "schedule/trial_end.hpp"

namespace hopscotch {

std::vector<DecidingDirector::Given> DecidingDirector::numbered(std::vector<Order> const& orders) {
    std::vector<Given> out;
    for (auto const& order : orders) {
        if (order.kind == Order::Kind::stop) stops_[order.trial].insert(given_);
        out.push_back({given_++, order});
    }
    return out;
}

// One may bring forth others: those that came with laps which will not be delivered.
void DecidingDirector::obey_orders() {
    while (!due_.empty()) {
        auto const given = std::move(due_.front());
        due_.pop_front();
        obey(given);
    }
}

void DecidingDirector::finish(std::string const& why) {
    if (finish_.empty()) finish_ = why;
}

void DecidingDirector::obey(Given const& given) {
    auto const& order = given.order;
    if (order.kind == Order::Kind::finish) return finish(order.why);
    require(order.trial.value >= 0 && order.trial.index() < trials_.size(), "an order for a trial that does not exist");
    auto& stops = stops_[order.trial];
    if (order.kind == Order::Kind::stop) {
        stops.erase(given.number);
        stop_apart(order);
        auto& plan = plan_of(order.trial);
        if (plan.resume && plan.resume->number < given.number) plan.resume.reset();  // it was the last word
        if (plan.resume && rests(order.trial)) resume_apart(*std::exchange(plan.resume, std::nullopt));
    } else if (order.kind == Order::Kind::clone) {
        clones_.push_back(order);
    } else if (!stops.empty() && *stops.begin() < given.number) {
        plan_of(order.trial).resume = given;
    } else {
        resume_apart(given);
    }
}

void DecidingDirector::stop_apart(Order const& order) {
    if (plan_of(order.trial).end) return;
    int const heard_of = plan_of(order.trial).reported;
    set_apart(order.trial);
    decide({Decision::Kind::stop, order.trial, heard_of - 1, 0, {}, order.why});
    close(order.trial, TrialStatus::stopped, order.why);
}

// On the clock: paused, or at its end.
bool DecidingDirector::rests(TrialId trial) {
    auto const& plan = plan_of(trial);
    return paused_.contains(trial) || (plan.end && plan.reported >= plan.begun);
}

void DecidingDirector::resume_apart(Given const& given) {
    auto const& order = given.order;
    if (!finish_.empty()) return;
    auto& plan = plan_of(order.trial);
    auto& view = trials_[order.trial.index()];
    if (!rests(order.trial)) {
        plan.resume = given;
        return;
    }
    bool const in_order = !plan.end || *plan.end == TrialStatus::stopped || *plan.end == TrialStatus::finished;
    if (!in_order || view.epochs_done >= plan.epochs) return;
    if (failed(plan)) plan.values.pop_back();  // a lap that was left, of which nothing came
    set_apart(order.trial);
    plan.end.reset();
    plan.why.clear();
    plan.until = plan.epochs;
    plan.released = view.epochs_released = plan.begun;
    view.status = TrialStatus::running;
    view.reason.clear();
    if (plan.source && plan.begun == plan.first) begin_as_clone(order.trial);  // it had not begun
    decide({Decision::Kind::resume, order.trial, plan.begun - 1, plan.until, {}, order.why});
    run_on(order.trial);
}

std::set<LapId> DecidingDirector::ordered_sources() const {
    std::set<LapId> out;
    for (auto const& order : clones_) out.insert({order.trial, order.epoch});
    for (auto const& [lap, orders] : orders_)
        for (auto const& given : orders)
            if (given.order.kind == Order::Kind::clone) out.insert({given.order.trial, given.order.epoch});
    return out;
}

void DecidingDirector::begin_clones() {
    for (auto& order : std::exchange(clones_, {})) clone_apart(std::move(order));
}

void DecidingDirector::clone_apart(Order order) {
    auto const& source = plan_of(order.trial);
    int const heard_of = std::min(source.reported, static_cast<int>(source.values.size()));
    int const good = heard_of - (failed(source) && heard_of == static_cast<int>(source.values.size()) ? 1 : 0);
    bool const rested = source.end && source.reported >= source.begun;
    auto const start = clone_start(order.epoch, {source.first, good}, !rested);
    if (!start) return clones_.push_back(std::move(order));
    Problems told("");  // what is wrong with the assignment was said to who gave the order
    auto const train = resolve(experiment_, order.assignment, told).train;
    if (!finish_.empty() || *start + 1 >= train.epochs) return;
    order.epoch = *start;
    int const first = order.epoch + 1;
    auto view = view_of_clone(TrialId(trials_.size()), order, train.epochs);
    view.unit_cost = options_.unit_cost(order.assignment);
    Plan plan{train.loss, EarlyStop(train.early_stopping, experiment_.search.metric, experiment_.search.mode)};
    plan.epochs = plan.until = train.epochs;
    plan.apart = true;
    plan.first = plan.begun = plan.reported = plan.released = first;
    plan.values.resize(static_cast<std::size_t>(first));  // finite ones: another's, of whom nobody asks
    plan.source = LapId{order.trial, order.epoch};
    auto const trial = view.id;
    trials_.push_back(std::move(view));
    plans_.push_back(std::move(plan));
    decide({Decision::Kind::clone, trial, order.epoch, train.epochs, {order.trial, order.epoch}, order.why});
    begin_as_clone(trial);
    run_on(trial);
}

void DecidingDirector::begin_as_clone(TrialId trial) {
    auto& plan = plan_of(trial);
    plan.clones[plan.first] = {*plan.source, trials_[trial.index()].assignment};
    pins_.hold(*plan.source);
}

// The search has no say in it from now on, and what was under way on the clock is forgotten. For the search it has failed:
// at once, or, if it has paused it, when it takes it up again.
void DecidingDirector::set_apart(TrialId trial) {
    auto& plan = plan_of(trial);
    bool const waits = paused_.erase(trial) > 0;
    bool const knows = !plan.apart && !plan.end && !waits;
    if (!plan.apart) plan.heard_of = plan.reported;
    plan.apart = true;
    if (knows) tell({trial, plan.heard_of, std::nullopt});
    clock_->forget(trial);
    if (plan.runs) --running_;
    plan.runs = false;
    // On the clock it may have become another since, which it never will in truth.
    if (!plan.clones.empty()) trials_[trial.index()].assignment = plan.clones.begin()->second.before;
    forget_clones(trial);
    for (auto each = orders_.lower_bound({trial, plan.reported}); each != orders_.end() && each->first.trial == trial;
         each = orders_.erase(each))
        due_.insert(due_.end(), each->second.begin(), each->second.end());
    plan.begun = plan.reported = static_cast<int>(plan.values.size());
    std::erase_if(out_, [&](Lap const& lap) { return lap.trial == trial; });
}

void DecidingDirector::hear_apart(LapId lap) {
    auto const& plan = plan_of(lap.trial);
    if (search_->clones() && lap.epoch > plan.first) pins_.reported(lap);
    if (failed(plan) && plan.reported == static_cast<int>(plan.values.size())) return bury(lap.trial);
    if (plan.reported >= plan.until) {
        decide({Decision::Kind::finish, lap.trial, lap.epoch});
        return close(lap.trial, TrialStatus::finished, "");
    }
    if (!finish_.empty()) return stop(lap.trial, finish_);
    run_on(lap.trial);
}

}  // namespace hopscotch
