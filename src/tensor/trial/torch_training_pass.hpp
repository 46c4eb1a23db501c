// SPDX-License-Identifier: Apache-2.0
// Training passes of any network.
#pragma once
#include <memory>
#include <vector>

#include "model/trial/training_pass.hpp"
#include "tensor/trial/torch_trial_state.hpp"

namespace hopscotch {

class TorchTrainingPass final : public TrainingPass {
public:
    explicit TorchTrainingPass(std::shared_ptr<TorchTrialState> state);

    std::int64_t batch_size() const override { return state_->config().train.batch_size; }
    void begin_pass(ShardSource& shard, UnitAddress const& address, std::int64_t batch_size) override;
    PassCursor cursor() override;
    void skip_to(PassCursor const& cursor) override;
    std::int64_t next_gradient(GradientReady const& ready, std::function<void()> const& on_batch) override;
    using TrainingPass::end_pass;
    UnitSums end_pass(StateBack back) override;
    std::int64_t next_updates(std::function<void()> const& on_batch) override;
    std::span<float> gradient() override;
    std::optional<DeviceFloats> device_gradient() override;
    void zero_gradient() override;
    void update(std::int64_t rows) override;
    void count(std::int64_t rows) override;
    void sum_with(SumOverGroup sum) override { step_.sum_with(std::move(sum)); }
    double learning_rate() const override;

private:
    double lr(std::int64_t batch,
              std::int64_t ahead = 0) const;  // ahead: rows of updates before it that are not counted yet
    void train(Batch const& batch, std::uint64_t noise_key, GradientReady const& ready);
    enum class Undo { possible, impossible };
    void begin_feed();
    void begin_feed_late(std::function<void()> const& on_batch);
    void try_batch(std::int64_t rows, std::function<void()> const& work, Undo undo);
    std::size_t steps_to_launch(DueSteps const& due, std::size_t planned);
    void set_updates(std::size_t steps, std::int64_t rows);

    std::shared_ptr<TorchTrialState> state_;
    Workspace::Impl& workspace_;
    Feed& feed_;
    Step& step_;
    struct Training {  // the pass under way
        ShardSource* shard = nullptr;
        std::unique_ptr<ShardSource> features;  // of the shard, where the trial has a cached start
        UnitAddress address;
        std::vector<std::uint32_t> order;
        std::vector<BatchRange> cut;
        FeedPass feed;
        std::size_t next = 0;
        std::int64_t rows = 0;
    } pass_;
    std::vector<UpdateAt> updates_;  // that are due
    bool stays_on_device_ = false;   // device_gradient() was asked for last
    at::Tensor host_gradient_;       // on a GPU: defined from gradient() until device_gradient()
};

}  // namespace hopscotch
