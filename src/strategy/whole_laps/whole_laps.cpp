// SPDX-License-Identifier: Apache-2.0
#include "strategy/whole_laps/whole_laps.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/clock.hpp"
#include "core/error.hpp"

namespace hopscotch {

void WholeLaps::handle(Incoming message) {
    require(message.kind == MessageKind::lap, "unexpected message for a trainer of whole laps");
    auto lap = decode<Lap>(message.body);
    if (!ended_.contains(lap.trial)) laps_.push_back(std::move(lap));
}

void WholeLaps::drop(TrialId trial) {
    ended_.insert(trial);
    states_.erase(trial);
    std::erase_if(laps_, [&](Lap const& lap) { return lap.trial == trial; });
}

// The first of its laps that wait here reports.
void WholeLaps::leave_waiting(TrialId trial) {
    auto const lap = std::ranges::find(laps_, trial, &Lap::trial);
    if (lap == laps_.end()) return;
    auto journey = begin(*lap);
    end_left(journey, {});
    drop(trial);
}

void WholeLaps::work() {
    auto const lap = std::move(laps_.front());
    laps_.pop_front();
    balance(laps_, states_);
    auto journey = begin(lap);
    auto state = state_of(journey);
    while (journey.step < resources_.runner->shards() && journey.record.outcome == Outcome::finished) {
        if (told_of(lap.trial) != Told::nothing) break;
        train_unit(journey, state.bytes());
        if (journey.record.outcome == Outcome::finished) save_if_due(journey, state.bytes());
    }
    if (journey.record.outcome == Outcome::finished) {
        auto const told = told_of(lap.trial);
        if (told == Told::leave) end_left(journey, state.bytes());
        if (told != Told::nothing) return drop(lap.trial);
    }
    while (journey.record.outcome == Outcome::finished && !validate(journey, state.bytes()))
        save_if_due(journey, state.bytes());
    finish(journey, state.bytes());
    if (journey.record.outcome != Outcome::finished) return drop(lap.trial);
    states_[lap.trial] = store().hold(std::move(state));
}

// A model that cannot even be built ends its own trial only.
Buffer WholeLaps::state_of(Journey& journey) {
    auto rested = states_.extract(journey.lap.trial);
    if (!journey.lap.from.empty()) return load(journey);
    try {
        if (rested) return store().take(std::move(rested.mapped()));
        return resources_.runner->initial_state(journey.lap, resources_.courier.pool());
    } catch (std::exception const& error) {
        journey.record.outcome = Outcome::failed;
        journey.record.cause = cause_of(error);
        journey.record.reason = fmt::format("epoch {} on trainer {} ({}): {}", journey.lap.epoch,
                                            resources_.runner->self().value, host_name(), error.what());
        return {};
    }
}

}  // namespace hopscotch
