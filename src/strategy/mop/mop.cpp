// SPDX-License-Identifier: Apache-2.0
#include "strategy/mop/mop.hpp"

#include <fmt/format.h>

#include <deque>
#include <exception>
#include <map>
#include <set>
#include <utility>

#include "comm/codec.hpp"
#include "comm/courier.hpp"
#include "comm/world.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/fault.hpp"
#include "model/state/state.hpp"
#include "schedule/policy.hpp"
#include "strategy/common/lap_codec.hpp"
#include "strategy/common/messages.hpp"
#include "strategy/common/placement.hpp"
#include "strategy/common/roll_call_messages.hpp"
#include "strategy/mop/group_member.hpp"
#include "strategy/mop/mop_messages.hpp"
#include "strategy/mop/ready_queue.hpp"
#include "strategy/mop/units_beside.hpp"
#include "strategy/together/unit_group.hpp"
#include "strategy/trainer/helper.hpp"
#include "strategy/trainer/state_file.hpp"
#include "strategy/trainer/state_store.hpp"
#include "strategy/trainer/trainer_loop.hpp"
#include "strategy/trainer/trial_runner.hpp"

namespace hopscotch {
namespace {

constexpr double k_look_for_late_hops_s = 0.001;
constexpr double k_look_for_arrivals_s = 0.002;  // between looks for arrivals, in the middle of a unit

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
                                            resources.courier.world().trainers_on_host(), run.threads});
    bool const wanted = run.helper == HelperThreads::on || (run.helper == HelperThreads::automatic && spare);
    return wanted && !whole ? UnitsBeside::Wanted::yes : UnitsBeside::Wanted::no;
}

class MopWorker : public TrainerLoop {
public:
    explicit MopWorker(WorkerResources const& resources)
        : TrainerLoop(resources, StateKeeper::Holds::whole_states,
                      resources.experiment.run.inject.sync_s > 0 ? k_look_for_late_hops_s : 1),
          dispatched_(policy_named(resources.experiment.strategy.policy).dispatched()),
          ready_(resources.runner.visits()),
          beside_(this->resources(), keeper().store(), helper_of(resources)) {
        if (!has_group(resources)) return;
        group_.emplace(this->resources(), keeper(), [this](Incoming message) { set_aside(std::move(message)); });
    }

private:
    void handle(Incoming message) override;
    void accept_lap(Lap lap);
    void accept_visit(Visit const& visit);
    void accept_state(Incoming message);
    void start_next(TrialId trial);
    void leave_waiting(TrialId trial) override;
    void leave_lap(ReadyLap& ready);
    void drop(TrialId trial) override;
    void save_queued() override;
    bool may_work() const override;
    void settle() override;
    void between_updates() override;
    void add_totals(Goodbye& goodbye) const override { goodbye.hop_s = hop_s_; }
    void work() override;

    bool validating(ReadyLap const& ready) const { return ready.journey.step == runner().visits(); }
    void balance();
    // The result of one turn: a unit, a piece of validation (validated: the last one), or neither.
    enum class Step { trained, validates, validated, damaged, failed };
    Step run(ReadyLap& ready);
    void train_unit(ReadyLap& ready, UnitStart const& start);
    bool departs(ReadyLap const& ready);
    void depart(ReadyLap ready);
    void land();
    Step validate_lap(ReadyLap& ready);
    bool prepare(ReadyLap& ready);
    bool is_as_it_left(ReadyLap const& ready, ByteView state) const;
    TrainerId next_of(ReadyLap const& ready) const;
    bool came_damaged(ReadyLap& ready);
    void continue_from_file(ReadyLap ready);
    void enqueue(ReadyLap ready);
    void hold(ReadyLap ready);
    void ask(ReadyLap ready);
    void tell(Turn::What what, ReadyLap const& ready);
    void end_trial(ReadyLap& ready);
    void end_lap(ReadyLap& ready);
    void move_on(ReadyLap ready);
    void hop(TrainerId next, ReadyLap ready);
    void go_to(TrainerId next, Journey& journey, Buffer state, StateLayout const& layout);

    bool dispatched_;  // by rank 0: strategy.policy
    struct AtHome {
        std::deque<Lap> laps;  // released, not yet started
        bool under_way = false;
    };
    std::map<TrialId, AtHome> at_home_;
    ReadyQueue ready_;
    std::optional<UnitGroup> group_;  // that this trainer leads
    std::set<TrialId> dropped_;
    double last_end_s_ = 0;
    Histogram hop_s_;                       // from push to arrival
    double next_look_s_ = 0;                // for arrivals, in the middle of a unit
    std::exception_ptr trouble_;            // of such a look
    std::optional<ReadyLap> leaves_first_;  // place of the lap that departs to this trainer: it may be the next to run
    UnitsBeside beside_;                    // first to go
};

void MopWorker::handle(Incoming message) {
    if (message.kind == MessageKind::lap) return accept_lap(decode<Lap>(message.body));
    if (message.kind == MessageKind::visit) return accept_visit(decode<Visit>(message.body));
    if (message.kind == MessageKind::share && group_) return group_->keep(message);
    require(message.kind == MessageKind::state, unexpected(message.kind));
    accept_state(std::move(message));
}

void MopWorker::accept_state(Incoming message) {
    auto journey = decode<Journey>(message.body);
    arrive(journey, message.arrived_s);
    auto const trial = journey.lap.trial;
    auto const hash = journey.pushed_hash;
    if (left_why(trial) != nullptr) {  // the lap has been left: it ends now, with what the trial has learned
        ReadyLap left{std::move(journey), {}, 0, hash, message.from};
        beside_.take(left, std::move(message.state));
        return leave_lap(left);
    }
    if (dropped_.contains(trial)) return;
    fault_point("hop.receive");
    hop_s_.add(unix_s() - journey.pushed_unix_s);
    journey.saved = false;  // the sender's thread may die before it has written the file
    auto const ready_s = monotonic_s() + resources().experiment.run.inject.sync_s;
    ready_.push({std::move(journey), keeper().store().hold(std::move(message.state)), ready_s, hash, message.from});
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

// Except states that arrived damaged: their trials go back to the files before.
void MopWorker::save_queued() {
    for (auto& ready : ready_.laps()) {
        beside_.put_back(ready);
        bool good = true;
        if (ready.waiting) keeper().store().look(ready.waiting, [&](ByteView state) { good = is_as_it_left(ready, state); });
        if (good) keeper().save_waiting(ready.journey, ready.waiting);
    }
}

bool MopWorker::may_work() const { return !paused() && (beside_.busy() || ready_.any(monotonic_s())); }

void MopWorker::work() {
    land();
    if (leaves_first_ && ready_.goes_before_all(*leaves_first_)) settle();  // as it would have been without a helper
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
    ready.journey.saved = false;
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

bool MopWorker::is_as_it_left(ReadyLap const& ready, ByteView state) const {
    return ready.expected_hash == 0 || state_hash(state, runner().layout(ready.journey.lap)) == ready.expected_hash;
}

bool MopWorker::came_damaged(ReadyLap& ready) {
    if (beside_.is_sound(ready)) return false;
    auto const text = fmt::format(
        "trial {}, epoch {}: its state was damaged on its way from rank {} to rank {} ({}); check the memory of both hosts "
        "and the network",
        ready.journey.lap.trial.value, ready.journey.lap.epoch, ready.from.value, courier().world().rank().value,
        host_name());
    courier().send(Rank(0), MessageKind::damaged, encode(Fatal{text}));
    return true;
}

// The queue in the order in which it will run; after it the trials that rest here and wait for rank 0.
void MopWorker::balance() {
    if (!keeper().store().crowded()) return;
    std::vector<WaitingState const*> order;
    for (auto const* ready : ready_.in_order()) order.push_back(&ready->waiting);
    keeper().balance(std::move(order));
}

// A lap that another job has begun goes to the trainer of its next unit.
void MopWorker::continue_from_file(ReadyLap ready) {
    beside_.take(ready, load_state(resources(), ready.journey));
    ready.journey.lap.from.clear();
    if (!validating(ready)) tell(Turn::What::waits, ready);
    move_on(std::move(ready));
}

void MopWorker::enqueue(ReadyLap ready) {
    ready.ready_s = monotonic_s();
    hold(std::move(ready));
}

void MopWorker::hold(ReadyLap ready) {
    beside_.put_back(ready);
    ready_.push(std::move(ready));
}

// The state waits here until rank 0 says which shard comes next.
void MopWorker::ask(ReadyLap ready) {
    ready.ready_s = ReadyLap::k_asks;
    hold(std::move(ready));
}

// Planned: rank 0 need not know.
void MopWorker::tell(Turn::What what, ReadyLap const& ready) {
    if (!dispatched_) return;
    courier().send(Rank(0), MessageKind::turn, encode(turn_of(what, ready.journey, runner())));
}

void MopWorker::accept_visit(Visit const& visit) {
    if (paused()) return;  // the lap rests in a file until the job goes on
    auto found = ready_.take([&](ReadyLap const& one) { return one.journey.lap.id() == visit.lap && one.asks(); });
    if (!found) return;  // it has ended here
    fault_point("hop.visit");
    auto ready = *std::move(found);
    ready.journey.shard = visit.shard;
    auto const next = resources().owners.of(visit.shard);
    if (next == runner().self()) return enqueue(std::move(ready));
    if (!prepare(ready)) return end_trial(ready);
    if (!came_damaged(ready)) hop(next, std::move(ready));
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

// A step to a shard of this trainer is a stay; every other is a hop.
TrainerId MopWorker::next_of(ReadyLap const& ready) const {
    auto const& journey = ready.journey;
    if (validating(ready)) return home_of(journey.lap, resources());
    return resources().owners.trains(journey.lap.id(), journey.step, runner().shard_of(journey));
}

void MopWorker::move_on(ReadyLap ready) {
    if (!validating(ready) && dispatched_) return ask(std::move(ready));
    auto const next = next_of(ready);
    if (next == runner().self()) return enqueue(std::move(ready));
    hop(next, std::move(ready));
}

void MopWorker::hop(TrainerId next, ReadyLap ready) {
    auto const layout = ready.hand->layout;
    go_to(next, ready.journey, beside_.release(ready), *layout);
}

// On this thread, or on the helper.
void MopWorker::go_to(TrainerId next, Journey& journey, Buffer state, StateLayout const& layout) {
    ++journey.record.hops.count;
    journey.record.hops.bytes += static_cast<std::int64_t>(state.bytes().size());
    journey.pushed_unix_s = unix_s();
    // A lap that begins with a hop has no unit, whose hash would do.
    journey.pushed_hash = journey.record.units.empty() ? state_hash(state.bytes(), layout) : journey.record.state.hash;
    hopscotch::depart(journey, monotonic_s());
    if (fault_at("hop.send") == Fault::flip) state.bytes().front() ^= std::byte{1};
    courier().push(rank_of(next), encode(journey), std::move(state));
}

// A file of the state needs its hash, so a unit that is due for one ends as a whole.
bool MopWorker::departs(ReadyLap const& ready) {
    bool const due = paused() || (keeper().saves() && keeper().is_due(ready.journey));
    return !due && beside_.departs(ready);
}

// On the helper: a hop leaves as soon as its hash is known, while the next unit trains.
void MopWorker::depart(ReadyLap ready) {
    auto const next = next_of(ready);
    leaves_first_.reset();
    if (next == runner().self()) {
        auto& place = leaves_first_.emplace().journey;
        place.lap = ready.journey.lap;
        place.step = ready.journey.step;
    }
    beside_.depart(std::move(ready), [this, next](ReadyLap& lap) {
        if (next == runner().self()) return UnitsBeside::Then::lands;
        go_to(next, lap.journey, std::move(lap.hand->buffer), *lap.hand->layout);
        return UnitsBeside::Then::left;
    });
}

void MopWorker::land() {
    for (auto& ready : beside_.landed()) {
        leaves_first_.reset();
        auto const& record = ready.journey.record;
        if (dropped_.contains(record.trial)) continue;
        if (record.outcome == Outcome::failed) runner().look_at_device(record.reason);
        if (record.outcome != Outcome::finished)
            end_trial(ready);
        else
            enqueue(std::move(ready));
    }
}

void MopWorker::settle() {
    beside_.settle();
    land();
}

// States that arrive meanwhile are taken in, so that the next one is checked before its turn.
void MopWorker::between_updates() {
    auto const now = monotonic_s();
    if (!beside_.has_helper() || now < next_look_s_) return;
    next_look_s_ = now + k_look_for_arrivals_s;
    try {
        while (auto message = courier().receive(0)) {
            bool const stays =
                message->kind == MessageKind::state && left_why(decode<Journey>(message->body).lap.trial) == nullptr;
            if (stays)
                accept_state(std::move(*message));
            else
                set_aside(std::move(*message));
        }
        if (auto* const next = ready_.first(now)) beside_.announce(*next);
    } catch (std::exception const&) {
        trouble_ = std::current_exception();  // not the fault of the trial that trains
    }
}

}  // namespace

std::unique_ptr<Worker> make_mop_worker(WorkerResources const& resources) {
    if (has_group(resources) && !leads_group(resources)) return std::make_unique<GroupMember>(resources);
    return std::make_unique<MopWorker>(resources);
}

}  // namespace hopscotch
