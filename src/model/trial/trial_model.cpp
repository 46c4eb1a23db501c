// SPDX-License-Identifier: Apache-2.0
#include "model/trial/trial_model.hpp"

#include <utility>

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

ValidationScores Evaluator::scores(Evaluation const& sums) const { return sums.scores(); }

void Evaluator::add_own(std::span<float const>, std::span<std::int64_t const>, std::span<float const>, Evaluation&) const {}

}  // namespace hopscotch
