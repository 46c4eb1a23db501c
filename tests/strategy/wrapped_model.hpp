// SPDX-License-Identifier: Apache-2.0
// A real model in a wrapper: tests override what they want to see, or to break.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/trial_model.hpp"

namespace hopscotch::testing {

class WrappedModel : public TrialModel {
public:
    explicit WrappedModel(std::unique_ptr<TrialModel> model) : model_(std::move(model)) {}

    StateLayout const& layout() const override { return model_->layout(); }
    void initialise(MutableBytes state, std::uint64_t seed, TrialId trial) override {
        model_->initialise(state, seed, trial);
    }
    void bind(MutableBytes state) override { model_->bind(state); }
    std::int64_t batch_size() const override { return model_->batch_size(); }
    void begin_pass(ShardSource& shard, UnitAddress const& address, std::int64_t batch_size) override {
        model_->begin_pass(shard, address, batch_size);
    }
    PassCursor cursor() override { return model_->cursor(); }
    void skip_to(PassCursor const& cursor) override { model_->skip_to(cursor); }
    std::int64_t next_gradient(GradientReady const& ready, std::function<void()> const& on_batch) override {
        return model_->next_gradient(ready, on_batch);
    }
    UnitSums end_pass() override { return model_->end_pass(); }
    std::span<float> gradient() override { return model_->gradient(); }
    std::optional<DeviceFloats> device_gradient() override { return model_->device_gradient(); }
    void zero_gradient() override { model_->zero_gradient(); }
    void update(std::int64_t rows) override { model_->update(rows); }
    void count(std::int64_t rows) override { model_->count(rows); }
    void fetch() override { model_->fetch(); }
    void store() override { model_->store(); }
    std::optional<DeviceFloats> device_state() override { return model_->device_state(); }
    void sum_with(SumOverGroup sum) override { model_->sum_with(std::move(sum)); }
    void evaluate(ShardSource& shard, BatchRange const& batches, Evaluation& into) override {
        model_->evaluate(shard, batches, into);
    }
    std::int64_t evaluation_batches(std::int64_t rows) const override { return model_->evaluation_batches(rows); }
    void end_epoch(double loss) override { model_->end_epoch(loss); }
    std::vector<float> predict(ShardSource& shard, BatchRange const& batches) override {
        return model_->predict(shard, batches);
    }
    void save(std::string const& path, Json const& metadata) override { model_->save(path, metadata); }
    double learning_rate() const override { return model_->learning_rate(); }
    bool finite() override { return model_->finite(); }

private:
    std::unique_ptr<TrialModel> model_;
};

}  // namespace hopscotch::testing
