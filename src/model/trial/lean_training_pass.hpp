// SPDX-License-Identifier: Apache-2.0
// Training passes by the lean step.
#pragma once
#include <memory>
#include <vector>

#include "model/lean/lean_update.hpp"
#include "model/trial/lean_trial_state.hpp"
#include "model/trial/training_pass.hpp"

namespace hopscotch {

class LeanTrainingPass final : public TrainingPass {
public:
    explicit LeanTrainingPass(std::shared_ptr<LeanTrialState> state);

    std::int64_t batch_size() const override { return train().batch_size; }
    void begin_pass(ShardSource& shard, UnitAddress const& address, std::int64_t batch_size) override;
    PassCursor cursor() override { return {static_cast<std::int64_t>(pass_.next), pass_.sums}; }
    void skip_to(PassCursor const& cursor) override;
    std::int64_t next_gradient(GradientReady const& ready, std::function<void()> const& on_batch) override;
    using TrainingPass::end_pass;
    UnitSums end_pass(StateBack back) override;
    std::span<float> gradient() override;
    void update(std::int64_t rows) override;
    void count(std::int64_t rows) override;
    void sum_with(SumOverGroup sum) override { sum_ = std::move(sum); }
    double learning_rate() const override;

private:
    TrainConfig const& train() const { return state_->config().train; }
    double lr(std::int64_t batch) const;
    void train_batch(GradientReady const& ready);
    double loss(float const* outputs, std::int64_t rows, float* gradient) const;

    std::shared_ptr<LeanTrialState> state_;
    std::vector<float> class_weights_;
    LeanUpdate update_;
    std::size_t stride_, decayed_;  // UpdatedFloats
    SumOverGroup sum_;
    struct Training {  // the pass under way
        ShardSource* shard = nullptr;
        UnitAddress address;
        std::vector<std::uint32_t> order;
        std::vector<BatchRange> cut;
        std::size_t next = 0;
        UnitSums sums;
    } pass_;
};

}  // namespace hopscotch
