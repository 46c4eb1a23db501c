// SPDX-License-Identifier: Apache-2.0
#include "strategy/baselines/whole_laps/whole_laps.hpp"

#include <algorithm>

#include "comm/codec.hpp"
#include "core/error.hpp"
#include "strategy/common/lap_codec.hpp"
#include "strategy/trainer/state_file.hpp"
#include "strategy/trainer/state_store.hpp"
#include "strategy/trainer/trial_runner.hpp"

namespace hopscotch {

void WholeLaps::handle(Incoming message) {
    require(message.kind == MessageKind::lap, unexpected(message.kind));
    auto lap = decode<Lap>(message.body);
    if (!ended_.contains(lap.trial)) laps_.push_back(std::move(lap));
}

void WholeLaps::drop(TrialId trial) {
    ended_.insert(trial);
    std::erase_if(laps_, [&](Lap const& lap) { return lap.trial == trial; });
}

// The trial's first lap that waits here reports.
void WholeLaps::leave_waiting(TrialId trial) {
    auto const lap = std::ranges::find(laps_, trial, &Lap::trial);
    if (lap == laps_.end()) return;
    auto journey = keeper().begin(*lap, runner().self()).journey;
    end_left(journey, {});
    drop(trial);
}

void WholeLaps::train_unit(Journey& journey, MutableBytes state) { train(journey, state, start_unit(), UnitHash::now); }

void WholeLaps::work() {
    auto const lap = std::move(laps_.front());
    laps_.pop_front();
    auto begun = keeper().begin(lap, runner().self());
    keeper().balance(laps_);
    auto state = state_of(begun);
    auto& journey = begun.journey;
    auto const& outcome = journey.record.outcome;
    while (journey.step < runner().shards() && outcome == Outcome::finished) {
        if (news_of(lap.trial) != News::none) break;
        train_unit(journey, state.bytes());
        if (outcome == Outcome::finished) keeper().save_if_due(journey, state.bytes());
    }
    if (outcome == Outcome::finished) {
        auto const news = news_of(lap.trial);
        if (news == News::leave) end_left(journey, state.bytes());
        if (news != News::none) return drop(lap.trial);
    }
    while (outcome == Outcome::finished && !validate(journey, state.bytes())) keeper().save_if_due(journey, state.bytes());
    finish(journey, state.bytes());
    if (outcome != Outcome::finished) return drop(lap.trial);
    keeper().rest(lap.trial, std::move(state));
}

// A model that cannot be built ends its own trial only.
Buffer WholeLaps::state_of(LapBegin& begun) {
    auto& journey = begun.journey;
    if (!journey.lap.from.empty()) return load_state(resources(), journey);
    try {
        if (begun.state) return keeper().store().take(std::move(begun.state));
        return runner().initial_state(journey.lap, pool());
    } catch (std::exception const& error) {
        fail(journey, error);
        return {};
    }
}

}  // namespace hopscotch
