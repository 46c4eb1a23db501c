// SPDX-License-Identifier: Apache-2.0
#include "strategy/together/unit_group.hpp"

#include <fmt/format.h>

#include <optional>

#include "comm/codec.hpp"
#include "comm/courier.hpp"
#include "comm/world.hpp"
#include "core/error.hpp"
#include "core/fault.hpp"
#include "experiment/config.hpp"
#include "model/state/state.hpp"
#include "model/trial/training_pass.hpp"
#include "strategy/common/journey.hpp"
#include "strategy/common/worker_resources.hpp"
#include "strategy/together/group.hpp"
#include "strategy/together/group_messages.hpp"
#include "strategy/together/group_validation.hpp"
#include "strategy/together/lock_step.hpp"
#include "strategy/together/shared_lap.hpp"
#include "strategy/together/shared_saves.hpp"
#include "strategy/together/step_plan.hpp"
#include "strategy/together/weighted_sum.hpp"
#include "strategy/trainer/gpu_watch.hpp"
#include "strategy/trainer/trial_runner.hpp"

namespace hopscotch {
namespace {

// The owners of the bundle of one of this trainer's shards.
std::vector<TrainerId> members_of(WorkerResources const& resources) {
    auto const size = resources.experiment.strategy.group_size;
    auto const own = resources.owners.shards_of(resources.runner.self());
    if (own.empty()) return {};
    std::vector<TrainerId> out;
    auto const first = own.front().value / size * size;
    for (int k = 0; k < size; ++k) out.push_back(resources.owners.of(ShardId(first + k)));
    return out;
}

}  // namespace

bool has_group(WorkerResources const& resources) {
    return resources.experiment.strategy.group_size > 1 && !members_of(resources).empty();
}

bool leads_group(WorkerResources const& resources) {
    return has_group(resources) && members_of(resources).front() == resources.runner.self();
}

UnitGroup::UnitGroup(WorkerResources const& resources, StateKeeper& keeper, std::function<void(Incoming)> set_aside)
    : resources_(resources),
      group_(std::make_unique<Group>(resources, members_of(resources), std::move(set_aside))),
      sum_(std::make_unique<CourierSum>(*group_, AllReduce::deterministic)),
      buffers_(std::make_unique<BufferMean>(*group_)),
      saves_(std::make_unique<SharedSaves>(resources, keeper, *group_, SharedLap::Own::buffers)) {}

UnitGroup::~UnitGroup() = default;

void UnitGroup::keep(Incoming const& share) { group_->keep(share); }

std::vector<ShardId> UnitGroup::bundle_of(UnitCall const& call) const {
    std::vector<ShardId> out;
    for (int k = 0; k < group_->size(); ++k) out.emplace_back(call.shard.value + k);
    return out;
}

void UnitGroup::lead(Journey& journey, Buffer& state) {
    UnitCall call{UnitCall::Work::unit, journey.lap, resources_.runner.shard_of(journey), state.bytes().size()};
    call.steps = journey.unit.batches;
    call.steps_to_look = saves_->steps_to_look(journey.lap.trial);
    call.places = std::move(journey.parts);
    call_members(call);
    state_ = std::move(state);
    train(call, journey);
    state = std::move(state_);
    journey.unit.batches = 0;
    journey.parts.clear();
    ++journey.step;
}

void UnitGroup::lead_validation(Journey& journey, Buffer& state) {
    UnitCall call{UnitCall::Work::validation, journey.lap};
    call.state_bytes = state.bytes().size();
    call_members(call);
    state_ = std::move(state);
    get_state(call);
    validate_together(*group_, resources_, call.lap, state_.bytes(), journey.record);
    state = std::move(state_);
}

void UnitGroup::call_members(UnitCall const& call) {
    for (int k = 1; k < group_->size(); ++k)
        resources_.courier.send(group_->ranks().ranks[static_cast<std::size_t>(k)], MessageKind::unit, encode(call));
}

void UnitGroup::follow(UnitCall const& call) {
    Journey journey;
    journey.lap = call.lap;
    journey.record.trial = call.lap.trial;
    journey.record.epoch = call.lap.epoch;
    state_ = resources_.courier.pool().acquire(call.state_bytes);
    if (call.work == UnitCall::Work::unit) {
        train(call, journey);
    } else {
        get_state(call);
        validate_together(*group_, resources_, call.lap, state_.bytes(), journey.record);
    }
    state_ = {};
}

namespace {

std::string text_of(UnitCall const& call) {
    auto const lap = fmt::format("trial {}, epoch {}", call.lap.trial.value, call.lap.epoch);
    if (call.work == UnitCall::Work::validation) return "the validation of " + lap;
    return fmt::format("the unit from shard {} on of {}", call.shard.value, lap);
}

}  // namespace

void UnitGroup::get_state(UnitCall const& call) {
    group_->wait({group_->broadcast(state_.bytes(), "the state for " + text_of(call))});
}

void UnitGroup::train(UnitCall const& call, Journey& journey) {
    auto& record = journey.record;
    auto const gpu = resources_.gpu_watch.now();
    group_->take_exposed_s();
    get_state(call);
    std::optional<SharedLap> mine;
    record.reason = first_complaint(call, open(call, mine));
    if (!record.reason.empty()) {
        record.outcome = Outcome::failed;
        return;
    }
    fault_point("group.unit");
    auto const& strategy = resources_.experiment.strategy;
    auto const& config = resources_.runner.config_of(call.lap);
    auto const plan = plan_of_bundle(resources_.runner.manifest(), bundle_of(call), strategy, config);
    saves_->begin(call.steps, call.steps_to_look);
    train_steps({*group_, *sum_, false, strategy, config}, *mine, plan, call.steps,
                [&](std::int64_t steps) { saves_->look(*mine, journey, steps); });
    mine->finish();
    buffers_->average(*mine, plan, strategy.batch_norm);
    auto const units = record.units.size();
    record.state.hash = state_hash(mine->state(), mine->layout());
    record.state.lr = mine->training().learning_rate();
    MemberEnd const end{mine->outcome(),
                        mine->reason(),
                        mine->units(),
                        record.state.hash,
                        group_->take_exposed_s(),
                        plan.steps(),
                        {},
                        resources_.gpu_watch.share_since(gpu)};
    agree(*group_, end, record, resources_.owners.trainers);
    for (auto u = units; u < record.units.size(); ++u) record.units[u].state_hash = record.state.hash;
}

std::string UnitGroup::open(UnitCall const& call, std::optional<SharedLap>& mine) {
    auto& runner = resources_.runner;
    auto const k = static_cast<std::size_t>(group_->self());
    try {
        auto const batch_sizes = local_batches(resources_.experiment.strategy, runner.config_of(call.lap), group_->size());
        SharedLap::Part part{call.lap, state_.bytes(), {bundle_of(call)[k]}, batch_sizes[k]};
        mine.emplace(runner, std::move(part), resources_.courier.activity());
        if (!call.places.empty()) mine->go_on(decode<std::vector<MemberPlace>>(call.places).at(k), SharedLap::Own::buffers);
    } catch (std::exception const& error) {
        runner.look_at_device(fmt::format("{}: {}", text_of(call), error.what()));
        return fmt::format("{} on trainer {} ({}): {}", text_of(call), runner.self().value, host_name(), error.what());
    }
    return "";
}

// No member starts a unit in which another member cannot take part.
std::string UnitGroup::first_complaint(UnitCall const& call, std::string const& mine) {
    for (auto const& each : group_->share(encode(mine), "the start of " + text_of(call)))
        if (auto complaint = decode<std::string>(each); !complaint.empty()) return complaint;
    return "";
}

}  // namespace hopscotch
