// SPDX-License-Identifier: Apache-2.0
#include "model/trial/torch_training_pass.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "core/rng.hpp"
#include "data/batches/batches.hpp"
#include "data/batches/shard_source.hpp"
#include "model/feed/workspace_impl.hpp"
#include "model/step/lr_schedule.hpp"

namespace hopscotch {
namespace {

std::uint64_t noise_key(UnitAddress const& unit, std::size_t step) {
    return stream_key(unit.seed, Purpose::dropout,
                      {unit.trial.value, unit.epoch, unit.shard.value, static_cast<std::int64_t>(step)});
}

}  // namespace

TorchTrainingPass::TorchTrainingPass(std::shared_ptr<TorchTrialState> state)
    : state_(std::move(state)), workspace_(state_->workspace()), feed_(state_->feed()), step_(state_->step()) {}

double TorchTrainingPass::lr(std::int64_t batch) const {
    auto const& counters = state_->counters();
    auto const reductions = counters.reductions == nullptr ? 0 : *counters.reductions;
    return scheduled_lr(state_->config().train, state_->data().train_rows, *counters.samples, batch, reductions);
}

void TorchTrainingPass::begin_pass(ShardSource& shard, UnitAddress const& address, std::int64_t batch_size) {
    state_->require_bound("training");
    workspace_.enter();
    state_->claim();
    pass_ = {&shard,
             address,
             shuffled_rows(shard.rows(), address, rows_shuffled_together(state_->config().data)),
             batches(shard.rows(), batch_size, state_->config().data.last_batch),
             {},
             0,
             0};
    step_.use(Step::Weights::trained);
    step_.begin_unit();
    pass_.feed = feed_.begin(shard, pass_.order, pass_.cut, address);
}

PassCursor TorchTrainingPass::cursor() {
    state_->fetch();
    return {static_cast<std::int64_t>(pass_.next), {pass_.rows, step_.loss_sum()}};
}

void TorchTrainingPass::skip_to(PassCursor const& cursor) {
    require(cursor.batches >= 0 && static_cast<std::size_t>(cursor.batches) <= pass_.cut.size(),
            "a cursor behind the end of its pass");
    pass_.next = static_cast<std::size_t>(cursor.batches);
    pass_.rows = cursor.sums.rows;
    step_.set_loss_sum(cursor.sums.loss);
    if (pass_.next < pass_.cut.size())
        pass_.feed = feed_.begin(*pass_.shard, pass_.order, std::span(pass_.cut).subspan(pass_.next), pass_.address);
}

std::int64_t TorchTrainingPass::next_gradient(GradientReady const& ready, std::function<void()> const& on_batch) {
    auto const batches = static_cast<std::size_t>(state_->config().train.accumulate);
    auto const last = std::min(pass_.cut.size(), pass_.next + batches);
    // The host's copy of a GPU's gradient is final when all of it is.
    auto const& as_they_come = workspace_.device.is_cpu() || stays_on_device_ ? ready : GradientReady{};
    std::int64_t rows = 0;
    for (; pass_.next < last; ++pass_.next) {
        train(feed_.next(pass_.feed), noise_key(pass_.address, pass_.next), as_they_come);
        rows += pass_.cut[pass_.next].size;
        if (on_batch) on_batch();
    }
    pass_.rows += rows;
    if (rows > 0) step_.finish_gradient();
    if (rows > 0 && host_gradient_.defined()) host_gradient_.copy_(step_.gradient());
    return rows;
}

void TorchTrainingPass::train(Batch const& batch, std::uint64_t noise_key, GradientReady const& ready) {
    auto const work = [&] { step_.forward_backward(batch, noise_key, ready); };
    if (!workspace_.admission) return work();
    auto const rows = batch.x.size(0);
    workspace_.admission->run(
        {{state_->memory_kind(), rows},
         state_->held(),
         work,
         ready ? std::function<void()>() : step_.way_back(rows)});  // what has been handed over is summed by now
}

UnitSums TorchTrainingPass::end_pass() {
    feed_.end(pass_.feed);
    state_->fetch();
    auto const rows = std::exchange(pass_, {}).rows;  // the order of a large shard's rows is many megabytes
    return {rows, step_.loss_sum()};
}

std::span<float> TorchTrainingPass::gradient() {
    state_->require_bound("a gradient");
    stays_on_device_ = false;
    auto const n = step_.gradient().numel();
    if (!workspace_.device.is_cpu() && (!host_gradient_.defined() || host_gradient_.numel() != n)) {
        host_gradient_ = at::empty({n}, at::TensorOptions(at::kCPU).dtype(at::kFloat).pinned_memory(true));
        host_gradient_.copy_(step_.gradient());  // there may be one: parameter servers ask after next_gradient
    }
    auto const& values = workspace_.device.is_cpu() ? step_.gradient() : host_gradient_;
    return {values.data_ptr<float>(), static_cast<std::size_t>(n)};
}

std::optional<DeviceFloats> TorchTrainingPass::device_gradient() {
    state_->require_bound("a gradient");
    stays_on_device_ = true;
    host_gradient_ = at::Tensor();
    return state_->on_device(step_.gradient());
}

void TorchTrainingPass::zero_gradient() { (host_gradient_.defined() ? host_gradient_ : step_.gradient()).zero_(); }

void TorchTrainingPass::update(std::int64_t rows) {
    if (!workspace_.device.is_cpu()) state_->require_claimed();
    if (host_gradient_.defined()) step_.gradient().copy_(host_gradient_);
    step_.update(lr(rows), *state_->counters().steps + 1);
    count(rows);
}

void TorchTrainingPass::count(std::int64_t rows) {
    auto const& counters = state_->counters();
    *counters.steps += 1;
    *counters.samples += rows;
}

double TorchTrainingPass::learning_rate() const {
    state_->require_bound("learning_rate");
    auto const& train = state_->config().train;
    return lr(std::int64_t{train.batch_size} * train.accumulate);
}

}  // namespace hopscotch
