// SPDX-License-Identifier: Apache-2.0
#include "job/held_laps.hpp"

#include <fmt/format.h>

#include "core/clock.hpp"
#include "direct/trial_view.hpp"
#include "experiment/procedures.hpp"
#include "job/prepared_run.hpp"
#include "rundir/checkpoint_shelf.hpp"
#include "strategy/common/dispatcher.hpp"

namespace hopscotch {

void HeldLaps::add(Lap lap) { held_[lap.trial].laps.push_back(std::move(lap)); }

void HeldLaps::execute() {
    for (auto& [trial, held] : held_) {
        while (!held.laps.empty()) {
            auto& lap = held.laps.front();
            if (lap.clone_of && lap.from.empty()) {
                auto const* file = file_to_begin_with(lap, held);
                if (file == nullptr) break;
                lap.from = file->file;
                lap.from_hash = shelf_.chain().at_end_of(*lap.clone_of).value_or(file->state_hash);
            }
            dispatcher_.execute(lap);
            held.laps.pop_front();
            held.since_s.reset();
        }
    }
    std::erase_if(held_, [](auto const& entry) { return entry.second.laps.empty(); });
}

// Null if the file does not exist yet.
SavedState const* HeldLaps::file_to_begin_with(Lap const& lap, Held& held) {
    auto const* file = shelf_.file_after(lap.clone_of->trial, lap.clone_of->epoch);
    if (file != nullptr) return file;
    if (procedure_traits(prepared_.inputs.experiment.search.procedure).clones) return nullptr;  // then all are written
    auto const& source = prepared_.trials()[lap.clone_of->trial.index()];
    if (!held.since_s && (source.epochs_done > lap.clone_of->epoch || has_ended(source.status)))
        held.since_s = monotonic_s();
    keep_end(*lap.clone_of);
    return nullptr;
}

void HeldLaps::keep_end(LapId const& lap) {
    if (asked_for_.insert(lap).second) dispatcher_.keep_end(lap);
}

std::optional<std::string> HeldLaps::overdue(double now_s) const {
    for (auto const& [trial, held] : held_) {
        if (!held.since_s || now_s < *held.since_s + prepared_.inputs.experiment.run.limits.deadline_s) continue;
        auto const& source = *held.laps.front().clone_of;
        if (shelf_.at_risk(source.trial)) continue;  // the file is being tried again
        return fmt::format(
            "trial {} begins with the state of trial {} after epoch {}, which no file holds: that epoch is trained again",
            trial.value, source.trial.value, source.epoch);
    }
    return std::nullopt;
}

}  // namespace hopscotch
