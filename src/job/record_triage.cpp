// SPDX-License-Identifier: Apache-2.0
#include "job/record_triage.hpp"

#include <algorithm>

#include "direct/director.hpp"
#include "direct/trial_view.hpp"
#include "job/catch_up.hpp"
#include "job/live_control.hpp"
#include "job/recorder.hpp"
#include "schedule/lap.hpp"

namespace hopscotch {

// The first that fits.
RecordTriage::Meaning RecordTriage::meaning_of(LapRecord const& record) const {
    if (!control_.counts(record)) return Meaning::undone;
    if (may_retry(record)) return Meaning::retry;
    if (taken_up_.contains(record.trial)) return Meaning::outdated;
    if (wrong_.contains(record.trial) || !recorder_.shelf().chain().complaint(record).empty()) return Meaning::wrong_start;
    if (catch_up_ != nullptr && catch_up_->knows(record)) return Meaning::known;
    return Meaning::news;
}

// A failure of the trial's surroundings does not end the trial, up to search.retries times.
bool RecordTriage::may_retry(LapRecord const& record) const {
    return record.outcome == Outcome::failed && record.cause == Cause::surroundings &&
           recorder_.retries_of(record.trial) < most_retries_ && !has_ended(director_.trials()[record.trial.index()].status);
}

void RecordTriage::sent_again(Lap const& lap) { released_[lap.trial] = std::max(released_[lap.trial], lap.epoch); }

bool RecordTriage::may_send(Lap const& lap) {
    auto const [before, first] = released_.try_emplace(lap.trial, lap.epoch);
    if (ended_.contains(lap.trial) || (!first && lap.epoch <= before->second)) taken_up_.insert(lap.trial);
    before->second = lap.epoch;
    return !taken_up_.contains(lap.trial);
}

void RecordTriage::take_up() {
    for (auto const& trial : director_.trials())
        if (!has_ended(trial.status) && ended_.contains(trial.id)) taken_up_.insert(trial.id);
}

std::optional<TrialId> RecordTriage::first_taken_up() const {
    return taken_up_.empty() ? std::nullopt : std::optional(*taken_up_.begin());
}

}  // namespace hopscotch
