// SPDX-License-Identifier: Apache-2.0
#include "strategy/together/group_trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "comm/codec.hpp"
#include "comm/courier.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "experiment/config.hpp"
#include "model/state/state.hpp"
#include "model/trial/training_pass.hpp"
#include "strategy/common/lap_codec.hpp"
#include "strategy/together/group_messages.hpp"
#include "strategy/together/group_validation.hpp"
#include "strategy/together/lock_step.hpp"
#include "strategy/together/shared_saves.hpp"
#include "strategy/together/step_plan.hpp"
#include "strategy/together/weighted_sum.hpp"
#include "strategy/trainer/gpu_watch.hpp"
#include "strategy/trainer/state_file.hpp"
#include "strategy/trainer/state_store.hpp"
#include "strategy/trainer/trial_runner.hpp"

namespace hopscotch {

// Of one member, before a lap begins.
struct GroupTrainer::Start {
    std::string complaint;  // empty: ready
    std::int64_t steps_to_look = 1;

    template <class A>
    friend void fields(A& a, Start& m) {
        a(m.complaint, m.steps_to_look);
    }
};

SharedLap::Own GroupTrainer::own_of(Same same) {
    return same == Same::state ? SharedLap::Own::buffers : SharedLap::Own::buffers_and_slots;
}

GroupTrainer::GroupTrainer(WorkerResources const& resources, Same same, StateKeeper::Holds holds)
    : TrainerLoop(resources, holds),
      group_(this->resources(), group_of(resources.owners), [this](Incoming message) { set_aside(std::move(message)); }),
      buffers_(std::make_unique<BufferMean>(group_)),
      saves_(std::make_unique<SharedSaves>(this->resources(), keeper(), group_, own_of(same))),
      same_(same) {
    if (resources.experiment.strategy.scale_lr) runner().scale_lr(group_.size());
}

GroupTrainer::~GroupTrainer() = default;

void GroupTrainer::look_at_clock(SharedLap& mine, Journey& journey, std::int64_t steps) {
    saves_->look(mine, journey, steps);
}

void GroupTrainer::handle(Incoming message) {
    if (message.kind == MessageKind::share) return group_.keep(message);
    require(message.kind == MessageKind::lap, unexpected(message.kind));
    auto lap = decode<Lap>(message.body);
    if (!ended_.contains(lap.trial)) laps_.push_back(std::move(lap));
}

void GroupTrainer::tell_members(MessageKind kind, Bytes const& body) {
    for (int k = 1; is_root() && k < group_.size(); ++k)
        courier().send(group_.ranks().ranks[static_cast<std::size_t>(k)], kind, body);
}

// The first trainer tells the others, after the laps that it has begun with them.
void GroupTrainer::drop(TrialId trial) {
    tell_members(MessageKind::stop, encode(trial));
    ended_.insert(trial);
    std::erase_if(laps_, [&](Lap const& lap) { return lap.trial == trial; });
}

std::int64_t GroupTrainer::local_batch_size(TrialConfig const& config, int k) const {
    bool const split = resources().experiment.strategy.batch == GroupBatch::split;
    return split ? local_batch(config.train.batch_size, k, group_.size()) : config.train.batch_size;
}

StepPlan GroupTrainer::plan_of(Lap const& lap) const {
    auto const& config = config_of(lap);
    return make_step_plan({runner().manifest(), resources().owners, config, lap.trial,
                           local_batches(resources().experiment.strategy, config, group_.size())});
}

TrialConfig const& GroupTrainer::config_of(Lap const& lap) const { return runner().config_of(lap); }

void GroupTrainer::work() {
    auto const lap = std::move(laps_.front());
    laps_.pop_front();
    auto begun = keeper().begin(lap, group_.trainers().front());
    keeper().balance(laps_);
    tell_members(MessageKind::lap, encode(lap));
    busy_with(lap, ShardId(-1), Phase::compute);
    run(begun);
    auto& journey = begun.journey;
    if (is_root()) finish(journey, current_.bytes());
    if (journey.record.outcome != Outcome::finished) return drop(lap.trial);
    keeper().rest(lap.trial, std::move(current_));
}

void GroupTrainer::run(LapBegin& begun) {
    auto& journey = begun.journey;
    auto const& lap = journey.lap;
    std::optional<SharedLap> mine;
    std::string complaint;
    try {
        open_lap(begun, mine);
    } catch (WrongState const&) {
        throw;
    } catch (std::exception const& error) {
        runner().look_at_device(fmt::format("{}: {}", place_of(lap, 0), error.what()));
        complaint =
            fmt::format("epoch {} on trainer {} ({}): {}", lap.epoch, runner().self().value, host_name(), error.what());
    }
    journey.record.outcome = all_ready(lap, journey, complaint);
    if (journey.record.outcome != Outcome::finished) return;
    auto const gpu = resources().gpu_watch.now();
    train(*mine, journey);
    agree(*mine, journey, resources().gpu_watch.share_since(gpu));
    if (journey.record.outcome != Outcome::finished) return;
    busy_with(lap, ShardId(-1), Phase::validation);
    validate_together(group_, resources(), lap, mine->state(), journey.record);
}

void GroupTrainer::open_lap(LapBegin& begun, std::optional<SharedLap>& mine) {
    auto& journey = begun.journey;
    auto const& lap = journey.lap;
    current_ = keeper().store().take(std::move(begun.state));
    if (!current_) current_ = lap.from.empty() ? runner().initial_state(lap, pool()) : load_state(resources(), journey);
    SharedLap::Part part{lap, current_.bytes(), own_visits(resources().owners, runner().self(), lap.trial),
                         local_batch_size(config_of(lap), group_.self())};
    mine.emplace(runner(), std::move(part), courier().activity());
    if (journey.parts.empty()) return;
    mine->go_on(decode<std::vector<MemberPlace>>(journey.parts).at(static_cast<std::size_t>(group_.self())), own_of(same_));
}

// No member starts a unit in which another member cannot take part.
Outcome GroupTrainer::all_ready(Lap const& lap, Journey& journey, std::string const& complaint) {
    Start const mine{complaint, saves_->steps_to_look(lap.trial)};
    auto const all = group_.share(encode(mine), fmt::format("the start of {}", place_of(lap, 0)));
    for (auto const& each : all)
        if (journey.record.reason.empty()) journey.record.reason = decode<Start>(each).complaint;
    saves_->begin(journey.unit.batches, decode<Start>(all.front()).steps_to_look);
    if (!journey.saved.at_s) journey.saved.at_s = monotonic_s();
    return journey.record.reason.empty() ? Outcome::finished : Outcome::failed;
}

// In the first lap all members are there.
WeightedSum* GroupTrainer::device_sum() {
    if (!std::exchange(has_looked_for_nccl_, true)) nccl_ = make_nccl_sum(group_, resources());
    return nccl_.get();
}

void GroupTrainer::train(SharedLap& mine, Journey& journey) {
    auto const plan = plan_of(mine.lap());
    group_.take_exposed_s();
    train_lap(mine, plan, journey);
    mine.finish();
    buffers_->average(mine, plan, resources().experiment.strategy.batch_norm);
}

namespace {

std::uint64_t hash_of_parameters(ByteView state, StateLayout const& layout) {
    return xxh3(state.first(layout.end_of(Block::parameter)));
}

}  // namespace

// Outcomes, units and hashes of all become one record.
void GroupTrainer::agree(SharedLap& mine, Journey& journey, double gpu_use) {
    auto& record = journey.record;
    auto const& layout = mine.layout();
    MemberEnd end{mine.outcome(),          mine.reason(),      mine.units(),          0,
                  group_.take_exposed_s(), record.sync.rounds, record.sync.staleness, gpu_use};
    end.hash = same_ == Same::state ? state_hash(mine.state(), layout) : hash_of_parameters(mine.state(), layout);
    record.sync.rounds = 0;
    record.sync.staleness.clear();
    record.sync.exposed_s.clear();
    hopscotch::agree(group_, end, record, resources().owners.trainers);
    record.state.hash = state_hash(mine.state(), layout);
    record.state.lr = mine.training().learning_rate();
}

}  // namespace hopscotch
