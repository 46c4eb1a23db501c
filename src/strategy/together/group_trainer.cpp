// SPDX-License-Identifier: Apache-2.0
#include "strategy/together/group_trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>

#include "comm/codec.hpp"
#include "comm/courier.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "experiment/config.hpp"
#include "model/state/state.hpp"
#include "model/trial/evaluation.hpp"
#include "model/trial/training_pass.hpp"
#include "schedule/lap_metric.hpp"
#include "strategy/common/lap_codec.hpp"
#include "strategy/together/group_messages.hpp"
#include "strategy/together/step_plan.hpp"
#include "strategy/together/weighted_sum.hpp"
#include "strategy/trainer/state_file.hpp"
#include "strategy/trainer/state_store.hpp"
#include "strategy/trainer/trial_runner.hpp"

namespace hopscotch {

struct GroupTrainer::Part {
    Outcome outcome = Outcome::finished;
    std::string reason;
    std::vector<UnitRecord> units;
    std::uint64_t state_hash = 0;
    double exposed_s = 0;
    std::int64_t sync_rounds = 0;
    std::vector<std::int64_t> staleness;

    template <class A>
    friend void fields(A& a, Part& m) {
        a(m.outcome, m.reason, m.units, m.state_hash, m.exposed_s, m.sync_rounds, m.staleness);
    }
};

// Of one member, before a lap begins.
struct GroupTrainer::Start {
    std::string complaint;  // empty: ready
    std::int64_t steps_to_look = 1;

    template <class A>
    friend void fields(A& a, Start& m) {
        a(m.complaint, m.steps_to_look);
    }
};

GroupTrainer::GroupTrainer(WorkerResources const& resources, Same same, StateKeeper::Holds holds)
    : TrainerLoop(resources, holds),
      group_(this->resources(), [this](Incoming message) { set_aside(std::move(message)); }),
      same_(same) {
    if (resources.experiment.strategy.scale_lr) runner().scale_lr(group_.size());
}

GroupTrainer::~GroupTrainer() = default;

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

std::string GroupTrainer::place(Lap const& lap, std::int64_t step) const {
    return fmt::format("trial {}, epoch {}, step {}", lap.trial.value, lap.epoch, step);
}

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
        runner().look_at_device(fmt::format("{}: {}", place(lap, 0), error.what()));
        complaint =
            fmt::format("epoch {} on trainer {} ({}): {}", lap.epoch, runner().self().value, host_name(), error.what());
    }
    journey.record.outcome = all_ready(lap, journey, complaint);
    if (journey.record.outcome != Outcome::finished) return;
    train(*mine, journey);
    agree(*mine, journey);
    if (journey.record.outcome == Outcome::finished) validate_together(*mine, journey);
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
    mine->go_on(decode<std::vector<MemberPlace>>(journey.parts).at(static_cast<std::size_t>(group_.self())), own());
}

// Nobody starts what somebody cannot take part in.
Outcome GroupTrainer::all_ready(Lap const& lap, Journey& journey, std::string const& complaint) {
    if (std::exchange(timed_, lap.trial) != lap.trial) steps_per_s_ = 0;  // others may be a thousand times slower
    auto const all = group_.share(encode(Start{complaint, steps_to_look()}), fmt::format("the start of {}", place(lap, 0)));
    for (auto const& each : all)
        if (journey.record.reason.empty()) journey.record.reason = decode<Start>(each).complaint;
    next_look_ = journey.batches + decode<Start>(all.front()).steps_to_look;
    first_step_ = journey.batches;
    lap_started_s_ = monotonic_s();
    if (!journey.saved_s) journey.saved_s = monotonic_s();
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
    average_buffers(mine, buffer_share(plan));
}

// By rows trained. Statistics of all trainers' rows (SyncBN) are the same on all that took part to the end, and old on
// others.
double GroupTrainer::buffer_share(StepPlan const& plan) const {
    bool const synchronous = resources().experiment.strategy.batch_norm == NormStatistics::sync;
    double mine = 0, all = 0;
    for (int k = 0; k < group_.size(); ++k) {
        if (synchronous && plan.rows(k, plan.steps() - 1) == 0) continue;
        for (std::int64_t step = 0; step < plan.steps(); ++step) {
            auto const rows = static_cast<double>(plan.rows(k, step));
            all += rows;
            mine += k == group_.self() ? rows : 0;
        }
    }
    return mine / all;
}

// Batch statistics are of each trainer's own batches; what validates and rests is their mean, weighted by rows. Counters
// that are integers become the first trainer's, as in DistributedDataParallel.
void GroupTrainer::average_buffers(SharedLap& mine, double share) {
    auto const state = mine.state();
    auto& floats = float_buffers_;
    auto& integers = integer_buffers_;
    floats.clear();
    integers.clear();
    auto const each = [&](auto float_work, auto integer_work) {
        for (auto const& tensor : mine.layout().tensors) {
            if (tensor.block != Block::buffer) continue;
            auto* const at = state.data() + tensor.offset;
            if (tensor.element == Element::float32)
                float_work(reinterpret_cast<float*>(at), tensor.bytes / sizeof(float));
            else
                integer_work(reinterpret_cast<std::int64_t*>(at), tensor.bytes / sizeof(std::int64_t));
        }
    };
    each(
        [&](float const* at, std::size_t n) {
            std::transform(at, at + n, std::back_inserter(floats), [&](float x) { return x * static_cast<float>(share); });
        },
        [&](std::int64_t const* at, std::size_t n) { integers.insert(integers.end(), at, at + n); });
    if ((floats.empty() && integers.empty()) || group_.size() == 1) return;
    auto const what = fmt::format("buffers of {}", place(mine.lap(), 0));
    group_.wait({group_.sum(AllReduce::deterministic, floats, what),
                 group_.broadcast(std::as_writable_bytes(std::span(integers)), what)});
    std::size_t f = 0, i = 0;
    each([&](float* at, std::size_t n) { std::copy_n(&floats[std::exchange(f, f + n)], n, at); },
         [&](std::int64_t* at, std::size_t n) { std::copy_n(&integers[std::exchange(i, i + n)], n, at); });
}

namespace {

std::uint64_t hash_of_parameters(ByteView state, StateLayout const& layout) {
    return xxh3(state.first(layout.end_of(Block::parameter)));
}

}  // namespace

// Outcomes, units and hashes of all become one record. States that differ are a broken promise, not a bad trial.
void GroupTrainer::agree(SharedLap& mine, Journey& journey) {
    auto& record = journey.record;
    auto const& layout = mine.layout();
    Part part{mine.outcome(), mine.reason(), mine.units(), 0, group_.take_exposed_s(), record.sync_rounds, record.staleness};
    part.state_hash = same_ == Same::state ? state_hash(mine.state(), layout) : hash_of_parameters(mine.state(), layout);
    Encoder encoder;
    encoder(part);
    auto const all = group_.share(encoder.take(), fmt::format("the end of {}", place(mine.lap(), 0)));
    std::vector<std::uint64_t> hashes;
    record.sync_rounds = 0;
    record.staleness.clear();
    record.exposed_s.assign(static_cast<std::size_t>(resources().owners.trainers), 0);
    for (std::size_t k = 0; k < all.size(); ++k) {
        Part each;
        Decoder decoder(all[k]);
        decoder(each);
        hashes.push_back(each.state_hash);
        bool const worse =
            record.outcome == Outcome::finished || (record.outcome == Outcome::diverged && each.outcome == Outcome::failed);
        if (each.outcome != Outcome::finished && worse) {
            record.outcome = each.outcome;
            record.reason = each.reason;
        }
        record.units.insert(record.units.end(), each.units.begin(), each.units.end());
        record.exposed_s[group_.trainers()[k].index()] = each.exposed_s;
        record.sync_rounds = std::max(record.sync_rounds, each.sync_rounds);
        record.staleness.resize(std::max(record.staleness.size(), each.staleness.size()));
        for (std::size_t i = 0; i < each.staleness.size(); ++i) record.staleness[i] += each.staleness[i];
    }
    record.state_hash = state_hash(mine.state(), layout);
    record.lr = mine.training().learning_rate();
    for (std::size_t k = 1; k < hashes.size() && record.outcome == Outcome::finished; ++k)
        if (hashes[k] != hashes.front())
            throw Error(
                fmt::format("after {} trainers {} and {} hold different parameters ({} and {}): their gradients were not "
                            "combined alike (different hardware or a damaged message?); run it again",
                            place(mine.lap(), 0), group_.trainers().front().value, group_.trainers()[k].value,
                            to_hex(hashes.front()), to_hex(hashes[k])));
}

// Each evaluates its part of the batches; sums are combined in the order of trainers.
void GroupTrainer::validate_together(SharedLap& mine, Journey& journey) {
    auto& record = journey.record;
    auto& activity = courier().activity();
    auto const start = monotonic_s();
    record.valid_start_unix_s = unix_s();
    busy_with(mine.lap(), ShardId(-1), Phase::validation);
    Evaluation sums(runner().manifest().task, runner().manifest().outputs);
    std::string complaint;
    try {
        sums = runner().validate_part(mine.lap(), mine.state(), group_.self(), group_.size(), &activity);
    } catch (std::exception const& error) {
        runner().look_at_device(fmt::format("the validation of {}: {}", place(mine.lap(), 0), error.what()));
        complaint = fmt::format("validation of epoch {} on trainer {} ({}): {}", mine.lap().epoch, runner().self().value,
                                host_name(), error.what());
    }
    Encoder encoder;
    encoder(complaint, sums);
    auto const all = group_.share(encoder.take(), fmt::format("the validation of {}", place(mine.lap(), 0)));
    Evaluation merged(runner().manifest().task, runner().manifest().outputs);
    for (auto const& bytes : all) {
        Evaluation part(runner().manifest().task, runner().manifest().outputs);
        Decoder decoder(bytes);
        decoder(complaint, part);
        if (!complaint.empty() && record.reason.empty()) record.reason = complaint;
        merged.merge(part);
    }
    if (!record.reason.empty()) record.outcome = Outcome::failed;
    if (record.outcome == Outcome::finished) runner().end_validation(mine.lap(), mine.state(), merged, record);
    record.valid_seconds = merged.rows() == 0 ? 0 : monotonic_s() - start;
}

}  // namespace hopscotch
