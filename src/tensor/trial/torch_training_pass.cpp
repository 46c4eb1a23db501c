// SPDX-License-Identifier: Apache-2.0
#include "tensor/trial/torch_training_pass.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "data/batches/batches.hpp"
#include "data/batches/shard_source.hpp"
#include "model/gpu/device.hpp"
#include "model/trial/lr_schedule.hpp"
#include "tensor/feed/workspace_impl.hpp"

namespace hopscotch {
TorchTrainingPass::TorchTrainingPass(std::shared_ptr<TorchTrialState> state)
    : state_(std::move(state)), workspace_(state_->workspace()), feed_(state_->feed()), step_(state_->step()) {}

double TorchTrainingPass::lr(std::int64_t batch, std::int64_t ahead) const {
    return scheduled_lr(state_->config().train, state_->data().train_rows, state_->counters(), batch, ahead);
}

void TorchTrainingPass::begin_pass(ShardSource& shard, UnitAddress const& address, std::int64_t batch_size) {
    state_->require_bound("training");
    workspace_.enter();
    state_->claim();
    pass_ = {&shard,
             nullptr,
             address,
             shuffled_rows(shard.rows(), address, rows_shuffled_together(state_->config().data)),
             batches(shard.rows(), batch_size, state_->config().data.last_batch),
             {},
             0,
             0};
    step_.use(Step::Weights::trained);
    step_.begin_unit();
    if (!state_->has_cached_start()) begin_feed();
}

void TorchTrainingPass::begin_feed() {
    auto& rows = pass_.features ? *pass_.features : *pass_.shard;
    pass_.feed = feed_.begin(rows, pass_.order, std::span(pass_.cut).subspan(pass_.next), pass_.address);
}

// Computes features here, since begin_pass() cannot report its progress.
void TorchTrainingPass::begin_feed_late(std::function<void()> const& on_batch) {
    if (!state_->has_cached_start() || pass_.features || pass_.next == pass_.cut.size()) return;
    pass_.features = state_->features(*pass_.shard, {0, pass_.shard->rows()}, on_batch);
    begin_feed();
}

PassCursor TorchTrainingPass::cursor() {
    state_->fetch();
    return {static_cast<std::int64_t>(pass_.next), {pass_.rows, step_.loss_sum()}};
}

void TorchTrainingPass::skip_to(PassCursor const& cursor) {
    workspace_.use_stream();
    require(cursor.batches >= 0 && static_cast<std::size_t>(cursor.batches) <= pass_.cut.size(),
            "a cursor behind the end of its pass");
    pass_.next = static_cast<std::size_t>(cursor.batches);
    pass_.rows = cursor.sums.rows;
    step_.set_loss_sum(cursor.sums.loss);
    if (pass_.next < pass_.cut.size() && !state_->has_cached_start()) begin_feed();
}

std::int64_t TorchTrainingPass::next_gradient(GradientReady const& ready, std::function<void()> const& on_batch) {
    workspace_.use_stream();
    begin_feed_late(on_batch);
    auto const batches = static_cast<std::size_t>(state_->config().train.accumulate);
    auto const last = std::min(pass_.cut.size(), pass_.next + batches);
    // A GPU's gradient on the host becomes final all at once.
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
    auto const undoes = ready ? Undo::impossible : Undo::possible;  // parts handed over have been summed by now
    try_batch(batch.x.size(0), [&] { step_.forward_backward(batch, noise_key, ready); }, undoes);
}

void TorchTrainingPass::try_batch(std::int64_t rows, std::function<void()> const& work, Undo undo) {
    bool const full = rows == pass_.cut.front().size;
    workspace_.expect(full ? Workspace::Impl::Shape::common : Workspace::Impl::Shape::rare);
    if (!workspace_.gpu.admission) return work();
    auto const way_back = undo == Undo::possible ? step_.way_back(rows) : std::function<void()>();
    workspace_.gpu.admission->run({{state_->memory_kind(), rows}, state_->held(), work, way_back});
}

// The updates by the next `steps` batches of this many rows.
void TorchTrainingPass::set_updates(std::size_t steps, std::int64_t rows) {
    updates_.clear();
    for (std::size_t i = 0; i < steps; ++i) {
        auto const ahead = static_cast<std::int64_t>(i);
        updates_.push_back({lr(rows, ahead * rows), *state_->counters().steps + 1 + ahead});
    }
}

// As many as a launch has, if the plan of this many batches of this size is on the device; else one.
std::size_t TorchTrainingPass::steps_to_launch(DueSteps const& due, std::size_t planned) {
    if (due.is_there) return 1;
    auto const rest = std::span(pass_.cut).subspan(pass_.next).first(planned);
    auto const most = step_.steps_at_once(due);
    if (rest.size() < most) return 1;
    auto const alike = [&](BatchRange const& range) { return range.size == due.batch.x.size(0); };
    return std::ranges::all_of(rest.first(most), alike) ? most : 1;
}

std::int64_t TorchTrainingPass::next_updates(std::function<void()> const& on_batch) {
    workspace_.use_stream();
    if (!step_.trains_whole()) return TrainingPass::next_updates(on_batch);
    if (pass_.next == pass_.cut.size()) return 0;
    host_gradient_ = at::Tensor();  // gradients are not combined
    if (!workspace_.device.is_cpu()) state_->require_claimed();
    begin_feed_late(on_batch);
    auto const [batch, planned, first] = feed_.due(pass_.feed);
    auto const rows = batch.x.size(0);
    DueSteps due{batch, planned == 0, first, {}, noise_key(pass_.address, pass_.next)};
    auto const steps = steps_to_launch(due, planned);
    set_updates(steps, rows);
    due.updates = updates_;
    try_batch(rows, [&] { step_.train_whole(due); }, steps == 1 ? Undo::possible : Undo::impossible);
    if (planned > 0) pass_.feed.next += steps;
    for (std::size_t i = 0; i < steps; ++i) {
        ++pass_.next;
        pass_.rows += rows;
        count(rows);
        if (on_batch) on_batch();
    }
    return static_cast<std::int64_t>(steps) * rows;
}

UnitSums TorchTrainingPass::end_pass(StateBack back) {
    workspace_.use_stream();
    feed_.end(pass_.feed);
    auto const loss = step_.loss_sum();  // first: it waits for the steps, and that wait is not part of fetching
    if (back == StateBack::now) state_->fetch();
    auto const rows = std::exchange(pass_, {}).rows;  // the list of a large shard's rows takes many megabytes
    return {rows, loss};
}

std::span<float> TorchTrainingPass::gradient() {
    state_->require_bound("a gradient");
    workspace_.use_stream();
    stays_on_device_ = false;
    auto const n = step_.gradient().numel();
    if (!workspace_.device.is_cpu() && (!host_gradient_.defined() || host_gradient_.numel() != n)) {
        host_gradient_ = at::empty({n}, at::TensorOptions(at::kCPU).dtype(at::kFloat).pinned_memory(true));
        host_gradient_.copy_(step_.gradient());  // it may exist: parameter servers ask after next_gradient
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

void TorchTrainingPass::zero_gradient() {
    workspace_.use_stream();
    (host_gradient_.defined() ? host_gradient_ : step_.gradient()).zero_();
}

void TorchTrainingPass::update(std::int64_t rows) {
    workspace_.use_stream();
    if (!workspace_.device.is_cpu()) state_->require_claimed();
    if (host_gradient_.defined()) step_.gradient().copy_(host_gradient_);
    step_.update({lr(rows), *state_->counters().steps + 1});
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
