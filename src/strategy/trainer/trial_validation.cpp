// SPDX-License-Identifier: Apache-2.0
// Validation by a trainer: the second source of trial_runner.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "comm/activity.hpp"
#include "comm/codec.hpp"
#include "comm/world.hpp"
#include "core/clock.hpp"
#include "core/log.hpp"
#include "data/batches/shard_source.hpp"
#include "model/state/state.hpp"
#include "model/trial/error_analysis.hpp"
#include "model/trial/evaluation.hpp"
#include "model/trial/evaluator.hpp"
#include "model/trial/trial_state.hpp"
#include "schedule/lap_metric.hpp"
#include "strategy/common/journey.hpp"
#include "strategy/trainer/job_ended.hpp"
#include "strategy/trainer/trial_runner.hpp"

namespace hopscotch {
namespace {

constexpr std::int64_t k_batches_between_signs = 16;  // of life in a validation

// The sums over the shards that the journey has validated on.
void take_sums(Bytes const& parts, Evaluation& sums) {
    if (parts.empty()) return;
    Decoder decoder(parts);
    decoder(sums);
}

void evaluate_all(TrialModel& trial_model, ShardSource& shard, Evaluation& sums, Activity* activity) {
    auto const all = trial_model.evaluation->evaluation_batches(shard.rows());
    for (std::int64_t batch = 0; batch < all; ++batch) {
        trial_model.evaluation->evaluate(shard, {batch, 1}, sums);
        if (activity == nullptr) continue;
        ++activity->batches;
        if (activity->leave.load(std::memory_order_relaxed)) throw JobEnded{};
    }
}

// The loss for a plateau schedule: of validation, or of training if there is no validation.
double epoch_loss(LapRecord const& record, LossKind loss) {
    return lap_metric(record, record.valid.rows > 0 ? k_val_loss : k_train_loss, loss);
}

}  // namespace

Evaluation TrialRunner::validate_part(Lap const& lap, MutableBytes state, int k, int parts, Activity* activity) {
    auto& trial_model = model(lap);
    trial_model.state->bind(state);
    auto const sign = batch_sign(activity);
    Evaluation sums(manifest_.task, manifest_.outputs);
    std::int64_t all = 0, before = 0;
    for (auto const& source : valid_) all += trial_model.evaluation->evaluation_batches(source->rows());
    auto const first = all * k / parts, last = all * (k + 1) / parts;
    for (auto const& source : valid_) {
        auto const here = trial_model.evaluation->evaluation_batches(source->rows());
        for (auto batch = std::max(first, before); batch < std::min(last, before + here); ++batch) {
            trial_model.evaluation->evaluate(*source, {batch - before, 1}, sums);
            sign();
        }
        before += here;
    }
    return sums;
}

// The sums of the shards before travel with the journey.
void TrialRunner::evaluate_held_out(Journey& journey, MutableBytes state, Activity* activity) {
    auto const shard = shard_of(journey);
    auto const start = monotonic_s();
    if (journey.record.valid.seconds == 0) journey.record.valid.start_unix_s = unix_s();
    guarded(journey, fmt::format("validation on shard {}", shard.value), [&] {
        Evaluation sums(manifest_.task, manifest_.outputs);
        take_sums(journey.parts, sums);
        auto& trial_model = model(journey.lap);
        journey.bound = trial_model.state->bind_again(state, journey.bound);
        auto& source = *train_.at(shard);
        auto const batches = trial_model.evaluation->evaluation_batches(source.rows());
        auto const sign = batch_sign(activity);
        for (std::int64_t batch = 0; batch < batches; ++batch) {
            trial_model.evaluation->evaluate(source, {batch, 1}, sums);
            sign();
        }
        Encoder encoder;
        encoder(sums);
        journey.parts = encoder.take();
    });
    journey.record.valid.seconds += monotonic_s() - start;
    ++journey.step;
    journey.shard = {};
}

bool TrialRunner::run_validation_piece(Journey& journey, MutableBytes state, Activity* activity) {
    auto& record = journey.record;
    guarded(journey, "validation", [&] {
        auto& trial_model = model(journey.lap);
        journey.bound = trial_model.state->bind_again(state, journey.bound);
        auto const start = monotonic_s();
        if (record.valid.seconds == 0 && !valid_.empty()) record.valid.start_unix_s = unix_s();
        auto& under_way = validations_[record.trial];
        if (!under_way) under_way = std::make_unique<Evaluation>(manifest_.task, manifest_.outputs);
        auto& sums = *under_way;
        take_sums(journey.parts, sums);  // of shards held out; then this is all
        bool const complete = valid_.empty() || validate_piece(journey, trial_model, sums, activity);
        if (complete) {
            end_validation(journey.lap, state, sums, record);
            validations_.erase(record.trial);
        }
        record.valid.seconds += valid_.empty() ? 0 : monotonic_s() - start;
    });
    return record.outcome != Outcome::finished || journey.valid_shard == static_cast<int>(valid_.size());
}

void TrialRunner::end_validation(Lap const& lap, ByteView state, Evaluation const& sums, LapRecord& record) {
    auto& trial_model = model(lap);
    try {
        record.valid = trial_model.evaluation->scores(sums);
    } catch (std::exception const& error) {  // a metric of the user's own: each member of a group gets the same error
        record.outcome = Outcome::failed;
        record.reason = fmt::format("validation of epoch {} on trainer {} ({}): {}", record.epoch, seat_.self.value,
                                    host_name(), error.what());
        return;
    }
    bool const changed = trial_model.state->end_epoch(epoch_loss(record, config_of(lap).train.loss));
    bool const known = !changed && record.state.hash != 0;
    record.state.end_hash = known ? record.state.hash : state_hash(state, trial_model.state->layout());
    if (record.valid.rows == 0 || std::isfinite(record.valid.loss)) return;
    record.outcome = Outcome::diverged;
    record.reason =
        fmt::format("epoch {}: the validation loss is not finite (a smaller learning rate may help)", record.epoch);
}

// A piece is at most as many batches as a training shard has rows for. True after the last.
bool TrialRunner::validate_piece(Journey& journey, TrialModel& trial_model, Evaluation& sums, Activity* activity) {
    auto& shard = *valid_[static_cast<std::size_t>(journey.valid_shard)];
    auto const all = trial_model.evaluation->evaluation_batches(shard.rows());
    auto const most = std::max<std::int64_t>(1, trial_model.evaluation->evaluation_batches(manifest_.train.front().rows));
    auto const end = journey.valid_batch + std::min(all - journey.valid_batch, most);
    while (journey.valid_batch < end) {
        auto const size = std::min(end - journey.valid_batch, k_batches_between_signs);
        trial_model.evaluation->evaluate(shard, {journey.valid_batch, size}, sums);
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
        trial_model.state->bind(state);
        Evaluation sums(manifest_.task, manifest_.outputs);
        for (auto const& file : manifest_.test) {
            auto const shard = open_shard_source(experiment_.data.path, file, manifest_, experiment_.data);
            evaluate_all(trial_model, *shard, sums, activity);
        }
        journey.record.valid = trial_model.evaluation->scores(sums);
    });
    return journey.record;
}

std::string TrialRunner::errors_on_validation(Lap const& lap, MutableBytes state, Activity* activity) {
    if (valid_.empty()) return "";
    Journey journey;
    journey.lap = lap;
    std::string out;
    guarded(journey, "error analysis", [&] {
        auto& trial_model = model(lap);
        trial_model.state->bind(state);
        ErrorAnalysis analysis(manifest_, config_of(lap).train, experiment_.search.metric);
        Evaluation sums(manifest_.task, manifest_.outputs);
        sums.pass_rows_to(analysis);
        for (auto const& shard : valid_) evaluate_all(trial_model, *shard, sums, activity);
        out = analysis.document().dump();
    });
    if (journey.record.outcome != Outcome::finished) log_warning(journey.record.reason);
    return out;
}

void TrialRunner::end_epoch(Lap const& lap, MutableBytes state, LapRecord const& record) {
    auto& trial_model = model(lap);
    trial_model.state->bind(state);
    trial_model.state->end_epoch(epoch_loss(record, config_of(lap).train.loss));
}

}  // namespace hopscotch
