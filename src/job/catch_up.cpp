// SPDX-License-Identifier: Apache-2.0
#include "job/catch_up.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "direct/director.hpp"
#include "experiment/config.hpp"
#include "experiment/procedures.hpp"
#include "experiment/strategy_traits.hpp"
#include "job/earlier_jobs.hpp"
#include "job/recorder.hpp"
#include "rundir/unit_file.hpp"
#include "schedule/policy.hpp"
#include "schedule/state_chain.hpp"

namespace hopscotch {
namespace {

// The visit order of a dispatched policy is in the journal only.
std::vector<ShardId> recorded_shards(EarlierJobs const& earlier, Experiment const& experiment, LapId lap) {
    if (!policy_named(experiment.strategy.policy).dispatched()) return {};
    std::vector<ShardId> out;
    auto const& laps = earlier.journal.laps;
    auto const last = std::ranges::find_if(laps.rbegin(), laps.rend(), [&](LapRecord const& each) {
        return each.id() == lap && each.outcome == Outcome::finished;
    });
    if (last == laps.rend()) return out;
    for (auto const& unit : UnitReader(experiment.run.dir).units_of(*last)) out.push_back(unit.shard);
    return out;
}

}  // namespace

CatchUp::CatchUp(EarlierJobs const& earlier, Experiment const& experiment, std::uint64_t most_file_bytes)
    : earlier_(earlier),
      files_(earlier, experiment.run.dir, most_file_bytes,
             [&earlier, &experiment](LapId lap) { return recorded_shards(earlier, experiment, lap); }),
      experiment_(experiment) {}

void CatchUp::Heard::add(Lap lap) {
    // The trial was stopped and resumed: its earlier laps from this epoch on do not count.
    if (auto const before = last.find(lap.trial); before != last.end() && before->second >= lap.epoch)
        std::erase_if(released, [&](Lap const& each) { return each.trial == lap.trial && each.epoch >= lap.epoch; });
    last[lap.trial] = lap.epoch;
    released.push_back(std::move(lap));
}

std::vector<Lap> CatchUp::begin(Director& director, Recorder& recorder) {
    recorder.restore(earlier_.journal);
    auto heard = tell(director, recorder);
    pin_ends(director, recorder);
    for (auto const& lap : heard.released)
        if (lap.clone_of) clones_[{lap.trial, lap.epoch}] = *lap.clone_of;
    for (auto const& lap : heard.released) recorder.released(lap);
    files_.drop_wrong(recorder.shelf().chain());
    pin_sources_of_orders(director, recorder);
    files_.expect(director.trials());
    while (find_starts(director.trials(), recorder)) {
    }
    recorder.shelf().distrust(files_.bad());
    return laps_from_starts(std::move(heard), recorder);
}

CatchUp::Heard CatchUp::tell(Director& director, Recorder& recorder) {
    Heard out;
    auto const take = [&] {
        for (auto& lap : director.release()) out.add(std::move(lap));
        for (auto const& decision : director.take_decisions()) recorder.decided(decision);
    };
    take();
    for (auto const& record : earlier_.journal.laps) {
        director.record(record);
        if (record.outcome == Outcome::finished) out.known[{record.trial, record.epoch}] = record.state.hash;
        take();
    }
    // If a record came after its trial was stopped, and the trial was resumed, the lap counts as new when it comes again.
    // The best state of a trial that stays stopped may be the end of such a lap.
    std::erase_if(out.known, [&](auto const& lap) {
        auto const& trial = director.trials()[lap.first.first.index()];
        return lap.first.second >= trial.epochs_done && !has_ended(trial.status);
    });
    return out;
}

void CatchUp::pin_ends(Director& director, Recorder& recorder) {
    if (procedure_traits(experiment_.search.procedure).clones)
        for (auto const& record : earlier_.journal.laps)
            if (record.outcome == Outcome::finished) pinned_.insert({record.trial, record.epoch});
    for (auto const& lap : director.take_releases()) {
        recorder.shelf().let_go(lap);
        pinned_.erase(lap);
    }
}

void CatchUp::pin_sources_of_orders(Director const& director, Recorder& recorder) {
    auto held = director.ordered_sources();
    for (auto const& order : earlier_.journal.orders)
        if (order.kind == Order::Kind::clone) held.insert({order.trial, order.epoch});
    pinned_.insert(held.begin(), held.end());
    recorder.shelf().hold(std::move(held));
}

std::vector<Lap> CatchUp::laps_from_starts(Heard heard, Recorder& recorder) {
    std::vector<Lap> out;
    for (auto& lap : heard.released) {
        auto const start = starts_.find(lap.trial);
        if (start == starts_.end() || lap.epoch < start->second.epoch || lap.epoch > start->second.last) continue;
        place(lap);
        recorder.shelf().sent(lap);
        lap.attempt = earlier_.journal.jobs.count + 1;
        if (auto const before = heard.known.find({lap.trial, lap.epoch}); before != heard.known.end())
            again_.insert(*before);
        if (again_.contains({lap.trial, lap.epoch})) lap.repeats = recorded_shards(earlier_, experiment_, lap.id());
        out.push_back(std::move(lap));
    }
    return out;
}

// True if laps that must be trained again begin with states that no file holds. Then those states must be trained again,
// too.
bool CatchUp::find_starts(std::vector<TrialView> const& trials, Recorder const& recorder) {
    bool more = false;
    starts_.clear();
    for (auto const& trial : trials) {
        auto const start = start_of(trial, recorder);
        if (!start) continue;
        starts_[trial.id] = *start;
        int const first = start->epoch + (start->file == nullptr ? 0 : 1);
        for (auto clone = clones_.lower_bound({trial.id, first}); clone != clones_.end() && clone->first.trial == trial.id;
             ++clone)
            if (file_after(clone->second.trial, clone->second.epoch) == nullptr)
                more |= pinned_.insert(clone->second).second;
    }
    return more;
}

std::map<TrialId, double> CatchUp::units_in_files(std::vector<TrialView> const& trials) const {
    std::map<TrialId, double> out;
    for (auto const& [trial, start] : starts_)
        if (start.file != nullptr && start.file->epoch == trials[trial.index()].epochs_done)
            out[trial] = start.file->step * experiment_.strategy.group_size;
    return out;
}

void CatchUp::place(Lap& lap) const {
    auto const start = starts_.find(lap.trial);
    if (start == starts_.end() || lap.epoch != start->second.epoch || start->second.file == nullptr) return;
    // The trial may have become a clone since its start was found. Then its own older state must not be used.
    if (lap.clone_of && place_of(*start->second.file) <= start_of_epoch(lap.epoch)) return;
    lap.from = start->second.file->file;
    lap.from_hash = start->second.file->state_hash;
}

// Of a trial that has all its laps. When the run finished, the best states went to best/; those of other trials were not
// needed then, and cannot become the best.
bool CatchUp::needs_best(LapId best, Recorder const& recorder) const {
    if (best.trial.index() >= earlier_.journal.end.trials) return true;
    bool const of_run = recorder.tally().best_trial() == best.trial && earlier_.kept.of_run != best;
    bool const of_trial = experiment_.run.keep_best == KeepBest::trial && !earlier_.kept.of_trials.contains(best);
    return of_run || of_trial;
}

// The search may hear later that such a trial has ended: when others, in flight at the same time, have come as far.
bool CatchUp::has_all_laps(TrialView const& trial) const {
    return has_ended(trial.status) || trial.epochs_done >= trial.config->train.epochs;
}

// None for a trial that has all its laps, unless its best state is needed and no file holds it.
std::optional<CatchUp::Start> CatchUp::start_of(TrialView const& trial, Recorder const& recorder) {
    bool const ended = has_all_laps(trial);
    auto best = recorder.wanted_epoch(trial.id);
    if (best && ended && !needs_best({trial.id, *best}, recorder)) best.reset();
    // The first epoch with a needed state that no file holds.
    auto lost = best && file_after(trial.id, *best) == nullptr ? best : std::nullopt;
    auto const asked = wanted_by_clones(trial.id);
    if (asked) lost = std::min(lost.value_or(*asked), *asked);
    if (ended && !lost) return std::nullopt;
    int const upto = lost.value_or(trial.epochs_done);
    int const last = !ended ? trial.epochs_wanted : asked ? trial.epochs_done - 1 : *best;
    auto const* file = files_.furthest(trial.id, upto);
    // After the lap in which the trial became a clone, its older states must not be used.
    auto const clone = last_clone(trial.id, upto);
    if (clone && (file == nullptr || place_of(*file) <= start_of_epoch(clone->epoch)))
        return Start{clone->epoch, last, nullptr};
    return Start{file == nullptr ? 0 : file->epoch, last, file};
}

std::optional<LapId> CatchUp::last_clone(TrialId trial, int epoch) const {
    auto const after = clones_.upper_bound({trial, epoch});
    if (after == clones_.begin() || std::prev(after)->first.trial != trial) return std::nullopt;
    return std::prev(after)->first;
}

// The first lap of the trial whose end clones need, and no file holds.
std::optional<int> CatchUp::wanted_by_clones(TrialId trial) {
    for (auto lap = pinned_.lower_bound({trial, 0}); lap != pinned_.end() && lap->trial == trial; ++lap)
        if (file_after(trial, lap->epoch) == nullptr) return lap->epoch;
    return std::nullopt;
}

bool CatchUp::waits_for(TrialId trial) const {
    auto const first = again_.lower_bound({trial, 0});
    return first != again_.end() && first->first.first == trial;
}

void CatchUp::confirm(LapRecord const& record) {
    auto const known = again_.find({record.trial, record.epoch});
    bool const has_bits =
        strategy_traits(experiment_.strategy.name).bits == Bits::any_trainers && !earlier_.facts.bits.approximate;
    bool const same_bits = !has_bits || record.state.hash == known->second;
    if (record.outcome != Outcome::finished || !same_bits)
        throw Error(fmt::format(
            "trial {}, epoch {} was trained again with another result (state hash {} in the journal, {} now{}{}; is this "
            "another kind of CPU than in the earlier job?); start again with --overwrite",
            record.trial.value, record.epoch, to_hex(known->second), to_hex(record.state.hash),
            record.reason.empty() ? "" : "; ", record.reason));
    again_.erase(known);
}

}  // namespace hopscotch
