// SPDX-License-Identifier: Apache-2.0
// Models that train apart from the block that they are bound to, as a GPU does. So tests without a GPU see where a strategy
// forgets to fetch or to store.
#pragma once
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "wrapped_model.hpp"

namespace hopscotch::testing {

// As a GPU has it: a pass trains a block of its own, and the bound one is as old as the last fetch().
class ApartState final : public WrappedState {
public:
    explicit ApartState(std::shared_ptr<TrialState> state) : WrappedState(std::move(state)) {}
    void bind(MutableBytes state) override {
        host_ = state;
        memory_.resize(state.size() + 64);
        auto* const at = memory_.data() + (64 - reinterpret_cast<std::uintptr_t>(memory_.data()) % 64);
        device_ = {at, state.size()};
        store();
        WrappedState::bind(device_);
    }
    void fetch() override { std::ranges::copy(device_, host_.begin()); }
    void store() override { std::ranges::copy(host_, device_.begin()); }

private:
    std::vector<std::byte> memory_;
    MutableBytes host_, device_;
};

class ApartPass final : public WrappedPass {
public:
    ApartPass(std::unique_ptr<TrainingPass> pass, TrialState& state) : WrappedPass(std::move(pass)), state_(state) {}
    void begin_pass(ShardSource& shard, UnitAddress const& address, std::int64_t batch_size) override {
        state_.store();
        WrappedPass::begin_pass(shard, address, batch_size);
    }
    PassCursor cursor() override {
        state_.fetch();
        return WrappedPass::cursor();
    }
    UnitSums end_pass(StateBack back) override {
        state_.fetch();
        return WrappedPass::end_pass(back);
    }

private:
    TrialState& state_;
};

inline TrialModel make_apart(TrialConfig const& config, Manifest const& manifest, Workspace& workspace) {
    auto model = make_trial_model(config, manifest, workspace);
    model.state = std::make_shared<ApartState>(std::move(model.state));
    model.training = std::make_unique<ApartPass>(std::move(model.training), *model.state);
    return model;
}

}  // namespace hopscotch::testing
