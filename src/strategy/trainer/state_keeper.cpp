// SPDX-License-Identifier: Apache-2.0
#include "strategy/trainer/state_keeper.hpp"

#include <cmath>
#include <filesystem>
#include <utility>

#include "comm/codec.hpp"
#include "comm/courier.hpp"
#include "core/clock.hpp"
#include "experiment/config.hpp"
#include "experiment/procedures.hpp"
#include "model/state/state.hpp"
#include "rundir/checkpoint.hpp"
#include "rundir/metrics.hpp"
#include "rundir/tally.hpp"
#include "strategy/common/lap_codec.hpp"
#include "strategy/common/worker_resources.hpp"
#include "strategy/trainer/best_snapshot.hpp"
#include "strategy/trainer/checkpointer.hpp"
#include "strategy/trainer/free_memory.hpp"
#include "strategy/trainer/job_ended.hpp"
#include "strategy/trainer/state_file.hpp"
#include "strategy/trainer/state_store.hpp"
#include "strategy/trainer/trial_runner.hpp"

namespace hopscotch {
namespace {

constexpr double k_look_s = 0.1;  // between looks at states that rest

std::filesystem::path spill_directory(WorkerResources const& resources) {
    std::filesystem::path const spill = resources.experiment.run.states.spill;
    std::filesystem::path const run_dir = resources.checkpoints.run_dir;
    if (spill.empty()) return run_dir.empty() ? std::filesystem::temp_directory_path() : run_dir / "checkpoints";
    std::error_code reported_at_the_first_write;
    std::filesystem::create_directories(spill, reported_at_the_first_write);
    return spill;
}

}  // namespace

StateKeeper::StateKeeper(WorkerResources const& resources, Holds holds)
    : resources_(resources),
      holds_(holds),
      search_clones_(procedure_traits(resources.experiment.search.procedure).clones),
      best_(std::make_unique<BestSnapshot>(resources.experiment.search.metric, resources.experiment.search.mode)),
      store_(std::make_unique<StateStore>(resources.courier.pool(),
                                          state_memory(resources.experiment.run.states.memory,
                                                       resources.courier.world().trainers_on_host()),
                                          spill_directory(resources))) {
    if (resources.checkpoints.run_dir.empty()) return;
    auto const tell = [this](SavedState const& saved) {
        resources_.courier.send(Rank(0), MessageKind::checkpointed, encode(saved));
    };
    checkpointer_ = std::make_unique<Checkpointer>(resources.checkpoints, resources.courier.pool(), tell);
}

StateKeeper::~StateKeeper() = default;

bool StateKeeper::paused() const { return resources_.courier.activity().pause; }

void StateKeeper::stop_saving() { checkpointer_.reset(); }

LapBegin StateKeeper::begin(Lap const& lap, TrainerId home) {
    LapBegin out;
    auto& journey = out.journey;
    journey.lap = lap;
    journey.record.trial = lap.trial;
    journey.record.epoch = lap.epoch;
    journey.record.attempt = lap.attempt;
    journey.record.home = home;
    journey.record.units.reserve(static_cast<std::size_t>(resources_.runner.shards()));
    auto rested = resting_.extract(lap.trial);
    if (!rested) return out;
    if (auto const& next = rested.mapped().next) {
        journey.saved.at_s = next->saved.at_s;
        journey.saved.here = next->saved.here;
        journey.record.state.begin_hash = next->record.state.begin_hash;
    }
    if (lap.from.empty()) out.state = std::move(rested.mapped().state);
    return out;
}

void StateKeeper::rest(TrialId trial, Buffer state) { resting_[trial].state = store_->hold(std::move(state)); }

void StateKeeper::forget(TrialId trial) { resting_.erase(trial); }

StateHashes StateKeeper::hashes(Lap const& lap, ByteView state) const {
    return hashes_of(state, resources_.runner.layout(lap));
}

void StateKeeper::end(Journey const& journey, ByteView state) {
    consider_best(journey, state);
    keep_boundary(journey, state);
    plan_next(journey, state);
}

void StateKeeper::consider_best(Journey const& journey, ByteView state) {
    auto const loss = resources_.runner.config_of(journey.lap).train.loss;
    if (!best_->consider(journey.record, loss, state, resources_.courier.pool()) || !checkpointer_) return;
    auto const layout_hash = resources_.runner.layout(journey.lap).hash();
    unsaved_best_ =
        std::make_unique<Checkpoint>(checkpoint_at_end(best_->lap(), {layout_hash, journey.record.state.end_hash}));
    unsaved_best_->whole = holds_ == Holds::whole_states;
    // One process can train the trial again, to have its best state, if it can train alone to the same bits. Otherwise a
    // file must hold it, from the first lap on.
    if (!trains_together(resources_.experiment.strategy) || !checkpointer_->due(best_saved_s_)) return;
    best_saved_s_ = monotonic_s();
    save_best();
}

// A run that continues after the best epoch of all needs that state too.
void StateKeeper::save_best() {
    if (auto about = std::exchange(unsaved_best_, nullptr))
        checkpointer_->keep(std::move(*about), best_->bytes(), Checkpointer::Kept::best_of_run);
}

// Only rank 0 knows the file of a trial's best state. This trainer has seen only the laps that ended here.
void StateKeeper::keep_boundary(Journey const& journey, ByteView state) {
    if (!can_continue()) return;
    auto const& lap = journey.lap;
    auto const keep = [&](Checkpointer::Kept kept) {
        checkpointer_->keep(checkpoint_at_end({lap.trial, lap.epoch}, hashes(lap, state)), state, kept);
    };
    auto const asked = kept_ends_.find(lap.trial);
    bool const wanted = asked != kept_ends_.end() && asked->second.erase(lap.epoch) > 0;
    if (search_clones_ || wanted) return keep(Checkpointer::Kept::boundary);
    if (!keeps_every_best(resources_.experiment)) return;
    auto const& search = resources_.experiment.search;
    auto const metrics = metrics_of(journey.record, resources_.runner.config_of(lap).train.loss);
    auto const value = metric_value(metrics, search.metric);
    auto const before = bests_.find(lap.trial);
    if (!std::isfinite(value) || (before != bests_.end() && !better(value, before->second, search.mode))) return;
    bests_[lap.trial] = value;
    keep(Checkpointer::Kept::best_of_trial);
}

// Between laps a trial's place is the beginning of its next lap.
void StateKeeper::plan_next(Journey const& done, ByteView state) {
    Journey next;
    next.lap = done.lap;
    ++next.lap.epoch;
    next.record.trial = next.lap.trial;
    next.record.epoch = next.lap.epoch;
    next.record.state.begin_hash = done.record.state.end_hash;
    next.lap.from.clear();
    next.lap.clone_of.reset();
    next.saved.at_s = done.saved.at_s;
    if (can_continue() && checkpointer_->due(next.saved.at_s)) save(next, state);
    resting_[next.lap.trial].next = std::move(next);
}

void StateKeeper::keep_end(LapId const& lap) {
    if (!can_continue()) return;
    auto const rested = resting_.find(lap.trial);
    bool const here = rested != resting_.end() && rested->second.next && rested->second.state &&
                      rested->second.next->lap.epoch == lap.epoch + 1;
    if (!here) {
        kept_ends_[lap.trial].insert(lap.epoch);
        return;
    }
    store_->look(rested->second.state, [&](ByteView state) {
        checkpointer_->keep(checkpoint_at_end(lap, hashes(rested->second.next->lap, state)), state,
                            Checkpointer::Kept::boundary);
    });
}

bool StateKeeper::is_due(Journey const& journey) const { return paused() || checkpointer_->due(journey.saved.at_s); }

void StateKeeper::save(Journey& journey, ByteView state) {
    save_best();
    auto const saved_before = std::exchange(journey.saved.at_s, monotonic_s());
    journey.saved.here = true;
    // A file is named after the lap that made its state: the state with which a clone begins is in the file of its source.
    if (journey.lap.clone_of && journey.step == 0 && journey.unit.batches == 0) return;
    checkpointer_->save(checkpoint_within(journey, hashes(journey.lap, state)), state, saved_before);
}

void StateKeeper::save_if_due(Journey& journey, ByteView state) {
    if (!journey.saved.at_s) journey.saved.at_s = monotonic_s();
    if (!can_continue()) return;
    if (!journey.saved.here && is_due(journey)) save(journey, state);
    if (paused()) throw Paused{};
}

void StateKeeper::save_left(Journey& journey, ByteView state) {
    if (!journey.saved.here && can_continue()) save(journey, state);
}

void StateKeeper::save_one_at_rest() {
    if (!can_continue() || paused() || monotonic_s() < next_look_s_) return;
    next_look_s_ = monotonic_s() + k_look_s;
    for (auto& [trial, rested] : resting_) {
        auto& next = rested.next;
        if (!next || next->saved.here || !rested.state || !checkpointer_->due(next->saved.at_s)) continue;
        return store_->look(rested.state, [&](ByteView state) { save(*next, state); });
    }
}

std::uint64_t StateKeeper::save_all(double deadline_s, std::function<void()> const& queued) {
    if (!checkpointer_) return 0;
    save_until_s_ = monotonic_s() + deadline_s;
    save_best();
    queued();
    for (auto& [trial, rested] : resting_)
        if (rested.next) save_waiting(*rested.next, rested.state);
    return checkpointer_->drain(save_until_s_ - monotonic_s());
}

// One state after another, since each is in memory a second time until it is written.
void StateKeeper::save_waiting(Journey& journey, WaitingState const& state) {
    if (journey.saved.here || !can_continue() || !state) return;
    store_->look(state, [&](ByteView bytes) { save(journey, bytes); });
    checkpointer_->drain(save_until_s_ - monotonic_s());
}

void StateKeeper::balance(std::vector<WaitingState const*> order) {
    if (!store_->crowded()) return;
    for (auto const& [trial, rested] : resting_) order.push_back(&rested.state);
    store_->balance(order);
}

void StateKeeper::balance(std::deque<Lap> const& laps) {
    if (!store_->crowded()) return;
    std::vector<WaitingState const*> order;
    std::set<TrialId> seen;
    for (auto const& lap : laps)
        if (auto const rested = resting_.find(lap.trial); rested != resting_.end() && seen.insert(lap.trial).second)
            order.push_back(&rested->second.state);
    for (auto const& [trial, rested] : resting_)
        if (!seen.contains(trial)) order.push_back(&rested.state);
    store_->balance(order);
}

}  // namespace hopscotch
