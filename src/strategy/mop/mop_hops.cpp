// SPDX-License-Identifier: Apache-2.0
// The states that arrive at a trainer of mop and leave it.
#include <fmt/format.h>

#include <utility>

#include "comm/codec.hpp"
#include "comm/courier.hpp"
#include "comm/world.hpp"
#include "core/clock.hpp"
#include "core/fault.hpp"
#include "model/state/state.hpp"
#include "strategy/common/lap_codec.hpp"
#include "strategy/common/messages.hpp"
#include "strategy/mop/mop_messages.hpp"
#include "strategy/mop/mop_worker.hpp"
#include "strategy/trainer/state_file.hpp"
#include "strategy/trainer/state_store.hpp"
#include "strategy/trainer/trial_runner.hpp"

namespace hopscotch {
namespace {

constexpr double k_look_for_arrivals_s = 0.002;  // between looks for arrivals, in the middle of a unit

}  // namespace

void MopWorker::accept_state(Incoming message) {
    auto journey = decode<Journey>(message.body);
    arrive(journey, message.arrived_s);
    auto const trial = journey.lap.trial;
    auto const hash = journey.pushed.hash;
    if (left_why(trial) != nullptr) {  // the lap has been left: it ends now, with the state as it is
        ReadyLap left{std::move(journey), {}, 0, hash, message.from};
        beside_.take(left, std::move(message.state));
        return leave_lap(left);
    }
    if (dropped_.contains(trial)) return;
    fault_point("hop.receive");
    hop_s_.add(unix_s() - journey.pushed.unix_s);
    journey.saved.here = false;  // the sender's thread may die before it has written the file
    auto const ready_s = monotonic_s() + resources().experiment.run.inject.sync_s;
    ready_.push({std::move(journey), keeper().store().hold(std::move(message.state)), ready_s, hash, message.from});
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

// A lap that another job has begun goes to the trainer of its next unit.
void MopWorker::continue_from_file(ReadyLap ready) {
    beside_.take(ready, load_state(resources(), ready.journey));
    ready.journey.lap.from.clear();
    if (!validating(ready)) tell(Turn::What::waits, ready);
    move_on(std::move(ready));
}

void MopWorker::accept_visit(Visit const& visit) {
    if (paused()) return;  // the lap rests in a file until the job goes on
    auto found = ready_.take([&](ReadyLap const& one) { return one.journey.lap.id() == visit.lap && one.asks(); });
    if (!found) return;  // the lap has ended here
    fault_point("hop.visit");
    auto ready = *std::move(found);
    ready.journey.shard = visit.shard;
    auto const next = resources().owners.of(visit.shard);
    if (next == runner().self()) return enqueue(std::move(ready));
    if (!prepare(ready)) return end_trial(ready);
    if (!came_damaged(ready)) hop(next, std::move(ready));
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
    journey.pushed.unix_s = unix_s();
    // A lap that begins with a hop has no unit with a hash.
    journey.pushed.hash = journey.record.units.empty() ? state_hash(state.bytes(), layout) : journey.record.state.hash;
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

}  // namespace hopscotch
