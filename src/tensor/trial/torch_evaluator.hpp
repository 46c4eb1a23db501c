// SPDX-License-Identifier: Apache-2.0
// Evaluation of any network.
#pragma once
#include <memory>
#include <vector>

#include "model/trial/evaluator.hpp"
#include "tensor/trial/torch_trial_state.hpp"

namespace hopscotch {

class TorchEvaluator final : public Evaluator {
public:
    explicit TorchEvaluator(std::shared_ptr<TorchTrialState> state);

    void evaluate(ShardSource& shard, BatchRange const& batches, Evaluation& into) override;
    ValidationScores scores(Evaluation const& sums) const override;
    void add_own(std::span<float const> outputs, std::span<std::int64_t const> labels, std::span<float const> targets,
                 Evaluation& into) const override;
    std::int64_t evaluation_batches(std::int64_t rows) const override;
    std::vector<float> predict(ShardSource& shard, BatchRange const& batches) override;

private:
    at::Tensor in_units(at::Tensor const& targets) const;
    std::vector<double> own_sums(at::Tensor const& outputs, at::Tensor const& answers) const;
    void add(at::Tensor const& outputs, at::Tensor const& answers, Evaluation& into) const;
    bool scores_where_they_are() const;
    template <class Visit>
    void for_each_batch(ShardSource& shard, BatchRange const& batches, Visit visit);

    std::shared_ptr<TorchTrialState> state_;
    Workspace::Impl& workspace_;
    Feed& feed_;
    Step& step_;
    std::int64_t evaluation_batch_;
};

}  // namespace hopscotch
