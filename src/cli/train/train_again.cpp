// SPDX-License-Identifier: Apache-2.0
#include "cli/train/train_again.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "comm/buffer_pool.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "rundir/recorded_run.hpp"
#include "rundir/unit_file.hpp"
#include "strategy/common/journey.hpp"
#include "strategy/trainer/trial_runner.hpp"

namespace hopscotch {
namespace {

// recorded: with its units.
void replay_lap(TrialRunner& runner, LapRecord const& recorded, Lap const& lap, MutableBytes state, Verdicts& verdicts) {
    Journey journey;
    journey.lap = lap;
    for (auto const& unit : recorded.units) {
        journey.shard = unit.shard;
        runner.run_unit(journey, state, nullptr);
        ++verdicts.units;
        auto const hash = journey.record.units.empty() ? 0 : journey.record.units.back().state_hash;
        if (journey.record.units.size() == static_cast<std::size_t>(journey.step) && hash == unit.state_hash) continue;
        verdicts.differences.push_back(fmt::format("trial {}, epoch {}, unit {} (shard {}): journal {}, replayed {}{}",
                                                   recorded.trial.value, recorded.epoch, journey.step - 1, unit.shard.value,
                                                   to_hex(unit.state_hash), to_hex(hash),
                                                   journey.record.reason.empty() ? "" : "; " + journey.record.reason));
    }
    if (recorded.outcome == Outcome::finished) runner.end_epoch(lap, state, recorded);
}

// Laps of these trials in the order of their ends: a clone begins with a state that is known by then.
Verdicts replay_trials(TrialRunner& runner, RecordedRun const& run, std::set<TrialId> const& trials, BufferPool& pool,
                       AfterLap const& after_lap) {
    auto const& journal = run.journal;
    UnitReader units(run.directory);
    Verdicts verdicts;
    auto const released = released_laps(journal);
    std::map<TrialId, Buffer> states;
    std::map<LapId, Buffer> sources;
    for (auto const& [id, lap] : released)
        if (lap->clone_of && trials.contains(id.trial)) sources[*lap->clone_of];
    auto const copy = [&](Buffer const& state) {
        auto out = pool.acquire(state.bytes().size());
        std::ranges::copy(state.bytes(), out.bytes().begin());
        return out;
    };
    for (auto const* each : laps_that_count(journal)) {
        auto const& recorded = *each;
        if (!trials.contains(recorded.trial)) continue;
        LapId const id{recorded.trial, recorded.epoch};
        if (recorded.outcome == Outcome::stopped) continue;  // cut off somewhere; if its trial went on, the lap came again
        auto const found = released.find(id);
        require(found != released.end(),
                fmt::format("trial {}, epoch {} was trained and never released", id.trial.value, id.epoch));
        auto const& lap = *found->second;
        auto& state = states[id.trial];
        if (lap.clone_of) {
            auto const& source = sources.at(*lap.clone_of);
            require(static_cast<bool>(source), "a clone began with a state that no lap before it has left");
            state = copy(source);
        }
        if (!state) state = runner.initial_state(lap, pool);
        replay_lap(runner, units.with_units(recorded), lap, state.bytes(), verdicts);
        if (auto const wanted = sources.find(id); wanted != sources.end()) wanted->second = copy(state);
        if (!after_lap(id, state.bytes())) break;
    }
    for (auto const trial : trials) runner.forget(trial);
    return verdicts;
}

}  // namespace

std::set<TrialId> with_sources(Journal const& journal, std::set<TrialId> trials) {
    for (std::size_t before = 0; before != trials.size();) {
        before = trials.size();
        for (auto const& lap : journal.released)
            if (lap.clone_of && trials.contains(lap.trial)) trials.insert(lap.clone_of->trial);
    }
    return trials;
}

Verdicts train_again(RecordedRun const& run, std::set<TrialId> const& wanted, BufferPool& pool, AfterLap const& after_lap) {
    auto const& journal = run.journal;
    std::vector<ShardId> shards;
    for (std::size_t s = 0; s < read_manifest(run.experiment.data.path).train.size(); ++s) shards.emplace_back(s);
    TrialRunner runner(run.experiment, shards, {TrainerId(0)});
    bool const clones = std::ranges::any_of(journal.released, [](Lap const& lap) { return lap.clone_of.has_value(); });
    std::vector<std::set<TrialId>> groups;
    if (clones)
        groups.push_back(with_sources(journal, wanted));
    else
        for (auto const trial : wanted) groups.push_back({trial});
    Verdicts out;
    for (auto const& trials : groups) {
        auto const verdicts = replay_trials(runner, run, trials, pool, after_lap);
        out.units += verdicts.units;
        // The first difference is the cause; later ones are consequences or more of the same.
        if (!verdicts.differences.empty()) out.differences.push_back(verdicts.differences.front());
    }
    return out;
}

}  // namespace hopscotch
