// SPDX-License-Identifier: Apache-2.0
// Evaluation by the lean step.
#pragma once
#include <memory>
#include <vector>

#include "model/trial/evaluator.hpp"
#include "model/trial/lean_trial_state.hpp"

namespace hopscotch {

class LeanEvaluator final : public Evaluator {
public:
    explicit LeanEvaluator(std::shared_ptr<LeanTrialState> state);

    void evaluate(ShardSource& shard, BatchRange const& batches, Evaluation& into) override;
    std::int64_t evaluation_batches(std::int64_t rows) const override { return (rows + batch_ - 1) / batch_; }
    std::vector<float> predict(ShardSource& shard, BatchRange const& batches) override;

private:
    template <class Visit>
    void for_each_batch(ShardSource& shard, BatchRange const& batches, Visit const& visit);

    std::shared_ptr<LeanTrialState> state_;
    std::int64_t batch_;
    std::size_t averaged_ = 0;  // floats from the parameters to the averaged ones; 0: none
};

}  // namespace hopscotch
