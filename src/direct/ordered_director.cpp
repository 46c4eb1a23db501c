// SPDX-License-Identifier: Apache-2.0
#include "direct/ordered_director.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "core/ids.hpp"
#include "direct/deciding_director.hpp"
#include "direct/undecided_director.hpp"
#include "search/search.hpp"

namespace hopscotch {
namespace {

std::unique_ptr<SearchDirector> director_of(Experiment const& experiment, Search& search, Timeline& timeline) {
    if (timeline.decides()) return std::make_unique<DecidingDirector>(experiment, search, timeline);
    return std::make_unique<UndecidedDirector>(experiment, search, timeline);
}

// A clone was ordered after `epoch` of its source: the lap of the source after which it begins. That lap, or the source's
// last lap if the source has ended before. None: not yet. The source may reach that lap, or be resumed if it ended without
// any lap.
std::optional<int> clone_start(int epoch, TrialRun const& source) {
    int const heard_of = std::min(source.reported, source.known());
    int const good = source.failed && heard_of == source.known() ? heard_of - 1 : heard_of;
    bool const goes_on = !source.end || !source.all_reported();
    if (epoch >= good && (goes_on || good == source.first)) return std::nullopt;
    return std::min(epoch, good - 1);
}

}  // namespace

OrderedDirector::OrderedDirector(Experiment const& experiment, std::unique_ptr<Search> search, DirectorOptions options)
    : experiment_(experiment),
      timeline_(experiment_, std::move(options), *search),
      search_(std::move(search), timeline_),
      director_(director_of(experiment_, search_, timeline_)) {
    advance();
}

void OrderedDirector::record(LapRecord const& record) {
    require(record.trial.value >= 0 && record.trial.index() < trials().size(),
            fmt::format("a record of trial {} (there are {} trials)", record.trial.value, trials().size()));
    if (interrupted_) return;
    if (timeline_.take(record)) {
        if (!record.orders.empty()) orders_[record.id()] = numbered(record.orders);
    } else {
        for (auto& given : numbered(record.orders)) due_.push_back(std::move(given));
        obey_orders();
        if (!timeline_.decides()) begin_clones();
    }
    advance();
}

void OrderedDirector::interrupt() {
    interrupted_ = true;
    timeline_.interrupt();
}

// As far as the clock may go: not past the report of a lap whose record is missing.
void OrderedDirector::advance() {
    auto& clock = timeline_.clock();
    while (!over_ && !interrupted_) {
        while (auto const lap = clock.due()) {
            if (!timeline_.knows(*lap)) return;
            clock.pop();
            deliver(*lap);
        }
        director_->fill();
        auto const ended = clock.step();
        if (!ended && timeline_.running() > 0) return;  // by arrival, and nothing has arrived
        if (!ended) {
            // No trial runs, all is reported, and the search starts nothing. The search is pure: it never will in this
            // stage.
            director_->end_paused();
            begin_clones();
            over_ = timeline_.running() == 0 && !director_->grow();
        } else {
            for (auto const& lap : *ended) lap_over(lap);
        }
    }
}

void OrderedDirector::lap_over(LapId lap) {
    timeline_.lap_over(lap.trial);
    if (owned_.contains(lap.trial)) return timeline_.run_on(lap.trial);
    director_->run_on(lap.trial);
}

void OrderedDirector::deliver(LapId lap) {
    if (auto const orders = orders_.extract(lap)) due_.insert(due_.end(), orders.mapped().begin(), orders.mapped().end());
    for (auto const& given : due_)
        if (given.order.kind == Order::Kind::finish) finish(given.order.why);  // nor does this trial go on
    hear(lap);
    if (resumes_.contains(lap.trial) && rests(lap.trial)) resume(resumes_.extract(lap.trial).mapped());
    obey_orders();
    begin_clones();
}

void OrderedDirector::hear(LapId lap) {
    auto& run = timeline_.run(lap.trial);
    run.reported = lap.epoch + 1;
    if (run.end)  // the search has finished with the trial
        return run.failed && run.reported == run.known() ? timeline_.end_failed(lap.trial) : timeline_.show_end(lap.trial);
    if (owned_.contains(lap.trial)) return hear_owned(lap);
    director_->hear(lap);
}

void OrderedDirector::hear_owned(LapId lap) {
    auto& run = timeline_.run(lap.trial);
    if (timeline_.clones() && lap.epoch > run.first) timeline_.pins().reported(lap);
    if (run.failed && run.reported == run.known()) return timeline_.end_failed(lap.trial);
    run.stop.observe(lap.epoch, run.values[static_cast<std::size_t>(lap.epoch)].metric);
    if (run.reported >= run.until) {
        timeline_.decide({.kind = Decision::Kind::finish, .trial = lap.trial, .epoch = lap.epoch});
        return timeline_.end(lap.trial, TrialStatus::finished, "");
    }
    if (run.stop.due()) return end_owned(lap.trial, run.stop.reason());
    if (!finish_reason().empty()) return end_owned(lap.trial, finish_reason());
    timeline_.run_on(lap.trial);
    timeline_.release_certain(lap.trial);
}

void OrderedDirector::end_owned(TrialId trial, std::string const& why) {
    timeline_.decide({.kind = Decision::Kind::stop, .trial = trial, .epoch = timeline_.run(trial).reported - 1, .why = why});
    timeline_.end(trial, TrialStatus::stopped, why);
}

std::vector<OrderedDirector::Given> OrderedDirector::numbered(std::vector<Order> const& orders) {
    std::vector<Given> out;
    for (auto const& order : orders) {
        if (order.kind == Order::Kind::stop) stops_[order.trial].insert(given_);
        out.push_back({given_++, order});
    }
    return out;
}

// An order may set off others: orders that came with laps which will not be delivered.
void OrderedDirector::obey_orders() {
    while (!due_.empty()) {
        auto const given = std::move(due_.front());
        due_.pop_front();
        obey(given);
    }
}

void OrderedDirector::obey(Given const& given) {
    auto const& order = given.order;
    if (order.kind == Order::Kind::finish) return finish(order.why);
    require(order.trial.value >= 0 && order.trial.index() < trials().size(),
            fmt::format("an order for trial {} (there are {} trials)", order.trial.value, trials().size()));
    auto const& stops = stops_[order.trial];
    if (order.kind == Order::Kind::clone) return clones_.push_back(order);
    if (order.kind == Order::Kind::stop) return stop(given);
    if (!stops.empty() && *stops.begin() < given.number)
        resumes_[order.trial] = given;
    else
        resume(given);
}

void OrderedDirector::finish(std::string const& why) {
    if (!finish_reason().empty()) return;
    timeline_.finish(why);
    director_->finish();
}

void OrderedDirector::stop(Given const& given) {
    auto const trial = given.order.trial;
    stops_[trial].erase(given.number);
    if (auto const& run = timeline_.run(trial); !run.end) {
        int const heard_of = run.reported;
        take_over(trial);
        timeline_.decide({.kind = Decision::Kind::stop, .trial = trial, .epoch = heard_of - 1, .why = given.order.why});
        timeline_.end(trial, TrialStatus::stopped, given.order.why);
    }
    auto const waits = resumes_.find(trial);
    if (waits == resumes_.end()) return;
    if (waits->second.number < given.number)  // the stop is the later order
        resumes_.erase(waits);
    else if (rests(trial))
        resume(resumes_.extract(waits).mapped());
}

// On the clock: paused, or at its end.
bool OrderedDirector::rests(TrialId trial) {
    auto const& run = timeline_.run(trial);
    return director_->paused(trial) || (run.end && run.all_reported());
}

void OrderedDirector::resume(Given const& given) {
    auto const& order = given.order;
    if (!finish_reason().empty()) return;
    auto& run = timeline_.run(order.trial);
    auto& view = timeline_.view(order.trial);
    if (!rests(order.trial)) {
        if (timeline_.decides()) resumes_[order.trial] = given;  // else it trains, and has nothing to wait for
        return;
    }
    bool const in_order = !run.end || *run.end == TrialStatus::stopped || *run.end == TrialStatus::finished;
    if (!in_order || view.epochs_done >= run.epochs) return;
    if (std::exchange(run.failed, false)) run.values.pop_back();  // a lap that the trial left before its end
    take_over(order.trial);
    run.end.reset();
    run.why.clear();
    run.until = run.epochs;
    run.released = view.epochs_released = run.begun;
    view.status = TrialStatus::running;
    view.reason.clear();
    if (run.begun == run.first && sources_.contains(order.trial)) become_clone(order.trial);  // it had not begun
    timeline_.decide({.kind = Decision::Kind::resume,
                      .trial = order.trial,
                      .epoch = run.begun - 1,
                      .until_epoch = run.until,
                      .why = order.why});
    timeline_.run_on(order.trial);
}

std::set<LapId> OrderedDirector::ordered_sources() const {
    std::set<LapId> out;
    for (auto const& order : clones_) out.insert({order.trial, order.epoch});
    for (auto const& [lap, orders] : orders_)
        for (auto const& given : orders)
            if (given.order.kind == Order::Kind::clone) out.insert({given.order.trial, given.order.epoch});
    return out;
}

void OrderedDirector::begin_clones() {
    for (auto& order : std::exchange(clones_, {})) begin_clone(std::move(order));
}

void OrderedDirector::begin_clone(Order order) {
    auto const start = clone_start(order.epoch, timeline_.run(order.trial));
    if (!start) return clones_.push_back(std::move(order));
    LapId const source{order.trial, *start};
    int const first = source.epoch + 1;
    auto config = timeline_.config_of(order.assignment);
    int const epochs = config->train.epochs;
    if (!finish_reason().empty() || first >= epochs) return;
    auto const trial = timeline_.add(order.assignment, std::move(config));
    owned_.insert(trial);
    sources_[trial] = source;
    auto& view = timeline_.view(trial);
    view.status = TrialStatus::running;
    view.epochs_wanted = epochs;
    view.first_epoch = view.epochs_done = view.epochs_released = first;
    auto& run = timeline_.run(trial);
    run.until = epochs;
    run.first = run.begun = run.reported = run.released = first;
    run.values.resize(static_cast<std::size_t>(first));  // of another trial: never read
    if (timeline_.decides()) run.stop = EarlyStop::never();
    timeline_.decide({.kind = Decision::Kind::clone,
                      .trial = trial,
                      .epoch = source.epoch,
                      .until_epoch = epochs,
                      .source = source,
                      .why = order.why});
    become_clone(trial);
    timeline_.run_on(trial);
}

void OrderedDirector::become_clone(TrialId trial) {
    timeline_.become(trial, sources_.at(trial), timeline_.view(trial).assignment);
    timeline_.pins().hold(sources_.at(trial));
}

// For the search the trial has failed, or fails when the search resumes it. Laps that were under way on the clock do not
// count, and the orders that came with them are obeyed now.
void OrderedDirector::take_over(TrialId trial) {
    auto& run = timeline_.run(trial);
    if (owned_.insert(trial).second) {
        search_.withdraw(trial, run.reported);
        director_->fail(trial);
    }
    for (auto each = orders_.lower_bound({trial, run.reported}); each != orders_.end() && each->first.trial == trial;
         each = orders_.erase(each))
        due_.insert(due_.end(), each->second.begin(), each->second.end());
    timeline_.rewind(trial);
    run.stop = EarlyStop::never();
}

}  // namespace hopscotch
