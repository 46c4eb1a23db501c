// SPDX-License-Identifier: Apache-2.0
// The state of a trial of any network, with the step and the feed that its training pass and its evaluator share. States
// rest in host memory; on a GPU bind() copies the floats to the device and the end of a unit copies them back, so that a hop
// always leaves from the host.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset/data_schema.hpp"
#include "experiment/config.hpp"
#include "model/state/layout.hpp"
#include "model/trial/trial_state.hpp"
#include "tensor/feed/feed.hpp"
#include "tensor/step/step.hpp"

namespace hopscotch {

class CachedStart;
class ShardSource;
struct TrainingNeed;

class TorchTrialState final : public TrialState {
public:
    TorchTrialState(TrialConfig config, Manifest const& manifest, std::unique_ptr<Network> network, Workspace& workspace);
    ~TorchTrialState() override;

    StateLayout const& layout() const override { return layout_; }
    void initialise(MutableBytes state, std::uint64_t seed, TrialId trial, int threads) override;
    void bind(MutableBytes state) override;
    std::uint64_t bind_again(MutableBytes state, std::uint64_t stamp) override;
    void fetch() override;
    void store() override;
    bool begin_store(MutableBytes state) override;
    void forget_store(MutableBytes state) override;
    bool begin_fetch() override;
    void await_fetch() override;
    std::optional<DeviceFloats> device_state() override;
    bool end_epoch(double loss) override;
    void save(std::string const& path, Json const& metadata) override;
    bool finite() override;

    // For the training pass and the evaluator.
    TrialConfig const& config() const { return config_; }
    DataSchema const& data() const { return data_; }  // as the network sees it
    Workspace::Impl& workspace() const { return workspace_; }
    Feed& feed() { return feed_; }
    // With model.cache_frozen, the network reads the outputs of the frozen layers for these rows of the shard; missing ones
    // are computed now (CachedStart::features). Null: the network reads the shard itself.
    bool has_cached_start() const { return cached_start_ != nullptr; }
    std::unique_ptr<ShardSource> features(ShardSource& shard, BatchRange const& rows, std::function<void()> const& on_batch);
    Step& step() { return step_; }
    Counters const& counters() const { return counters_; }           // of the bound state
    std::string const& memory_kind() const { return memory_kind_; }  // BatchKind::model
    TrainingNeed held() const;                                       // by the bound state and its gradient
    DeviceFloats on_device(at::Tensor const& floats) const;
    void require_bound(std::string_view work) const;
    void claim();  // before any work on the bound state
    void require_claimed() const;

private:
    LayoutRequest layout_request() const;
    at::Tensor floats_of(MutableBytes state) const;
    void point_to(MutableBytes state);
    void load_initial(MutableBytes state, std::vector<at::Tensor> const& values) const;

    TrialConfig config_;
    DataSchema data_;
    Workspace::Impl& workspace_;
    Feed feed_;
    Step step_;
    std::unique_ptr<CachedStart> cached_start_;
    std::vector<std::string> pretrained_;  // names of the tensors that init_from gives
    std::vector<bool> is_frozen_;
    FrozenParameters frozen_;
    StateLayout layout_;
    MutableBytes state_;
    Counters counters_;
    std::string memory_kind_;
    at::Tensor host_, device_;  // the floats of the bound state; one tensor on a CPU, on a GPU the workspace's block
};

// Of any device: no value is NaN or infinite. A kernel, no memory, one wait.
bool all_finite(at::Tensor const& floats);

}  // namespace hopscotch
