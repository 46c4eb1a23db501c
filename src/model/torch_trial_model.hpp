// SPDX-License-Identifier: Apache-2.0
// A trial of any network. States rest in host memory; on a GPU bind() copies the floats to the device and the end of a unit
// copies them back, so that a hop always leaves from the host.
#pragma once
#include <memory>

#include "model/feed.hpp"
#include "model/network.hpp"
#include "model/step.hpp"
#include "model/trial_model.hpp"

namespace hopscotch {

class TorchTrialModel final : public TrialModel {
public:
    TorchTrialModel(TrialConfig config, Manifest const& manifest, std::unique_ptr<Network> network, Workspace& workspace);

    StateLayout const& layout() const override { return layout_; }
    void initialise(MutableBytes state, std::uint64_t seed, TrialId trial) override;
    void bind(MutableBytes state) override;
    std::int64_t batch_size() const override { return config_.train.batch_size; }
    void begin_pass(ShardSource& shard, UnitAddress const& address, std::int64_t batch_size) override;
    std::int64_t next_gradient(GradientReady const& ready, std::function<void()> const& on_batch) override;
    PassCursor cursor() override;
    void skip_to(PassCursor const& cursor) override;
    UnitSums end_pass() override;
    std::span<float> gradient() override;
    std::optional<DeviceFloats> device_gradient() override;
    void zero_gradient() override;
    void update(std::int64_t rows) override;
    void count(std::int64_t rows) override;
    void fetch() override;
    void store() override;
    std::optional<DeviceFloats> device_state() override;
    void sum_with(SumOverGroup sum) override { step_.sum_with(std::move(sum)); }
    void evaluate(ShardSource& shard, BatchRange const& batches, Evaluation& into) override;
    std::int64_t evaluation_batches(std::int64_t rows) const override;
    void end_epoch(double loss) override;
    std::vector<float> predict(ShardSource& shard, BatchRange const& batches) override;
    void save(std::string const& path, Json const& metadata) override;
    double learning_rate() const override;
    bool finite() override;

private:
    LayoutRequest layout_request() const;
    void load_initial(MutableBytes state, std::vector<at::Tensor> const& values) const;
    void load_pretrained(MutableBytes state) const;
    double lr(std::int64_t batch) const;
    void claim();
    void train(Batch const& batch, std::uint64_t noise_key, GradientReady const& ready);
    DeviceFloats on_device(at::Tensor const& values) const;
    TrainingNeed held() const;  // by the bound state and its gradient
    void require_claimed() const;
    void add(at::Tensor const& outputs, at::Tensor const& answers, Evaluation& into) const;
    void add_tokens(at::Tensor const& outputs, at::Tensor const& tokens, Evaluation& into) const;
    template <class Visit>
    void for_each_batch(ShardSource& shard, BatchRange const& batches, Visit visit);

    TrialConfig config_;
    DataSchema data_;
    Workspace::Impl& workspace_;
    Feed feed_;
    Step step_;
    std::vector<std::string> pretrained_;  // names of what init_from gives
    std::vector<bool> is_frozen_;
    FrozenParameters frozen_;
    StateLayout layout_;
    MutableBytes state_;
    Counters counters_;
    std::int64_t evaluation_batch_;
    std::string memory_kind_;
    struct Training {  // the pass under way
        ShardSource* shard = nullptr;
        UnitAddress address;
        std::vector<std::uint32_t> order;
        std::vector<BatchRange> cut;
        FeedPass feed;
        std::size_t next = 0;
        std::int64_t rows = 0;
    } pass_;
    bool stays_on_device_ = false;  // device_gradient() was asked for last
    at::Tensor host_gradient_;      // on a GPU, once gradient() has been asked for, until device_gradient() is
    at::Tensor host_, device_;      // the floats of the bound state; one tensor on a CPU, on a GPU the workspace's block
};

// Of any device: no value is NaN or infinite. A kernel, no memory, one wait.
bool all_finite(at::Tensor const& floats);

}  // namespace hopscotch
