// SPDX-License-Identifier: Apache-2.0
#include "model/trial/trial_model.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "experiment/validation_scores.hpp"
#include "model/trial/evaluation.hpp"
#include "model/trial/evaluator.hpp"
#include "model/trial/training_pass.hpp"
#include "model/trial/trial_state.hpp"

namespace hopscotch {

TrialModel::TrialModel() = default;
TrialModel::TrialModel(std::shared_ptr<TrialState> of_state, std::unique_ptr<TrainingPass> pass,
                       std::unique_ptr<Evaluator> evaluator)
    : state(std::move(of_state)), training(std::move(pass)), evaluation(std::move(evaluator)) {}
TrialModel::TrialModel(TrialModel&&) noexcept = default;
TrialModel& TrialModel::operator=(TrialModel&&) noexcept = default;
TrialModel::~TrialModel() = default;

EvaluationCut evaluation_cut(std::int64_t shard_rows, BatchRange const& batches, std::int64_t batch) {
    auto const first = batches.first * batch;
    auto const last = std::min(shard_rows, (batches.first + batches.size) * batch);
    EvaluationCut out;
    out.order.resize(static_cast<std::size_t>(std::max<std::int64_t>(0, last - first)));
    std::iota(out.order.begin(), out.order.end(), static_cast<std::uint32_t>(first));
    for (auto at = first; at < last; at += batch) out.cut.push_back({at - first, std::min(batch, last - at)});
    return out;
}

ValidationScores Evaluator::scores(Evaluation const& sums) const { return sums.scores(); }

void Evaluator::add_own(std::span<float const>, std::span<std::int64_t const>, std::span<float const>, Evaluation&) const {}

}  // namespace hopscotch
