// SPDX-License-Identifier: Apache-2.0
// The parts of a real model in wrappers: a test derives from the one that it wants to watch or to break, and puts it in
// place of the real part (TrialModel).
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/byte_view.hpp"
#include "core/device_floats.hpp"
#include "core/ids.hpp"
#include "core/json.hpp"
#include "data/batches/shard_source.hpp"
#include "data/batches/unit.hpp"
#include "model/lean/group_calls.hpp"
#include "model/state/state.hpp"
#include "model/trial/evaluator.hpp"
#include "model/trial/training_pass.hpp"
#include "model/trial/trial_model.hpp"
#include "model/trial/trial_state.hpp"

namespace hopscotch::testing {

class WrappedState : public TrialState {
public:
    explicit WrappedState(std::shared_ptr<TrialState> state) : state_(std::move(state)) {}

    StateLayout const& layout() const override { return state_->layout(); }
    void initialise(MutableBytes state, std::uint64_t seed, TrialId trial, int threads) override {
        state_->initialise(state, seed, trial, threads);
    }
    void bind(MutableBytes state) override { state_->bind(state); }
    void fetch() override { state_->fetch(); }
    void store() override { state_->store(); }
    bool begin_store(MutableBytes state) override { return state_->begin_store(state); }
    void forget_store(MutableBytes state) override { state_->forget_store(state); }
    bool begin_fetch() override { return state_->begin_fetch(); }
    void await_fetch() override { state_->await_fetch(); }
    std::optional<DeviceFloats> device_state() override { return state_->device_state(); }
    bool end_epoch(double loss) override { return state_->end_epoch(loss); }
    void save(std::string const& path, Json const& metadata) override { state_->save(path, metadata); }
    bool finite() override { return state_->finite(); }

private:
    std::shared_ptr<TrialState> state_;
};

class WrappedPass : public TrainingPass {
public:
    explicit WrappedPass(std::unique_ptr<TrainingPass> pass) : pass_(std::move(pass)) {}

    std::int64_t batch_size() const override { return pass_->batch_size(); }
    void begin_pass(ShardSource& shard, UnitAddress const& address, std::int64_t batch_size) override {
        pass_->begin_pass(shard, address, batch_size);
    }
    PassCursor cursor() override { return pass_->cursor(); }
    void skip_to(PassCursor const& cursor) override { pass_->skip_to(cursor); }
    std::int64_t next_gradient(GradientReady const& ready, std::function<void()> const& on_batch) override {
        return pass_->next_gradient(ready, on_batch);
    }
    using TrainingPass::end_pass;
    UnitSums end_pass(StateBack back) override { return pass_->end_pass(back); }
    std::span<float> gradient() override { return pass_->gradient(); }
    std::optional<DeviceFloats> device_gradient() override { return pass_->device_gradient(); }
    void zero_gradient() override { pass_->zero_gradient(); }
    void update(std::int64_t rows) override { pass_->update(rows); }
    void count(std::int64_t rows) override { pass_->count(rows); }
    void sum_with(SumOverGroup sum) override { pass_->sum_with(std::move(sum)); }
    double learning_rate() const override { return pass_->learning_rate(); }

private:
    std::unique_ptr<TrainingPass> pass_;
};

}  // namespace hopscotch::testing
