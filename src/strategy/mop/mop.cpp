// SPDX-License-Identifier: Apache-2.0
#include "strategy/mop/mop.hpp"

#include <utility>

#include "comm/codec.hpp"
#include "comm/courier.hpp"
#include "comm/world.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "schedule/policy.hpp"
#include "strategy/common/lap_codec.hpp"
#include "strategy/common/messages.hpp"
#include "strategy/common/placement.hpp"
#include "strategy/common/roll_call_messages.hpp"
#include "strategy/mop/group_member.hpp"
#include "strategy/mop/mop_messages.hpp"
#include "strategy/mop/mop_worker.hpp"
#include "strategy/trainer/helper.hpp"
#include "strategy/trainer/state_store.hpp"
#include "strategy/trainer/trial_runner.hpp"

namespace hopscotch {
namespace {

constexpr double k_look_for_late_hops_s = 0.001;

// A record without a hash: see run_unit.
bool ends_later(Journey const& journey) {
    auto const& units = journey.record.units;
    return !units.empty() && units.back().state_hash == 0;
}

// In a group the members' hashes are compared, and a dispatched lap waits for rank 0: there a unit ends as a whole.
UnitsBeside::Wanted helper_of(WorkerResources const& resources) {
    auto const& run = resources.experiment.run;
    bool const whole = has_group(resources) || policy_named(resources.experiment.strategy.policy).dispatched();
    bool const spare = resources.runner.device() != "cpu" ||
                       has_core_for_helper({static_cast<int>(allowed_cores().size()),
                                            resources.courier.world().trainers_on_host(), run.cpu.threads});
    bool const wanted = run.cpu.helper == HelperThreads::on || (run.cpu.helper == HelperThreads::automatic && spare);
    return wanted && !whole ? UnitsBeside::Wanted::yes : UnitsBeside::Wanted::no;
}

}  // namespace

MopWorker::MopWorker(WorkerResources const& resources)
    : TrainerLoop(resources, StateKeeper::Holds::whole_states,
                  resources.experiment.run.inject.sync_s > 0 ? k_look_for_late_hops_s : 1),
      dispatched_(policy_named(resources.experiment.strategy.policy).dispatched()),
      ready_(resources.runner.visits()),
      beside_(this->resources(), keeper().store(), helper_of(resources)) {
    if (!has_group(resources)) return;
    group_.emplace(this->resources(), keeper(), [this](Incoming message) { set_aside(std::move(message)); });
}

void MopWorker::handle(Incoming message) {
    if (message.kind == MessageKind::lap) return accept_lap(decode<Lap>(message.body));
    if (message.kind == MessageKind::visit) return accept_visit(decode<Visit>(message.body));
    if (message.kind == MessageKind::share && group_) return group_->keep(message);
    require(message.kind == MessageKind::state, unexpected(message.kind));
    accept_state(std::move(message));
}

void MopWorker::accept_lap(Lap lap) {
    auto const trial = lap.trial;
    if (dropped_.contains(trial)) return;
    auto& mine = at_home_[trial];
    mine.laps.push_back(std::move(lap));
    if (!mine.under_way) start_next(trial);
}

// The next lap of a trial whose state rests here (or does not exist yet).
void MopWorker::start_next(TrialId trial) {
    auto& mine = at_home_[trial];
    mine.under_way = !mine.laps.empty();
    if (!mine.under_way) return;
    auto const lap = std::move(mine.laps.front());
    mine.laps.pop_front();
    auto begun = keeper().begin(lap, home_of(lap, resources()));
    ReadyLap ready{std::move(begun.journey), std::move(begun.state), 0, 0, {}};
    if (!dispatched_ || !lap.from.empty()) return enqueue(std::move(ready));
    tell(Turn::What::waits, ready);
    ask(std::move(ready));
}

void MopWorker::leave_waiting(TrialId trial) {
    settle();
    auto ready = ready_.take([&](ReadyLap const& one) { return one.journey.lap.trial == trial; });
    if (!ready) return;
    beside_.take(*ready);
    leave_lap(*ready);
}

void MopWorker::leave_lap(ReadyLap& ready) {
    if (ready.hand && came_damaged(ready)) return;
    ready.journey.record.valid.seconds = 0;
    end_left(ready.journey, ready.state());
    tell(Turn::What::over, ready);
    drop(ready.journey.lap.trial);
}

void MopWorker::drop(TrialId trial) {
    dropped_.insert(trial);
    at_home_.erase(trial);
    ready_.erase(trial);
}

// Skips states that arrived damaged: their trials go back to earlier files.
void MopWorker::save_queued() {
    for (auto& ready : ready_.laps()) {
        beside_.put_back(ready);
        bool good = true;
        if (ready.waiting) keeper().store().look(ready.waiting, [&](ByteView state) { good = is_as_it_left(ready, state); });
        if (good) keeper().save_waiting(ready.journey, ready.waiting);
    }
}

bool MopWorker::may_work() const { return !paused() && (beside_.busy() || ready_.any(monotonic_s())); }

bool MopWorker::validating(ReadyLap const& ready) const { return ready.journey.step == runner().visits(); }

void MopWorker::work() {
    land();
    if (leaves_first_ && ready_.goes_before_all(*leaves_first_)) settle();  // as without a helper
    if (!ready_.any(monotonic_s())) return settle();
    auto ready = ready_.take_first(monotonic_s());
    balance();
    if (!ready.hand && !ready.waiting && !ready.journey.lap.from.empty()) return continue_from_file(std::move(ready));
    auto const step = run(ready);
    if (auto const trouble = std::exchange(trouble_, nullptr)) std::rethrow_exception(trouble);
    if (step == Step::damaged) return;  // rank 0 lets the job continue from the checkpoints
    last_end_s_ = monotonic_s();
    if (ready.journey.record.outcome != Outcome::finished) return end_trial(ready);
    if (step == Step::validated) return end_lap(ready);
    if (step == Step::trained && ends_later(ready.journey)) return depart(std::move(ready));
    if (step == Step::trained) {
        tell(Turn::What::ended, ready);
        keeper().save_if_due(ready.journey, ready.state());
    }
    move_on(std::move(ready));
}

MopWorker::Step MopWorker::run(ReadyLap& ready) {
    auto& journey = ready.journey;
    auto const start = validating(ready) ? UnitStart{} : start_unit();
    if (!prepare(ready)) return Step::failed;
    if (came_damaged(ready)) return Step::damaged;
    if (validating(ready)) return validate_lap(ready);
    auto const units = journey.record.units.size();
    train_unit(ready, start);
    if (journey.record.units.size() > units)
        journey.record.units[units].wait_s = ready.ready_s <= last_end_s_ ? start.s - last_end_s_ : -1;
    return Step::trained;
}

MopWorker::Step MopWorker::validate_lap(ReadyLap& ready) {
    auto& journey = ready.journey;
    if (!group_ || runner().manifest().valid.empty())
        return validate(journey, ready.state()) ? Step::validated : Step::validates;
    busy_with(journey.lap, ShardId(-1), Phase::validation);
    group_->lead_validation(journey, ready.hand->buffer);
    return Step::validated;
}

void MopWorker::train_unit(ReadyLap& ready, UnitStart const& start) {
    next_look_s_ = 0;
    if (!group_) return train(ready.journey, ready.state(), start, departs(ready) ? UnitHash::later : UnitHash::now);
    auto& units = ready.journey.record.units;
    auto const before = units.size();
    auto const prepared_s = monotonic_s() - start.s;
    begin_unit(ready.journey);
    group_->lead(ready.journey, ready.hand->buffer);
    ready.journey.saved.here = false;
    if (units.size() == before) return;
    units[before].start_unix_s -= prepared_s;  // the members measure from here on
    units[before].seconds += prepared_s;
}

// Brings the state here, or builds the first one. False (and the outcome says why) if that fails.
bool MopWorker::prepare(ReadyLap& ready) {
    try {
        beside_.take(ready);
        if (!ready.hand) beside_.take(ready, runner().initial_state(ready.journey.lap, pool()));
        return true;
    } catch (std::exception const& error) {
        fail(ready.journey, error);
        return false;
    }
}

// The queue in its order, then the trials that rest here and wait for rank 0.
void MopWorker::balance() {
    if (!keeper().store().crowded()) return;
    std::vector<WaitingState const*> order;
    for (auto const* ready : ready_.in_order()) order.push_back(&ready->waiting);
    keeper().balance(std::move(order));
}

void MopWorker::enqueue(ReadyLap ready) {
    ready.ready_s = monotonic_s();
    hold(std::move(ready));
}

void MopWorker::hold(ReadyLap ready) {
    beside_.put_back(ready);
    ready_.push(std::move(ready));
}

// The state waits here until rank 0 chooses the next shard.
void MopWorker::ask(ReadyLap ready) {
    ready.ready_s = ReadyLap::k_asks;
    hold(std::move(ready));
}

// Planned: rank 0 need not know.
void MopWorker::tell(Turn::What what, ReadyLap const& ready) {
    if (!dispatched_) return;
    courier().send(Rank(0), MessageKind::turn, encode(turn_of(what, ready.journey, runner())));
}

void MopWorker::end_trial(ReadyLap& ready) {
    finish(ready.journey, ready.state());
    tell(Turn::What::over, ready);
    drop(ready.journey.lap.trial);
}

void MopWorker::end_lap(ReadyLap& ready) {
    auto const trial = ready.journey.lap.trial;
    finish(ready.journey, ready.state());
    tell(Turn::What::over, ready);
    keeper().rest(trial, beside_.release(ready));
    start_next(trial);
}

std::unique_ptr<Worker> make_mop_worker(WorkerResources const& resources) {
    if (has_group(resources) && !leads_group(resources)) return std::make_unique<GroupMember>(resources);
    return std::make_unique<MopWorker>(resources);
}

}  // namespace hopscotch
