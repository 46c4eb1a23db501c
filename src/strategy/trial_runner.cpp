// SPDX-License-Identifier: Apache-2.0
#include "strategy/trial_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>
#include <string_view>
#include <system_error>
#include <thread>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/fault.hpp"
#include "data/stage.hpp"
#include "schedule/lap_metric.hpp"

namespace hopscotch {
namespace {

constexpr std::int64_t k_batches_between_signs = 16;  // of life in a validation

}  // namespace

TrialRunner::TrialRunner(Experiment experiment, std::vector<ShardId> const& shards, Seat seat, ModelFactory factory)
    : experiment_(std::move(experiment)),
      self_(seat.self),
      factory_(std::move(factory)),
      manifest_(read_manifest(experiment_.data.path)),
      device_(resolve_device(experiment_.run.device, seat.number_on_host)),
      workspace_(device_, experiment_.run.threads) {
    for (auto const& slow : experiment_.run.inject.slow)
        if (slow.rank == self_.value + 1) slow_factor_ *= slow.factor;
    adopt(shards);
}

void TrialRunner::adopt(std::vector<ShardId> const& shards) {
    models_.clear();  // they may point to sources that go
    validations_.clear();
    std::erase_if(train_, [&](auto const& entry) { return std::ranges::find(shards, entry.first) == shards.end(); });
    for (auto const shard : shards) {
        if (train_.contains(shard)) continue;
        train_.emplace(shard, open(manifest_.train.at(shard.index())));
    }
    if (!shards.empty()) open_validation();  // an idle trainer validates nothing either
}

std::unique_ptr<ShardSource> TrialRunner::open(ShardFile const& file) const {
    auto const& data = experiment_.data;
    return open_shard_source(data.stage.empty() ? std::filesystem::path(data.path) : stage_file(data.path, file, manifest_, data.stage), file,
                             manifest_, data);
}

void TrialRunner::open_validation() {
    if (!valid_.empty()) return;
    for (auto const& file : manifest_.valid) valid_.push_back(open(file));
    // What is only read at the very end should not be missed there.
    for (auto const& file : manifest_.test) check_shard(experiment_.data.path, file, manifest_);
}

// Rows that cannot be read and memory that is not there are no trial's fault. LibTorch says the latter in words.
Cause cause_of(std::exception const& error) {
    bool const data = dynamic_cast<DataError const*>(&error) != nullptr || dynamic_cast<IoError const*>(&error) != nullptr ||
                      dynamic_cast<std::system_error const*>(&error) != nullptr;
    std::string_view const text = error.what();
    bool const memory = dynamic_cast<std::bad_alloc const*>(&error) != nullptr || text.find("out of memory") != text.npos ||
                        text.find("not enough memory") != text.npos;
    return data || memory ? Cause::surroundings : Cause::trial;
}

TrialConfig TrialRunner::config_of(Lap const& lap) const {
    Problems problems(fmt::format("trial {}", lap.trial.value));
    auto config = resolve(experiment_, lap.assignment, problems);
    problems.throw_if_any();
    config.train.optimizer.lr *= lr_factor_;
    return config;
}

TrialModel& TrialRunner::model(Lap const& lap) {
    auto& made = models_[lap.trial];
    if (!made.model || made.assignment != lap.assignment) made = {lap.assignment, factory_(config_of(lap), manifest_, workspace_)};
    return *made.model;
}

Buffer TrialRunner::initial_state(Lap const& lap, BufferPool& pool) {
    auto& trial_model = model(lap);
    auto state = pool.acquire(trial_model.layout().bytes);
    trial_model.initialise(state.bytes(), static_cast<std::uint64_t>(experiment_.seed), lap.trial);
    return state;
}

// A failing trial never hurts another: what it throws becomes its outcome.
template <class Work>
void TrialRunner::guarded(Journey& journey, std::string const& what, Work work) {
    auto& record = journey.record;
    try {
        work();
    } catch (CommError const&) {
        throw;  // a lost rank is no bad trial
    } catch (std::exception const& error) {
        record.outcome = Outcome::failed;
        record.cause = cause_of(error);
        record.reason = fmt::format("{} of epoch {} on trainer {} ({}): {}", what, journey.lap.epoch, self_.value,
                                    host_name(), error.what());
    }
}

std::function<void()> TrialRunner::batch_sign(Activity* activity) const {
    return [activity, factor = slow_factor_, last = monotonic_s()]() mutable {
        if (factor > 1) std::this_thread::sleep_for(std::chrono::duration<double>((monotonic_s() - last) * (factor - 1)));
        last = factor > 1 ? monotonic_s() : last;
        if (activity == nullptr) return;
        ++activity->batches;
        if (activity->leave.load(std::memory_order_relaxed)) throw JobEnded{};
    };
}

Evaluation TrialRunner::validate_part(Lap const& lap, MutableBytes state, int k, int parts, Activity* activity) {
    auto& trial_model = model(lap);
    trial_model.bind(state);
    auto const sign = batch_sign(activity);
    Evaluation sums(manifest_.task, manifest_.outputs);
    std::int64_t all = 0, before = 0;
    for (auto const& source : valid_) all += trial_model.evaluation_batches(source->rows());
    auto const first = all * k / parts, last = all * (k + 1) / parts;
    for (auto const& source : valid_) {
        auto const here = trial_model.evaluation_batches(source->rows());
        for (auto batch = std::max(first, before); batch < std::min(last, before + here); ++batch) {
            trial_model.evaluate(*source, {batch - before, 1}, sums);
            sign();
        }
        before += here;
    }
    return sums;
}

void note_scores(Evaluation const& sums, LapRecord& record) {
    auto const scores = sums.scores();
    record.valid_rows = sums.rows();
    record.valid_loss = sums.loss();
    record.valid_correct = sums.correct();
    record.valid_top5 = sums.top5();
    record.valid_f1 = scores.f1;
    record.valid_auc = scores.auc;
    record.valid_mae = scores.mae;
    record.valid_r2 = scores.r2;
}

namespace {

// What a plateau schedule goes by: of validation, or of training where there is none.
double epoch_loss(LapRecord const& record, LossKind loss) {
    return lap_metric(record, record.valid_rows > 0 ? "val_loss" : "train_loss", loss);
}

}  // namespace

UnitSums TrialRunner::train_rest(Journey& journey, TrialModel& trial_model, Activity* activity, OnTheWay const* on_the_way) {
    auto const& lap = journey.lap;
    auto const shard = planned_shard(lap.trial, journey.step, shards());
    auto const address = UnitAddress{static_cast<std::uint64_t>(experiment_.seed), lap.trial, lap.epoch, shard};
    fault_point("unit.rows");
    trial_model.begin_pass(*train_.at(shard), address, trial_model.batch_size());
    if (journey.batches > 0) trial_model.skip_to({journey.batches, {journey.rows, journey.loss_sum}});
    auto const sign = batch_sign(activity);
    while (auto const rows = trial_model.next_gradient({}, sign)) {
        trial_model.update(rows);
        if (on_the_way == nullptr || !on_the_way->wanted()) continue;
        auto const cursor = trial_model.cursor();
        journey.batches = cursor.batches;
        journey.rows = cursor.sums.rows;
        journey.loss_sum = cursor.sums.loss;
        on_the_way->take();
    }
    journey.batches = journey.rows = 0;
    journey.loss_sum = 0;
    return trial_model.end_pass();
}

void TrialRunner::run_unit(Journey& journey, MutableBytes state, Activity* activity, OnTheWay const* on_the_way) {
    auto const& lap = journey.lap;
    auto const shard = planned_shard(lap.trial, journey.step, shards());
    auto const what = fmt::format("unit on shard {}", shard.value);
    guarded(journey, what, [&] {
        auto& trial_model = model(lap);
        trial_model.bind(state);
        UnitRecord unit;
        unit.shard = shard;
        unit.trainer = self_;
        unit.start_unix_s = unix_s();
        auto const start = monotonic_s();
        auto const sums = train_rest(journey, trial_model, activity, on_the_way);
        unit.rows = sums.rows;
        unit.loss_sum = sums.loss;
        unit.state_hash = state_hash(state, trial_model.layout());
        journey.record.lr = trial_model.learning_rate();
        journey.record.state_hash = unit.state_hash;
        if (!std::isfinite(sums.loss) || !trial_model.finite()) {
            journey.record.outcome = Outcome::diverged;
            journey.record.reason = fmt::format("epoch {}, {}: {} is not finite (a smaller learning rate may help)",
                                                lap.epoch, what, std::isfinite(sums.loss) ? "the state" : "the loss");
        }
        unit.seconds = monotonic_s() - start;
        journey.record.units.push_back(unit);
    });
    ++journey.step;
}

bool TrialRunner::run_validation_piece(Journey& journey, MutableBytes state, Activity* activity) {
    auto& record = journey.record;
    guarded(journey, "validation", [&] {
        auto& trial_model = model(journey.lap);
        trial_model.bind(state);
        auto const start = monotonic_s();
        if (record.valid_seconds == 0 && !valid_.empty()) record.valid_start_unix_s = unix_s();
        auto& sums = validations_.try_emplace(record.trial, manifest_.task, manifest_.outputs).first->second;
        bool const complete = valid_.empty() || validate_piece(journey, trial_model, sums, activity);
        if (complete) {
            end_validation(journey.lap, sums, record);
            validations_.erase(record.trial);
        }
        record.valid_seconds += valid_.empty() ? 0 : monotonic_s() - start;
    });
    return record.outcome != Outcome::finished || journey.valid_shard == static_cast<int>(valid_.size());
}

void TrialRunner::end_validation(Lap const& lap, Evaluation const& sums, LapRecord& record) {
    note_scores(sums, record);
    model(lap).end_epoch(epoch_loss(record, loss_of(experiment_, lap.assignment)));
    if (record.valid_rows == 0 || std::isfinite(record.valid_loss)) return;
    record.outcome = Outcome::diverged;
    record.reason = fmt::format("epoch {}: the validation loss is not finite (a smaller learning rate may help)", record.epoch);
}

// A piece is at most as many batches as a training shard has rows for. True after the last.
bool TrialRunner::validate_piece(Journey& journey, TrialModel& trial_model, Evaluation& sums, Activity* activity) {
    auto& shard = *valid_[static_cast<std::size_t>(journey.valid_shard)];
    auto const all = trial_model.evaluation_batches(shard.rows());
    auto const most = std::max<std::int64_t>(1, trial_model.evaluation_batches(manifest_.train.front().rows));
    auto const end = journey.valid_batch + std::min(all - journey.valid_batch, most);
    while (journey.valid_batch < end) {
        auto const size = std::min(end - journey.valid_batch, k_batches_between_signs);
        trial_model.evaluate(shard, {journey.valid_batch, size}, sums);
        journey.valid_batch += size;
        if (activity != nullptr) ++activity->batches;
    }
    if (journey.valid_batch < all) return false;
    journey.valid_batch = 0;
    return ++journey.valid_shard == static_cast<int>(valid_.size());
}

LapRecord TrialRunner::score_test(Lap const& lap, MutableBytes state, Activity* activity) {
    Journey journey;
    journey.lap = lap;
    journey.record.trial = lap.trial;
    journey.record.epoch = lap.epoch;
    guarded(journey, "test", [&] {
        auto& trial_model = model(lap);
        trial_model.bind(state);
        Evaluation sums(manifest_.task, manifest_.outputs);
        for (auto const& file : manifest_.test) {
            auto const shard = open_shard_source(experiment_.data.path, file, manifest_, experiment_.data);
            auto const all = trial_model.evaluation_batches(shard->rows());
            for (std::int64_t batch = 0; batch < all; ++batch) {
                trial_model.evaluate(*shard, {batch, 1}, sums);
                if (activity == nullptr) continue;
                ++activity->batches;
                if (activity->leave.load(std::memory_order_relaxed)) throw JobEnded{};
            }
        }
        note_scores(sums, journey.record);
    });
    return journey.record;
}

void TrialRunner::end_epoch(Lap const& lap, MutableBytes state, LapRecord const& record) {
    auto& trial_model = model(lap);
    trial_model.bind(state);
    trial_model.end_epoch(epoch_loss(record, loss_of(experiment_, lap.assignment)));
}

void TrialRunner::forget(TrialId trial) {
    models_.erase(trial);
    validations_.erase(trial);
}

}  // namespace hopscotch
