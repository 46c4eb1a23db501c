// SPDX-License-Identifier: Apache-2.0
#include "strategy/mop/mop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <list>
#include <map>
#include <set>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/fault.hpp"
#include "strategy/common/trainer_base.hpp"

namespace hopscotch {
namespace {

class Mop : public TrainerBase {
public:
    explicit Mop(Resources resources)
        : TrainerBase(std::move(resources)), hop_delay_s_(resources_.experiment.run.inject.sync_s) {}

    void execute(Lap const& lap) override { resources_.courier.send(rank_of(home_of(lap)), MessageKind::lap, encode(lap)); }

private:
    struct Ready {
        Journey journey;
        WaitingState waiting;  // empty: the trial's very first unit builds it
        double queued_s = 0;
        std::uint64_t expected_hash = 0;  // of a state that came over the network; 0: it never left
        Rank from = {};                   // which sent it
        Buffer state = {};                // in its turn
    };

    void handle(Incoming message) override {
        if (message.kind == MessageKind::lap) return accept_lap(decode<Lap>(message.body));
        require(message.kind == MessageKind::state, fmt::format("unexpected message {}", static_cast<int>(message.kind)));
        auto journey = decode<Journey>(message.body);
        auto const hash = journey.record.state_hash;
        if (left_why(journey.lap.trial) != nullptr) {  // it has ended by now, but what it has learned is saved, and told
            Ready left{std::move(journey), {}, 0, hash, message.from, std::move(message.state)};
            return leave_lap(left);
        }
        if (dropped_.contains(journey.lap.trial)) return;
        fault_point("hop.receive");
        hop_s_.push_back(unix_s() - journey.pushed_unix_s);
        journey.saved = false;  // by a thread of who sent it, which may die before it is written
        delayed_.push_back(
            {std::move(journey), store().hold(std::move(message.state)), monotonic_s() + hop_delay_s_, hash, message.from});
        if (hop_delay_s_ == 0) admit_delayed();
    }

    void accept_lap(Lap lap) {
        auto const trial = lap.trial;
        if (dropped_.contains(trial)) return;
        auto& mine = at_home_[trial];
        mine.laps.push_back(std::move(lap));
        if (!mine.under_way) start_next(trial);
    }

    // The next lap of a trial whose state rests here (or does not exist yet).
    void start_next(TrialId trial) {
        auto& mine = at_home_[trial];
        mine.under_way = !mine.laps.empty();
        if (!mine.under_way) return;
        auto const lap = std::move(mine.laps.front());
        mine.laps.pop_front();
        if (!lap.from.empty()) mine.resting = {};  // it becomes another's
        enqueue({begin(lap), std::move(mine.resting)});
    }

    void leave_waiting(TrialId trial) override {
        for (auto* list : {&ready_, &delayed_}) {
            auto const mine =
                std::ranges::find_if(*list, [&](Ready const& ready) { return ready.journey.lap.trial == trial; });
            if (mine == list->end()) continue;
            auto ready = std::move(*mine);
            if (ready.waiting) ready.state = store().take(std::move(ready.waiting));
            return leave_lap(ready);
        }
    }

    void leave_lap(Ready& ready) {
        if (ready.state && came_damaged(ready)) return;
        ready.journey.record.valid_seconds = 0;
        end_left(ready.journey, ready.state.bytes());
        drop(ready.journey.lap.trial);
    }

    void drop(TrialId trial) override {
        dropped_.insert(trial);
        at_home_.erase(trial);
        auto const of_trial = [&](Ready const& ready) { return ready.journey.lap.trial == trial; };
        std::erase_if(ready_, of_trial);
        std::erase_if(delayed_, of_trial);
    }

    // But for states that came damaged: their trials go back to the files before.
    void save_all() override {
        for (auto* list : {&ready_, &delayed_})
            for (auto& ready : *list) {
                bool good = true;
                if (ready.waiting) store().look(ready.waiting, [&](ByteView state) { good = is_as_it_left(ready, state); });
                if (good) save_waiting(ready.journey, ready.waiting);
            }
        save_resting();
    }
    WaitingState const* state_at_rest(TrialId trial) const override {
        auto const found = at_home_.find(trial);
        return found == at_home_.end() ? nullptr : &found->second.resting;
    }

    bool has_work() const override { return !ready_.empty() || (!delayed_.empty() && seconds_to_next_delayed() == 0); }

    // Hops that run.inject holds back, in the order of their arrival.
    double seconds_to_next_delayed() const { return std::max(0.0, delayed_.front().queued_s - monotonic_s()); }
    double idle_wait_s() const override { return delayed_.empty() ? 1 : std::min(1.0, seconds_to_next_delayed()); }
    void admit_delayed() {
        while (!delayed_.empty() && seconds_to_next_delayed() == 0) {
            ready_.push_back(std::move(delayed_.front()));
            delayed_.pop_front();
        }
    }

    void enqueue(Ready ready) {
        if (ready.state) ready.waiting = store().hold(std::move(ready.state));
        ready.queued_s = monotonic_s();
        ready_.push_back(std::move(ready));
    }

    bool validating(Ready const& ready) const { return ready.journey.step == resources_.runner->shards(); }

    // Validation first, then release order, then the longest remaining trial, then the lowest id.
    bool goes_before(Ready const& a, Ready const& b) const {
        if (validating(a) != validating(b)) return validating(a);
        auto const& x = a.journey.lap;
        auto const& y = b.journey.lap;
        if (x.release != y.release) return x.release < y.release;
        if (x.remaining_cost != y.remaining_cost) return x.remaining_cost > y.remaining_cost;
        return x.trial < y.trial;
    }

    void work() override {
        admit_delayed();
        auto const first =
            std::min_element(ready_.begin(), ready_.end(), [this](auto& a, auto& b) { return goes_before(a, b); });
        auto ready = std::move(*first);
        ready_.erase(first);
        balance();
        if (!ready.waiting && !ready.journey.lap.from.empty()) return go_on_from_file(std::move(ready));
        auto const started_s = monotonic_s();
        auto const wait_s = ready.queued_s <= last_end_s_ ? started_s - last_end_s_ : -1;
        bool const validation = validating(ready);
        bool complete = false;
        if (!prepare(ready)) {
            complete = true;
        } else if (came_damaged(ready)) {
            return;  // rank 0 has the job go on from the checkpoints
        } else if (validation) {
            complete = validate(ready.journey, ready.state.bytes());
        } else {
            auto const prepared_s = monotonic_s() - started_s;
            auto const units = ready.journey.record.units.size();
            train(ready.journey, ready.state.bytes());
            if (ready.journey.record.units.size() > units) charge(ready.journey.record.units.back(), prepared_s, wait_s);
        }
        last_end_s_ = monotonic_s();
        if (ready.journey.record.outcome != Outcome::finished) return end_trial(ready);
        if (complete) return end_lap(ready);
        if (!validation) save_if_due(ready.journey, ready.state.bytes());
        move_on(std::move(ready));
    }

    // The order in which they run; after them what rests here and waits for rank 0.
    void balance() {
        if (!store().crowded()) return;
        std::vector<Ready const*> queued;
        for (auto* list : {&ready_, &delayed_})
            for (auto const& ready : *list) queued.push_back(&ready);
        std::ranges::stable_sort(queued, [this](auto* a, auto* b) { return goes_before(*a, *b); });
        std::vector<WaitingState const*> order;
        for (auto const* ready : queued) order.push_back(&ready->waiting);
        for (auto const& [trial, mine] : at_home_) order.push_back(&mine.resting);
        store().balance(order);
    }

    // A lap that another job has begun: on to where its next unit is.
    void go_on_from_file(Ready ready) {
        auto& journey = ready.journey;
        ready.state = load(journey);
        journey.lap.from.clear();
        move_on(std::move(ready));
    }

    bool is_as_it_left(Ready const& ready, ByteView state) {
        return ready.expected_hash == 0 ||
               state_hash(state, resources_.runner->layout(ready.journey.lap)) == ready.expected_hash;
    }

    bool came_damaged(Ready& ready) {
        if (is_as_it_left(ready, ready.state.bytes())) {
            ready.expected_hash = 0;
            return false;
        }
        auto const text = fmt::format(
            "trial {}, epoch {}: its state was damaged on its way from rank {} to rank {} ({}): check the memory of both "
            "and the network",
            ready.journey.lap.trial.value, ready.journey.lap.epoch, ready.from.value,
            resources_.courier.world().rank().value, host_name());
        resources_.courier.send(Rank(0), MessageKind::damaged, encode(Fatal{text}));
        return true;
    }

    // Brings the state here, or builds the first one. False (and the outcome says why) if that fails.
    bool prepare(Ready& ready) {
        auto& record = ready.journey.record;
        try {
            ready.state = store().take(std::move(ready.waiting));
            if (!ready.state) {
                ready.state = resources_.runner->initial_state(ready.journey.lap, resources_.courier.pool());
            }
            return true;
        } catch (std::exception const& error) {
            record.outcome = Outcome::failed;
            record.cause = cause_of(error);
            record.reason = fmt::format("epoch {} on trainer {} ({}): {}", ready.journey.lap.epoch,
                                        resources_.runner->self().value, host_name(), error.what());
            return false;
        }
    }

    // Building or checking the state is part of the unit's work.
    static void charge(UnitRecord& unit, double prepared_s, double wait_s) {
        unit.start_unix_s -= prepared_s;
        unit.seconds += prepared_s;
        unit.wait_s = wait_s;
    }

    void end_trial(Ready& ready) {
        finish(ready.journey, ready.state.bytes());
        drop(ready.journey.lap.trial);
    }

    void end_lap(Ready& ready) {
        auto const trial = ready.journey.lap.trial;
        finish(ready.journey, ready.state.bytes());
        at_home_[trial].resting = store().hold(std::move(ready.state));
        start_next(trial);
    }

    // A step to a shard of this trainer is a stay; every other is a hop.
    void move_on(Ready ready) {
        auto& journey = ready.journey;
        auto const shards = resources_.runner->shards();
        auto const next = journey.step < shards
                              ? resources_.owners.of(resources_.runner->shard_of(journey.lap, journey.step))
                              : home_of(journey.lap);
        if (next == resources_.runner->self()) return enqueue(std::move(ready));
        ++journey.record.hops;
        journey.record.hop_bytes += static_cast<std::int64_t>(ready.state.bytes().size());
        journey.pushed_unix_s = unix_s();
        if (fault_at("hop.send") == Fault::flip) ready.state.bytes().front() ^= std::byte{1};
        resources_.courier.push(rank_of(next), encode(journey), std::move(ready.state));
    }

    struct AtHome {
        std::deque<Lap> laps;  // released, not yet started
        WaitingState resting;  // between laps
        bool under_way = false;
    };
    std::map<TrialId, AtHome> at_home_;
    std::list<Ready> ready_, delayed_;  // delayed: queued_s is when they become ready
    double hop_delay_s_;
    std::set<TrialId> dropped_;
    double last_end_s_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_mop(Resources resources) { return std::make_unique<Mop>(std::move(resources)); }

}  // namespace hopscotch
