// SPDX-License-Identifier: Apache-2.0
// A trial of any network of the zoo. States rest in host memory; on a GPU bind() copies the floats to the device and the
// end of a unit copies them back, so that a hop always leaves from the host.
#pragma once
#include <memory>

#include "model/feed.hpp"
#include "model/network.hpp"
#include "model/step.hpp"
#include "model/trial_model.hpp"

namespace hopscotch {

class TorchTrialModel final : public TrialModel {
public:
    TorchTrialModel(TrialConfig config, DataSchema const& data, std::unique_ptr<Network> network,
                    Normaliser const& normaliser, Workspace& workspace);

    StateLayout const& layout() const override { return layout_; }
    void initialise(MutableBytes state, std::uint64_t seed, TrialId trial) override;
    void bind(MutableBytes state) override;
    Sums train_unit(Shard const& shard, UnitAddress const& address, std::function<void()> const& on_batch) override;
    void evaluate(Shard const& shard, std::int64_t first_batch, std::int64_t last_batch, Sums& sums) override;
    std::int64_t evaluation_batches(std::int64_t rows) const override;
    double learning_rate() const override;
    bool finite() override;

private:
    Sums evaluate_batch(Shard const& shard, BatchRange const& rows);

    TrialConfig config_;
    DataSchema data_;
    Workspace::Impl& workspace_;
    Feed feed_;
    Step step_;
    StateLayout layout_;
    MutableBytes state_;
    Counters counters_;
    at::Tensor host_, device_;  // the floats of the bound state; one tensor on a CPU
};

}  // namespace hopscotch
