// SPDX-License-Identifier: Apache-2.0
#include "model/trial/lean_training_pass.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "data/batches/batches.hpp"
#include "data/batches/shard_source.hpp"
#include "model/lean/elements.hpp"
#include "model/lean/losses.hpp"
#include "model/trial/lr_schedule.hpp"

namespace hopscotch {
namespace {

TargetError target_error_of(TrainConfig const& train) {
    using enum TargetError::Kind;
    switch (train.loss) {
        case LossKind::huber: return {TargetError::Kind::huber, static_cast<float>(train.of_loss.huber_delta)};
        case LossKind::mae: return {absolute};
        case LossKind::quantile: return {TargetError::Kind::quantile, static_cast<float>(train.of_loss.quantile)};
        default: return {squared};
    }
}

}  // namespace

LeanTrainingPass::LeanTrainingPass(std::shared_ptr<LeanTrialState> state)
    : state_(std::move(state)),
      update_(train(), state_->layout()),
      stride_(padded_floats(state_->parameter_floats())),
      decayed_(end_of_decay(state_->layout(), train().optimizer)) {
    for (auto const weight : train().of_loss.class_weights) class_weights_.push_back(static_cast<float>(weight));
}

double LeanTrainingPass::lr(std::int64_t batch) const {
    return scheduled_lr(train(), state_->data().train_rows, state_->counters(), batch);
}

double LeanTrainingPass::learning_rate() const {
    state_->bound("learning_rate");
    return lr(std::int64_t{train().batch_size} * train().accumulate);
}

// Models of other layouts share the gradient, and their values may lie where this layout has padding.
void LeanTrainingPass::begin_pass(ShardSource& shard, UnitAddress const& address, std::int64_t batch_size) {
    state_->bound("training");
    auto const& data = state_->config().data;
    pass_ = {&shard,
             address,
             shuffled_rows(shard.rows(), address, rows_shuffled_together(data)),
             batches(shard.rows(), batch_size, data.last_batch),
             0,
             {}};
    std::fill_n(state_->memory().gradient.at_least(state_->parameter_floats()), state_->parameter_floats(), 0.0F);
    if (train().accumulate > 1) state_->memory().accumulated.at_least(state_->parameter_floats());
    shard.begin(pass_.order, pass_.cut);
}

void LeanTrainingPass::skip_to(PassCursor const& cursor) {
    require(cursor.batches >= 0 && static_cast<std::size_t>(cursor.batches) <= pass_.cut.size(),
            "a cursor behind the end of its pass");
    pass_.next = static_cast<std::size_t>(cursor.batches);
    pass_.sums = cursor.sums;
    if (pass_.next < pass_.cut.size()) pass_.shard->begin(pass_.order, std::span(pass_.cut).subspan(pass_.next));
}

double LeanTrainingPass::loss(float const* outputs, std::int64_t rows, float* gradient) const {
    auto const& of_loss = train().of_loss;
    auto const& memory = state_->memory();
    auto const* const weights = class_weights_.empty() ? nullptr : class_weights_.data();
    LossShape const shape{rows, state_->data().outputs};
    if (train().loss == LossKind::cross_entropy)
        return cross_entropy(shape, outputs, memory.labels.data(), {weights, of_loss.label_smoothing}, gradient);
    auto const* const targets = state_->memory().targets.at_least(0);
    if (train().loss == LossKind::bce_with_logits) return binary_cross_entropy(shape, outputs, targets, weights, gradient);
    return target_error(target_error_of(train()), shape, outputs, targets, gradient);
}

void LeanTrainingPass::train_batch(GradientReady const& ready) {
    auto& memory = state_->memory();
    auto const picked = pass_.shard->next();
    auto const rows = static_cast<std::int64_t>(picked.rows.size());
    auto const* const x = state_->gather(picked, pass_.address);
    auto& network = state_->network(rows);
    auto const* const outputs = network.train(x, rows, {noise_key(pass_.address, pass_.next), sum_ ? &sum_ : nullptr});
    auto* const output_gradient = memory.output_gradient.at_least(static_cast<std::size_t>(rows * state_->data().outputs));
    pass_.sums.loss += loss(outputs, rows, output_gradient) * static_cast<double>(rows);
    pass_.sums.rows += rows;
    network.backward(output_gradient, memory.gradient.at_least(0), ready);
}

std::int64_t LeanTrainingPass::next_gradient(GradientReady const& ready, std::function<void()> const& on_batch) {
    auto const several = train().accumulate > 1;
    auto const floats = static_cast<std::int64_t>(state_->parameter_floats());
    auto* const sum = state_->memory().accumulated.at_least(0);
    auto const last = std::min(pass_.cut.size(), pass_.next + static_cast<std::size_t>(train().accumulate));
    if (several) std::fill_n(sum, floats, 0.0F);
    std::int64_t rows = 0;
    for (; pass_.next < last; ++pass_.next) {
        auto const of_batch = pass_.cut[pass_.next].size;
        train_batch(several ? GradientReady{} : ready);
        if (several) add_scaled(state_->memory().gradient.at_least(0), static_cast<float>(of_batch), sum, floats);
        rows += of_batch;
        if (on_batch) on_batch();
    }
    if (several && rows > 0) scale(sum, floats, 1 / static_cast<float>(rows));
    return rows;
}

UnitSums LeanTrainingPass::end_pass(StateBack) {
    pass_.shard->end();
    return std::exchange(pass_, {}).sums;
}

std::span<float> LeanTrainingPass::gradient() {
    state_->bound("a gradient");
    auto& memory = train().accumulate > 1 ? state_->memory().accumulated : state_->memory().gradient;
    return {memory.at_least(state_->parameter_floats()), state_->parameter_floats()};
}

void LeanTrainingPass::update(std::int64_t rows) {
    auto* const floats = reinterpret_cast<float*>(state_->bound("an update").data());
    update_.apply({floats, stride_, decayed_}, gradient(), lr(rows), *state_->counters().steps + 1);
    count(rows);
}

void LeanTrainingPass::count(std::int64_t rows) {
    *state_->counters().steps += 1;
    *state_->counters().samples += rows;
}

}  // namespace hopscotch
