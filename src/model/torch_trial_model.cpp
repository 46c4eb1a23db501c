// SPDX-License-Identifier: Apache-2.0
#include "model/torch_trial_model.hpp"

#include <ATen/ops/from_blob.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <numeric>

#include "core/error.hpp"
#include "core/rng.hpp"
#include "model/evaluation.hpp"
#include "model/lr_schedule.hpp"

namespace hopscotch {
namespace {

std::uint64_t noise_key(UnitAddress const& unit, std::size_t step) {
    return stream_key(unit.seed, Purpose::dropout,
                      {unit.trial.value, unit.epoch, unit.shard.value, static_cast<std::int64_t>(step)});
}

}  // namespace

TorchTrialModel::TorchTrialModel(TrialConfig config, DataSchema const& data, std::unique_ptr<Network> network,
                                 Normaliser const& normaliser, Workspace& workspace)
    : config_(std::move(config)),
      data_(data),
      workspace_(workspace.impl()),
      feed_(data, normaliser, workspace_),
      step_(std::move(network), config_.train, workspace_),
      layout_(make_layout(step_.network().parameters(), slot_kinds(config_.train.optimizer))) {}

void TorchTrialModel::initialise(MutableBytes state, std::uint64_t seed, TrialId trial) {
    initialise_state(state, layout_, step_.network().parameters(), seed, trial);
}

void TorchTrialModel::bind(MutableBytes state) {
    check_block(state, layout_);
    state_ = state;
    counters_ = counters_of(state, layout_);
    auto const floats = static_cast<std::int64_t>(layout_.end_of(Block::buffer) / sizeof(float));
    host_ = at::from_blob(state.data(), {floats}, at::TensorOptions(at::kFloat));
    device_ = workspace_.device.is_cpu() ? host_ : host_.to(workspace_.device);
    feed_.reset();
    step_.bind(device_, layout_);
}

Sums TorchTrialModel::train_unit(Shard const& shard, UnitAddress const& address, std::function<void()> const& on_batch) {
    require(!state_.empty(), "train_unit needs a bound state");
    workspace_.enter();
    auto const order = shuffled_rows(shard.rows, address);
    auto const cut = batches(shard.rows, config_.train.batch_size, config_.data.last_batch);
    Sums sums;
    step_.begin_unit();
    for (std::size_t i = 0; i < cut.size(); ++i) {
        auto const rows =
            std::span(order).subspan(static_cast<std::size_t>(cut[i].first), static_cast<std::size_t>(cut[i].size));
        step_.forward_backward(feed_.gather(shard, rows), noise_key(address, i));
        step_.update(scheduled_lr(config_.train, data_.train_rows, *counters_.samples, cut[i].size), *counters_.steps + 1);
        *counters_.steps += 1;
        *counters_.samples += cut[i].size;
        sums.rows += cut[i].size;
        if (on_batch) on_batch();
    }
    sums.loss = step_.loss_sum();
    if (!workspace_.device.is_cpu()) host_.copy_(device_);
    return sums;
}

void TorchTrialModel::evaluate(Shard const& shard, std::int64_t first_batch, std::int64_t last_batch, Sums& sums) {
    require(!state_.empty(), "evaluate needs a bound state");
    workspace_.enter();
    for (auto batch = first_batch; batch < last_batch; ++batch)
        sums += evaluate_batch(shard, evaluation_rows(shard.rows, batch));
}

Sums TorchTrialModel::evaluate_batch(Shard const& shard, BatchRange const& rows) {
    c10::InferenceMode const unrecorded;
    std::vector<std::uint32_t> picked(static_cast<std::size_t>(rows.size));
    std::iota(picked.begin(), picked.end(), static_cast<std::uint32_t>(rows.first));
    auto const batch = feed_.gather(shard, picked);
    auto const outputs = step_.network().forward(batch.x, nullptr).to(at::kCPU).contiguous();
    std::span const values(outputs.const_data_ptr<float>(), static_cast<std::size_t>(outputs.numel()));
    auto const first = static_cast<std::size_t>(rows.first);
    if (data_.task == Task::classification)
        return score_labels(values, std::span(shard.labels).subspan(first, picked.size()));
    auto const width = static_cast<std::size_t>(data_.outputs);
    return score_targets(values, std::span(shard.targets).subspan(first * width, values.size()), rows.size);
}

std::int64_t TorchTrialModel::evaluation_batches(std::int64_t rows) const { return count_evaluation_batches(rows); }

double TorchTrialModel::learning_rate() const {
    require(!state_.empty(), "learning_rate needs a bound state");
    return scheduled_lr(config_.train, data_.train_rows, *counters_.samples, config_.train.batch_size);
}

bool TorchTrialModel::finite() { return all_finite(state_, layout_); }

}  // namespace hopscotch
