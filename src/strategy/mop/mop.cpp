// SPDX-License-Identifier: Apache-2.0
#include "strategy/mop/mop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <list>
#include <map>
#include <set>
#include <tuple>

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
#include "strategy/common/roll_call_messages.hpp"
#include "strategy/mop/mop_messages.hpp"
#include "strategy/trainer/state_file.hpp"
#include "strategy/trainer/state_store.hpp"
#include "strategy/trainer/trainer_loop.hpp"
#include "strategy/trainer/trial_runner.hpp"

namespace hopscotch {
namespace {

constexpr double k_look_for_late_hops_s = 0.001;
constexpr double k_asks = std::numeric_limits<double>::infinity();

// The shards of a lap so far. Those held out have no record; they come last, in the order of the route.
std::vector<ShardId> visited(Journey const& journey, TrialRunner const& runner) {
    std::vector<ShardId> out;
    for (auto const& unit : journey.record.units) out.push_back(unit.shard);
    auto const& lap = journey.lap;
    for (int step = static_cast<int>(std::ssize(out)); step < journey.step; ++step)
        out.push_back(planned_shard(lap.trial, step, runner.shards(), runner.held_out(lap), lap.route));
    return out;
}

class MopWorker : public TrainerLoop {
public:
    explicit MopWorker(WorkerResources const& resources)
        : TrainerLoop(resources, StateKeeper::Holds::whole_states,
                      resources.experiment.run.inject.sync_s > 0 ? k_look_for_late_hops_s : 1),
          dispatched_(policy_named(resources.experiment.strategy.policy).dispatched()) {}

private:
    // A lap whose next unit is here.
    struct Ready {
        Journey journey;
        WaitingState waiting;  // empty: the state is in the file lap.from, or the trial's very first unit builds it
        double ready_s = 0;    // run.inject can delay a hop: not before this time; k_asks: rank 0 has not answered yet
        std::uint64_t expected_hash = 0;  // of a state that arrived from another trainer; 0: it never left this one
        Rank from = {};                   // that trainer's
        Buffer state = {};                // while it trains
    };

    void handle(Incoming message) override;
    void accept_lap(Lap lap);
    void accept_visit(Visit const& visit);
    void accept_state(Incoming message);
    void start_next(TrialId trial);
    void leave_waiting(TrialId trial) override;
    void leave_lap(Ready& ready);
    void drop(TrialId trial) override;
    void save_queued() override;
    bool may_work() const override;
    void add_totals(Goodbye& goodbye) const override { goodbye.hop_s = hop_s_; }
    void work() override;

    Ready take_first();
    bool goes_before(Ready const& a, Ready const& b) const;
    bool validating(Ready const& ready) const { return ready.journey.step == runner().shards(); }
    void balance();
    // The result of one turn: a unit, a piece of validation (validated: the last one), or neither.
    enum class Step { trained, validates, validated, damaged, failed };
    Step run(Ready& ready);
    bool prepare(Ready& ready);
    bool is_as_it_left(Ready const& ready, ByteView state) const;
    bool came_damaged(Ready& ready);
    void continue_from_file(Ready ready);
    void enqueue(Ready ready);
    void ask(Ready ready);
    void tell(Turn::What what, Ready const& ready);
    void end_trial(Ready& ready);
    void end_lap(Ready& ready);
    void move_on(Ready ready);
    void go_to(TrainerId next, Ready ready);

    bool dispatched_;  // by rank 0: strategy.policy
    struct AtHome {
        std::deque<Lap> laps;  // released, not yet started
        bool under_way = false;
    };
    std::map<TrialId, AtHome> at_home_;
    std::list<Ready> ready_;  // in the order in which they came
    std::set<TrialId> dropped_;
    double last_end_s_ = 0;
    Histogram hop_s_;  // from push to arrival
};

void MopWorker::handle(Incoming message) {
    if (message.kind == MessageKind::lap) return accept_lap(decode<Lap>(message.body));
    if (message.kind == MessageKind::visit) return accept_visit(decode<Visit>(message.body));
    require(message.kind == MessageKind::state, unexpected(message.kind));
    accept_state(std::move(message));
}

void MopWorker::accept_state(Incoming message) {
    auto journey = decode<Journey>(message.body);
    arrive(journey, message.arrived_s);
    auto const trial = journey.lap.trial;
    auto const hash = journey.record.state_hash;
    if (left_why(trial) != nullptr) {  // the lap has been left: it ends now, with what the trial has learned
        Ready left{std::move(journey), {}, 0, hash, message.from, std::move(message.state)};
        return leave_lap(left);
    }
    if (dropped_.contains(trial)) return;
    fault_point("hop.receive");
    hop_s_.add(unix_s() - journey.pushed_unix_s);
    journey.saved = false;  // the sender's thread may die before it has written the file
    auto const ready_s = monotonic_s() + resources().experiment.run.inject.sync_s;
    ready_.push_back({std::move(journey), keeper().store().hold(std::move(message.state)), ready_s, hash, message.from});
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
    Ready ready{std::move(begun.journey), std::move(begun.state)};
    if (!dispatched_ || !lap.from.empty()) return enqueue(std::move(ready));
    tell(Turn::What::waits, ready);
    ask(std::move(ready));
}

void MopWorker::leave_waiting(TrialId trial) {
    auto const mine = std::ranges::find_if(ready_, [&](Ready const& ready) { return ready.journey.lap.trial == trial; });
    if (mine == ready_.end()) return;
    auto ready = std::move(*mine);
    ready_.erase(mine);
    if (ready.waiting) ready.state = keeper().store().take(std::move(ready.waiting));
    leave_lap(ready);
}

void MopWorker::leave_lap(Ready& ready) {
    if (ready.state && came_damaged(ready)) return;
    ready.journey.record.valid_seconds = 0;
    end_left(ready.journey, ready.state.bytes());
    tell(Turn::What::over, ready);
    drop(ready.journey.lap.trial);
}

void MopWorker::drop(TrialId trial) {
    dropped_.insert(trial);
    at_home_.erase(trial);
    std::erase_if(ready_, [&](Ready const& ready) { return ready.journey.lap.trial == trial; });
}

// Except states that arrived damaged: their trials go back to the files before.
void MopWorker::save_queued() {
    for (auto& ready : ready_) {
        bool good = true;
        if (ready.waiting) keeper().store().look(ready.waiting, [&](ByteView state) { good = is_as_it_left(ready, state); });
        if (good) keeper().save_waiting(ready.journey, ready.waiting);
    }
}

bool MopWorker::may_work() const {
    if (paused()) return false;
    return std::ranges::any_of(ready_, [now = monotonic_s()](Ready const& ready) { return ready.ready_s <= now; });
}

// Validation first, then release order, then the most work left, then the first in ready_, which came first. The work left
// counts units, not laps: else, of equal trials, the last would wait until the others have ended their laps.
bool MopWorker::goes_before(Ready const& a, Ready const& b) const {
    auto const rank = [this](Ready const& ready) {
        auto const& lap = ready.journey.lap;
        return std::tuple(validating(ready) ? 0 : 1, lap.release, ready.journey.step * lap.unit_cost - lap.remaining_cost);
    };
    return rank(a) < rank(b);
}

MopWorker::Ready MopWorker::take_first() {
    auto const now = monotonic_s();
    auto const first = std::ranges::min_element(ready_, [&](Ready const& a, Ready const& b) {
        bool const a_late = a.ready_s > now, b_late = b.ready_s > now;
        return a_late == b_late ? goes_before(a, b) : b_late;
    });
    auto ready = std::move(*first);
    ready_.erase(first);
    return ready;
}

void MopWorker::work() {
    auto ready = take_first();
    balance();
    if (!ready.waiting && !ready.journey.lap.from.empty()) return continue_from_file(std::move(ready));
    auto const step = run(ready);
    if (step == Step::damaged) return;  // rank 0 lets the job continue from the checkpoints
    last_end_s_ = monotonic_s();
    if (ready.journey.record.outcome != Outcome::finished) return end_trial(ready);
    if (step == Step::validated) return end_lap(ready);
    if (step == Step::trained) {
        tell(Turn::What::ended, ready);
        keeper().save_if_due(ready.journey, ready.state.bytes());
    }
    move_on(std::move(ready));
}

namespace {

// To build or to check the state is part of the unit's work.
void charge(UnitRecord& unit, double prepared_s, double wait_s) {
    unit.start_unix_s -= prepared_s;
    unit.seconds += prepared_s;
    unit.wait_s = wait_s;
}

}  // namespace

MopWorker::Step MopWorker::run(Ready& ready) {
    auto& journey = ready.journey;
    auto const started_s = monotonic_s();
    auto const wait_s = ready.ready_s <= last_end_s_ ? started_s - last_end_s_ : -1;
    if (!prepare(ready)) return Step::failed;
    if (came_damaged(ready)) return Step::damaged;
    if (validating(ready)) return validate(journey, ready.state.bytes()) ? Step::validated : Step::validates;
    auto const prepared_s = monotonic_s() - started_s;
    auto const units = journey.record.units.size();
    train(journey, ready.state.bytes());
    if (journey.record.units.size() > units) charge(journey.record.units.back(), prepared_s, wait_s);
    return Step::trained;
}

// Brings the state here, or builds the first one. False (and the outcome says why) if that fails.
bool MopWorker::prepare(Ready& ready) {
    try {
        ready.state = keeper().store().take(std::move(ready.waiting));
        if (!ready.state) ready.state = runner().initial_state(ready.journey.lap, pool());
        return true;
    } catch (std::exception const& error) {
        fail(ready.journey, error);
        return false;
    }
}

bool MopWorker::is_as_it_left(Ready const& ready, ByteView state) const {
    return ready.expected_hash == 0 || state_hash(state, runner().layout(ready.journey.lap)) == ready.expected_hash;
}

bool MopWorker::came_damaged(Ready& ready) {
    if (is_as_it_left(ready, ready.state.bytes())) {
        ready.expected_hash = 0;
        return false;
    }
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
    std::vector<Ready const*> queued;
    for (auto const& ready : ready_) queued.push_back(&ready);
    std::ranges::stable_sort(queued, [this](auto* a, auto* b) { return goes_before(*a, *b); });
    std::vector<WaitingState const*> order;
    for (auto const* ready : queued) order.push_back(&ready->waiting);
    keeper().balance(std::move(order));
}

// A lap that another job has begun goes to the trainer of its next unit.
void MopWorker::continue_from_file(Ready ready) {
    ready.state = load_state(resources(), ready.journey);
    ready.journey.lap.from.clear();
    if (!validating(ready)) tell(Turn::What::waits, ready);
    move_on(std::move(ready));
}

void MopWorker::enqueue(Ready ready) {
    if (ready.state) ready.waiting = keeper().store().hold(std::move(ready.state));
    ready.ready_s = monotonic_s();
    ready_.push_back(std::move(ready));
}

// The state waits here until rank 0 says which shard comes next.
void MopWorker::ask(Ready ready) {
    enqueue(std::move(ready));
    ready_.back().ready_s = k_asks;
}

// Planned: rank 0 need not know.
void MopWorker::tell(Turn::What what, Ready const& ready) {
    if (!dispatched_) return;
    auto const& journey = ready.journey;
    auto const& lap = journey.lap;
    Turn turn;
    turn.what = what;
    turn.lap.id = lap.id();
    if (what == Turn::What::waits) {
        turn.lap.remaining = lap.remaining_cost - journey.step * lap.unit_cost;
        turn.lap.at = runner().self();
        turn.lap.route = lap.route;
        turn.lap.held_out = runner().held_out(lap);
        turn.lap.visited = visited(journey, runner());
        turn.lap.bound = journey.shard;
        turn.lap.repeats = lap.repeats;
    } else if (std::ssize(journey.record.units) == journey.step) {  // else it was evaluated on a shard held out
        turn.rows = journey.record.units.back().rows;
        turn.seconds = journey.record.units.back().seconds;
    }
    courier().send(Rank(0), MessageKind::turn, encode(turn));
}

void MopWorker::accept_visit(Visit const& visit) {
    auto const found = std::ranges::find_if(ready_, [&](Ready const& ready) {
        return ready.journey.lap.id() == visit.lap && ready.ready_s == k_asks;
    });
    if (found == ready_.end() || paused()) return;  // it has ended here, or rests in a file until the job goes on
    fault_point("hop.visit");
    auto ready = std::move(*found);
    ready_.erase(found);
    ready.journey.shard = visit.shard;
    auto const next = resources().owners.of(visit.shard);
    if (next == runner().self()) return enqueue(std::move(ready));
    if (!prepare(ready)) return end_trial(ready);
    if (!came_damaged(ready)) go_to(next, std::move(ready));
}

void MopWorker::end_trial(Ready& ready) {
    finish(ready.journey, ready.state.bytes());
    tell(Turn::What::over, ready);
    drop(ready.journey.lap.trial);
}

void MopWorker::end_lap(Ready& ready) {
    auto const trial = ready.journey.lap.trial;
    finish(ready.journey, ready.state.bytes());
    tell(Turn::What::over, ready);
    keeper().rest(trial, std::move(ready.state));
    start_next(trial);
}

// A step to a shard of this trainer is a stay; every other is a hop.
void MopWorker::move_on(Ready ready) {
    bool const trained = validating(ready);
    if (!trained && dispatched_) return ask(std::move(ready));
    auto const& journey = ready.journey;
    auto const next = trained ? home_of(journey.lap, resources())
                              : resources().owners.trains(journey.lap.id(), journey.step, runner().shard_of(journey));
    if (next == runner().self()) return enqueue(std::move(ready));
    go_to(next, std::move(ready));
}

void MopWorker::go_to(TrainerId next, Ready ready) {
    auto& journey = ready.journey;
    ++journey.record.hops;
    journey.record.hop_bytes += static_cast<std::int64_t>(ready.state.bytes().size());
    journey.pushed_unix_s = unix_s();
    depart(journey, monotonic_s());
    if (fault_at("hop.send") == Fault::flip) ready.state.bytes().front() ^= std::byte{1};
    courier().push(rank_of(next), encode(journey), std::move(ready.state));
}

}  // namespace

std::unique_ptr<Worker> make_mop_worker(WorkerResources const& resources) { return std::make_unique<MopWorker>(resources); }

}  // namespace hopscotch
