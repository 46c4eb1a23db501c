// SPDX-License-Identifier: Apache-2.0
#include "strategy/trial_runner.hpp"

#include <fmt/format.h>

#include <cmath>

#include "core/clock.hpp"
#include "core/error.hpp"

namespace hopscotch {

TrialRunner::TrialRunner(Experiment experiment, std::vector<ShardId> const& shards, TrainerId self, ModelFactory factory)
    : experiment_(std::move(experiment)),
      self_(self),
      factory_(std::move(factory)),
      manifest_(read_manifest(experiment_.data.path)),
      schema_(schema_of(manifest_)),
      normaliser_(manifest_),
      device_(resolve_device(experiment_.run.device, self.value)),
      workspace_(device_, experiment_.run.threads) {
    std::filesystem::path const directory = experiment_.data.path;
    for (auto const shard : shards)
        train_.emplace(shard, read_shard(directory, manifest_.train.at(shard.index()), manifest_));
    if (shards.empty()) return;  // an idle trainer validates nothing either
    for (auto const& file : manifest_.valid) valid_.push_back(read_shard(directory, file, manifest_));
}

TrialModel& TrialRunner::model(Lap const& lap) {
    auto& made = models_[lap.trial];
    if (!made) {
        Problems problems(fmt::format("trial {}", lap.trial.value));
        auto const config = resolve(experiment_, lap.assignment, problems);
        problems.throw_if_any();
        made = factory_(config, schema_, normaliser_, workspace_);
    }
    return *made;
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
    } catch (std::exception const& error) {
        record.outcome = Outcome::failed;
        record.reason = fmt::format("{} of epoch {} on trainer {} ({}): {}", what, journey.lap.epoch, self_.value,
                                    host_name(), error.what());
    }
}

void TrialRunner::run_unit(Journey& journey, MutableBytes state, Activity* activity) {
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
        auto const address = UnitAddress{static_cast<std::uint64_t>(experiment_.seed), lap.trial, lap.epoch, shard};
        auto const sums = trial_model.train_unit(train_.at(shard), address, [&] {
            if (activity == nullptr) return;
            ++activity->batches;
            if (activity->leave.load(std::memory_order_relaxed)) throw JobEnded{};
        });
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
    if (valid_.empty()) return true;
    guarded(journey, "validation", [&] {
        auto& trial_model = model(journey.lap);
        trial_model.bind(state);
        auto const start = monotonic_s();
        if (record.valid_seconds == 0) record.valid_start_unix_s = unix_s();
        auto const& shard = valid_[static_cast<std::size_t>(journey.valid_shard)];
        auto const all = trial_model.evaluation_batches(shard.rows);
        // A piece is at most as many batches as a training shard has rows for.
        auto const most = std::max<std::int64_t>(1, trial_model.evaluation_batches(manifest_.train.front().rows));
        auto const last = std::min(all, journey.valid_batch + most);
        Sums sums{record.valid_rows, record.valid_loss, record.valid_correct, record.valid_top5};
        trial_model.evaluate(shard, journey.valid_batch, last, sums);
        record.valid_rows = sums.rows;
        record.valid_loss = sums.loss;
        record.valid_correct = sums.correct;
        record.valid_top5 = sums.top5;
        journey.valid_batch = last == all ? 0 : last;
        if (last == all) ++journey.valid_shard;
        record.valid_seconds += monotonic_s() - start;
        if (activity != nullptr) ++activity->batches;
    });
    return record.outcome != Outcome::finished || journey.valid_shard == static_cast<int>(valid_.size());
}

}  // namespace hopscotch
