// SPDX-License-Identifier: Apache-2.0
#include "strategy/small_world.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.hpp"
#include "core/json.hpp"
#include "core/rng.hpp"
#include "experiment/assignment.hpp"
#include "experiment/reader.hpp"
#include "search/search.hpp"
#include "strategy/mop/ready_queue.hpp"
#include "strategy/mop/units_beside.hpp"

namespace hopscotch::testing {
namespace small_world {

Experiment experiment_of(WorldSize const& size) {
    Problems problems("world.json");
    auto out = read_experiment(
        fmt::format(R"({{"seed": 5, "data": {{"path": "d"}}, "model": {{"name": "mlp"}}, "run": {{"dir": "r"}},
                         "train": {{"epochs": {}}}, "search": {{"metric": "val_loss", {}}},
                         "space": {{"train.optimizer.lr": {{"type": "float", "low": 1e-4, "high": 1, "log": true}}}}}})",
                    size.epochs, size.search),
        {}, problems);
    problems.throw_if_any();
    return out;
}

double drawn(LapId const& lap) { return Rng(stream_key(7, Purpose::synthetic, {lap.trial.value, lap.epoch})).uniform(); }

Order order_of(Order::Kind kind, LapId const& lap) {
    if (kind == Order::Kind::finish) return {kind, {}, -1, {}, "finished by a user"};
    Order out{kind, TrialId(0), -1, {}, "a user's"};
    if (kind == Order::Kind::clone) {
        out.epoch = lap.trial == TrialId(0) ? lap.epoch : 0;
        out.assignment = {{"train.optimizer.lr", Json(0.5)}};
    }
    return out;
}

LapRecord record_of(LapId const& lap, std::optional<Order::Kind> order) {
    LapRecord out;
    out.trial = lap.trial;
    out.epoch = lap.epoch;
    out.valid.rows = 1;
    out.valid.loss = drawn(lap);
    out.valid.correct = drawn(lap);
    UnitRecord unit;
    unit.rows = 1;
    unit.loss_sum = drawn(lap);
    out.units.push_back(unit);
    if (order) out.orders.push_back(order_of(*order, lap));
    return out;
}

std::string text_of(Decision const& d) {
    return fmt::format("{} {} after {} until {} from {}:{} at {}\n", name_of(d.kind), d.trial.value, d.epoch, d.until_epoch,
                       d.source.trial.value, d.source.epoch, d.virtual_time);
}

}  // namespace small_world
using namespace small_world;

Directors::Directors(WorldSize const& size) : size_(size), experiment_(experiment_of(size)) {}

HeardAs Directors::begin() { return after(nullptr, {}, {}); }

// Hears all records again: as a job that goes on with another job's journal.
HeardAs Directors::after(HeardAs const& before, LapId lap, std::optional<Order::Kind> order) {
    auto& known = known_[{before ? before->number : -1, lap, order ? static_cast<int>(*order) : -1}];
    if (known) return known;
    auto next = std::make_shared<Heard>();
    next->number = static_cast<int>(known_.size());
    next->before = before;
    next->lap = lap;
    next->order = order;
    std::vector<Heard const*> all;
    for (Heard const* at = next.get(); at->before; at = at->before.get()) all.insert(all.begin(), at);
    auto const director = make_director(experiment_, make_search(experiment_),
                                        {.unit_cost = [](TrialView const& trial) { return 1.0 + trial.id.value % 2; },
                                         .shards = size_.shards});
    next->released = director->release();
    for (auto const* one : all) {
        director->record(record_of(one->lap, one->order));
        next->released = director->release();
        for (auto const& decision : director->take_decisions()) next->decisions += text_of(decision);
    }
    next->trials = director->trials();
    next->finished = director->finished();
    return known = std::move(next);
}

SmallWorld::SmallWorld(WorldSize const& size, Directors& directors, Broken broken)
    : size_(&size),
      directors_(&directors),
      policy_(&policy_named(size.policy)),
      broken_(broken),
      owners_(make_owners(size.shards, size.trainers, size.shards)),
      trainers_(static_cast<std::size_t>(size.trainers)) {
    hear(directors.begin());
    settle();
}

std::vector<Choice> SmallWorld::choices() const {
    std::vector<Choice> out;
    if (over()) return out;
    for (std::size_t k = 0; k < trainers_.size(); ++k) {
        if (!trainers_[k].trains) continue;
        auto const number = static_cast<int>(k);
        out.push_back({Choice::Kind::end, number, {}});
        bool const lap_ends = trials_[trainers_[k].trains->index()].step == size_->shards;
        if (!lap_ends || orders_ == size_->orders) continue;
        for (auto const kind : {Order::Kind::stop, Order::Kind::clone, Order::Kind::finish, Order::Kind::resume})
            out.push_back({Choice::Kind::end, number, kind});
    }
    for (auto const& trial : trials_)
        if (trial.phase == TrialThere::Phase::hops) out.push_back({Choice::Kind::arrival, id_of(trial).value, {}});
    if (dispatched() && matchmaker()->ask_the_patient()) out.push_back({Choice::Kind::patience});
    if (losses_ == size_->losses || std::ssize(owners_.lost) + 1 == size_->trainers) return out;
    for (std::size_t k = 0; k < trainers_.size(); ++k)
        if (!trainers_[k].lost) out.push_back({Choice::Kind::loss, static_cast<int>(k), {}});
    return out;
}

void SmallWorld::take(Choice const& choice) {
    switch (choice.kind) {
        case Choice::Kind::end: end(TrainerId(choice.number), choice.order); break;
        case Choice::Kind::arrival: arrive(trials_.at(static_cast<std::size_t>(choice.number))); break;
        case Choice::Kind::loss: lose(TrainerId(choice.number)); break;
        case Choice::Kind::patience: call(Call::Kind::patience); break;
    }
    settle();
}

void SmallWorld::promise(bool kept, std::string const& what) {
    if (!kept && wrong_.empty()) wrong_ = what;
}

std::unique_ptr<Matchmaker> SmallWorld::matchmaker() const {
    auto out = policy_->make(owners_, 3);
    double now = 0;
    for (auto const& call : calls_) {
        ++now;
        switch (call.kind) {
            case Call::Kind::add: out->add(call.lap); break;
            case Call::Kind::ended: out->unit_ended(TrialId(call.number)); break;
            case Call::Kind::remove: out->remove(TrialId(call.number)); break;
            case Call::Kind::validates: out->validates(TrainerId(call.number)); break;
            case Call::Kind::validated: out->has_validated(TrainerId(call.number)); break;
            case Call::Kind::expect: out->expect(call.number); break;
            case Call::Kind::take: out->take(now); break;
            case Call::Kind::patience: out->ask_the_patient(); break;
        }
    }
    return out;
}

ShardId SmallWorld::planned_shard(TrialThere const& trial, int step) const {
    return policy_->next({id_of(trial), step % size_->shards, size_->shards, {}, trial.lap->route});
}

TrainerId SmallWorld::trainer_of(TrialThere const& trial, int step) const {
    return owners_.trains(trial.lap->id(), step, planned_shard(trial, step));
}

// What the director says: trials that have ended leave their trainers, and released laps wait for the laps before them.
void SmallWorld::hear(HeardAs heard) {
    heard_ = std::move(heard);
    while (trials_.size() < heard_->trials.size())
        trials_.emplace_back().ends.resize(static_cast<std::size_t>(size_->epochs));
    for (auto& trial : trials_)
        if (has_ended(heard_->trials[id_of(trial).index()].status)) drop(trial);
    for (auto const& lap : heard_->released) {
        auto& laps = trials_[lap.trial.index()].laps;
        std::erase_if(laps, [&](Lap const* before) { return before->epoch >= lap.epoch; });  // an order has taken it back
        laps.push_back(&lap);
    }
}

void SmallWorld::drop(TrialThere& trial) {
    trial.laps.clear();
    if (trial.phase == TrialThere::Phase::none) return;
    auto const id = id_of(trial);
    for (auto& trainer : trainers_) {
        if (trainer.trains == id) trainer.trains.reset();
        std::erase(trainer.queue, id);
    }
    if (dispatched()) call(Call::Kind::remove, id.value);
    if (dispatched() && trial.step == size_->shards) call(Call::Kind::validated, trainer_of(trial, 0).value);
    trial.phase = TrialThere::Phase::none;
    trial.lap = nullptr;
}

void SmallWorld::settle() {
    if (over()) return;
    for (auto& trial : trials_)
        if (trial.phase == TrialThere::Phase::none && !trial.laps.empty()) begin(trial);
    if (dispatched()) match();
    for (std::size_t k = 0; k < trainers_.size(); ++k) start(TrainerId(static_cast<int>(k)));
}

void SmallWorld::begin(TrialThere& trial) {
    trial.lap = trial.laps.front();
    trial.laps.erase(trial.laps.begin());
    auto const& lap = *trial.lap;
    auto const from = lap.clone_of.value_or(LapId{lap.trial, lap.epoch - 1});
    bool const anew = from.epoch < 0;
    auto const& ends = trials_[from.trial.index()].ends;
    trial.state = anew ? 1000 + static_cast<std::uint64_t>(lap.trial.value) : ends.at(static_cast<std::size_t>(from.epoch));
    promise(trial.state != 0,
            fmt::format("trial {}, epoch {} begins with a state that is not there", lap.trial.value, lap.epoch));
    trial.step = 0;
    trial.visited.clear();
    trial.at = trainer_of(trial, 0);
    if (!dispatched()) return arrive(trial);
    trial.phase = TrialThere::Phase::waits;
    calls_.push_back({Call::Kind::add, 0, {lap.id(), lap.remaining_cost, lap.unit_cost, trial.at, lap.route}});
}

void SmallWorld::match() {
    auto const under_way = std::ranges::count_if(trials_, [](auto const& t) { return t.phase != TrialThere::Phase::none; });
    auto const table = matchmaker();
    auto const expected = static_cast<int>(under_way - static_cast<std::ptrdiff_t>(table->laps()));
    call(Call::Kind::expect, expected);
    table->expect(expected);
    call(Call::Kind::take);
    for (auto const& match : table->take(static_cast<double>(calls_.size()))) {
        auto& trial = trials_.at(match.trial.index());
        promise(trial.phase == TrialThere::Phase::waits, "a trial is matched that does not wait");
        promise(owners_.of(match.shard) == match.trainer, "a trial is matched with a trainer that does not hold the shard");
        trial.visited.push_back(match.shard);
        go_to(trial, match.trainer);
    }
}

void SmallWorld::go_to(TrialThere& trial, TrainerId to) {
    bool const hops = trial.at != to;
    trial.at = to;
    trial.phase = TrialThere::Phase::hops;
    if (!hops) arrive(trial);
}

void SmallWorld::arrive(TrialThere& trial) {
    trial.phase = TrialThere::Phase::waits;
    promise(!trainer(trial.at).lost, "a state goes to a lost trainer");
    trainer(trial.at).queue.push_back(id_of(trial));
}

TrialId SmallWorld::first_of(TrainerThere const& there) const {
    ReadyQueue queue(size_->shards);
    for (auto const id : there.queue) {
        auto const& trial = trials_[id.index()];
        ReadyLap ready;
        ready.journey.lap.trial = id;
        ready.journey.lap.release = trial.lap->release;
        ready.journey.lap.remaining_cost = trial.lap->remaining_cost;
        ready.journey.lap.unit_cost = trial.lap->unit_cost;
        ready.journey.step = trial.step;
        queue.push(std::move(ready));
    }
    return queue.take_first(0).journey.lap.trial;
}

void SmallWorld::start(TrainerId id) {
    auto& there = trainer(id);
    if (there.trains || there.queue.empty()) return;
    auto const first = first_of(there);
    if (broken_ != Broken::queue_keeps_what_it_gives) std::erase(there.queue, first);
    auto& trial = trials_.at(first.index());
    there.trains = first;
    trial.phase = TrialThere::Phase::trains;
    if (dispatched() || trial.step == size_->shards) return;
    trial.visited.push_back(planned_shard(trial, trial.step));
}

void SmallWorld::end(TrainerId id, std::optional<Order::Kind> order) {
    auto& there = trainer(id);
    auto& trial = trials_.at(there.trains->index());
    there.trains.reset();
    promise(trial.phase == TrialThere::Phase::trains && trial.at == id, "a trainer trains a trial that is not there");
    if (trial.phase != TrialThere::Phase::trains) return;
    if (order) ++orders_;
    if (trial.step == size_->shards) return end_lap(trial, order);
    end_unit(trial);
}

void SmallWorld::end_unit(TrialThere& trial) {
    auto const shard = trial.visited.back();
    promise(owners_.of(shard) == trial.at, "a unit is trained by a trainer that does not hold its shard");
    promise(std::ranges::count(trial.visited, shard) == 1, "a unit is trained twice");
    trial.state = stream_key(trial.state, Purpose::synthetic, {trial.lap->epoch, shard.value});
    ++trial.step;
    bool const last = trial.step == size_->shards;
    if (!dispatched()) return go_to(trial, trainer_of(trial, trial.step));
    call(Call::Kind::ended, id_of(trial).value);
    if (!last) {
        trial.phase = TrialThere::Phase::waits;
        return;
    }
    auto const home = trainer_of(trial, 0);
    call(Call::Kind::validates, home.value);
    go_to(trial, home);
}

void SmallWorld::end_lap(TrialThere& trial, std::optional<Order::Kind> order) {
    auto const lap = trial.lap->id();
    promise(std::ssize(trial.visited) == size_->shards, "a lap ends without a unit on every shard");
    promise(trial.at == trainer_of(trial, 0), "a trial is validated away from home");
    trial.ends.at(static_cast<std::size_t>(lap.epoch)) = trial.state;
    if (dispatched() && broken_ != Broken::validations_are_not_told) call(Call::Kind::validated, trial.at.value);
    trial.phase = TrialThere::Phase::none;
    trial.lap = nullptr;
    hear(directors_->after(heard_, lap, order));
}

// A pause and a resume: the next director hears the journal; states on the lost trainer are gone, so their laps begin again;
// units that others were training, too.
void SmallWorld::lose(TrainerId lost) {
    ++losses_;
    std::vector<TrainerId> heirs;
    for (std::size_t k = 0; k < trainers_.size(); ++k) {
        trainers_[k].queue.clear();
        trainers_[k].trains.reset();
        if (TrainerId(static_cast<int>(k)) == lost) trainers_[k].lost = true;
        if (!trainers_[k].lost) heirs.emplace_back(static_cast<int>(k));
    }
    if (broken_ != Broken::owners_keep_the_lost) owners_ = without(owners_, lost, heirs);
    calls_.clear();
    for (auto& trial : trials_) {
        if (trial.phase == TrialThere::Phase::none) continue;
        trial.visited.resize(static_cast<std::size_t>(trial.step));
        if (trial.at == lost) {
            trial.laps.insert(trial.laps.begin(), trial.lap);
            trial.phase = TrialThere::Phase::none;
            continue;
        }
        auto const& lap = *trial.lap;
        bool const asks = dispatched() && trial.step < size_->shards;
        trial.phase = TrialThere::Phase::waits;
        if (dispatched() && !asks) call(Call::Kind::validates, trainer_of(trial, 0).value);
        if (!asks)
            go_to(trial, trainer_of(trial, trial.step));
        else
            calls_.push_back({Call::Kind::add,
                              0,
                              {lap.id(),
                               lap.remaining_cost - trial.step * lap.unit_cost,
                               lap.unit_cost,
                               trial.at,
                               lap.route,
                               {},
                               trial.visited}});
    }
}

std::string SmallWorld::outcome() const {
    std::string out = heard_->decisions;
    for (auto const& trial : heard_->trials) {
        out += fmt::format("{} {} {}", trial.id.value, name_of(trial.status), to_json(trial.assignment).dump());
        // A lap of a trial that an order stops counts if it ends before.
        out += orders_ > 0 ? "\n" : fmt::format(" {}/{}\n", trial.epochs_done, trial.epochs_wanted);
    }
    return out;
}

std::string SmallWorld::orders_came() const {
    std::string out;
    bool const by_arrival = orders_ > 0 && heard_->decisions.empty();
    for (auto const* at = heard_.get(); at != nullptr; at = at->before.get())
        if (by_arrival && at->before) out += fmt::format("{}:{} ", at->lap.trial.value, at->lap.epoch);
    for (auto const* at = heard_.get(); at != nullptr; at = at->before.get())
        if (at->order) out += fmt::format("{} with {}:{} ", name_of(*at->order), at->lap.trial.value, at->lap.epoch);
    return out;
}

std::string SmallWorld::fingerprint() const {
    std::string out = fmt::format("{} {} {};", heard_->number, losses_, orders_);
    for (auto const& trial : trials_) {
        out += fmt::format("{} {} {} {} {},", static_cast<int>(trial.phase), trial.step, trial.at.value, trial.laps.size(),
                           trial.lap == nullptr ? -1 : trial.lap->epoch);
        for (auto const shard : trial.visited) out += fmt::format("{} ", shard.value);
    }
    for (auto const& there : trainers_) {
        out += fmt::format(";{} {}:", there.lost, there.trains ? there.trains->value : -1);
        for (auto const id : there.queue) out += fmt::format("{} ", id.value);
    }
    for (auto const& [kind, number, lap] : calls_) {
        out +=
            fmt::format(";{} {} {}.{} {}", static_cast<int>(kind), number, lap.id.trial.value, lap.id.epoch, lap.at.value);
        for (auto const shard : lap.visited) out += fmt::format(" {}", shard.value);
    }
    return out;
}

}  // namespace hopscotch::testing
