// SPDX-License-Identifier: Apache-2.0
#include "model/trial/lean_evaluator.hpp"

#include <utility>

#include "data/batches/shard_source.hpp"
#include "model/trial/evaluation.hpp"

namespace hopscotch {

LeanEvaluator::LeanEvaluator(std::shared_ptr<LeanTrialState> state)
    : state_(std::move(state)), batch_(evaluation_batch(elements(state_->data().shape), state_->data().outputs)) {
    for (auto const& range : slot_ranges(state_->layout()))
        if (range.kind == k_ema_slot) averaged_ = range.first;
}

// visit: of the outputs of a batch and its number of rows.
template <class Visit>
void LeanEvaluator::for_each_batch(ShardSource& shard, BatchRange const& batches, Visit const& visit) {
    state_->bound("evaluation");
    auto const [order, cut] = evaluation_cut(shard.rows(), batches, batch_);
    shard.begin(order, cut);
    for (std::size_t i = 0; i < cut.size(); ++i) {
        auto const picked = shard.next();
        auto const rows = static_cast<std::int64_t>(picked.rows.size());
        auto const* const x = state_->gather(picked, {});
        auto const* const outputs = state_->network(rows).evaluate(x, rows, averaged_);
        visit(std::span(outputs, static_cast<std::size_t>(rows * state_->data().outputs)));
    }
    shard.end();
}

void LeanEvaluator::evaluate(ShardSource& shard, BatchRange const& batches, Evaluation& into) {
    bool const labels = has_labels(state_->data().task);
    for_each_batch(shard, batches, [&](std::span<float const> outputs) {
        auto const& memory = state_->memory();
        if (labels) return into.add_labels(outputs, memory.labels);
        into.add_targets(outputs, {state_->memory().targets.at_least(0), outputs.size()},
                         target_loss(state_->config().train, state_->data().target_stddev));
    });
}

std::vector<float> LeanEvaluator::predict(ShardSource& shard, BatchRange const& batches) {
    std::vector<float> out;
    for_each_batch(shard, batches,
                   [&](std::span<float const> outputs) { out.insert(out.end(), outputs.begin(), outputs.end()); });
    return out;
}

}  // namespace hopscotch
