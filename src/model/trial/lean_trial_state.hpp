// SPDX-License-Identifier: Apache-2.0
// The state of a trial that takes the lean step, with the network and the rows that its training pass and its evaluator
// share. The model trains in the bound block.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/batches/unit.hpp"
#include "data/dataset/data_schema.hpp"
#include "experiment/config.hpp"
#include "model/lean/lean_memory.hpp"
#include "model/lean/lean_network.hpp"
#include "model/state/layout.hpp"
#include "model/trial/trial_state.hpp"

namespace hopscotch {

class Augmenter;
class Normaliser;
struct Manifest;
struct PickedRows;

class LeanTrialState final : public TrialState {
public:
    LeanTrialState(TrialConfig config, Manifest const& manifest, LeanModel model, std::shared_ptr<LeanMemory> memory);
    ~LeanTrialState() override;

    StateLayout const& layout() const override { return layout_; }
    void initialise(MutableBytes state, std::uint64_t seed, TrialId trial, int threads) override;
    void bind(MutableBytes state) override;
    bool end_epoch(double loss) override;
    void save(std::string const& path, Json const& metadata) override;
    bool finite() override;

    // For the training pass and the evaluator.
    TrialConfig const& config() const { return config_; }
    DataSchema const& data() const { return data_; }
    LeanMemory& memory() const { return *memory_; }
    Counters const& counters() const { return counters_; }  // of the bound state
    MutableBytes bound(std::string_view work) const;        // throws Error if no state is bound
    std::size_t parameter_floats() const { return parameter_floats_; }

    // The network on the bound state, for passes over at most this many rows.
    LeanNetwork& network(std::int64_t rows);

    // The picked rows, normalised, and augmented if there is an address, in memory().features. Their answers in
    // memory().labels or memory().targets.
    float const* gather(PickedRows const& picked, std::optional<UnitAddress> const& address);

private:
    LayoutRequest layout_request() const { return {model_.parameters, model_.buffers, {}, config_.train}; }

    TrialConfig config_;
    DataSchema data_;
    LeanModel model_;
    std::vector<std::string> pretrained_;  // names of tensors of model.init_from
    StateLayout layout_;
    std::size_t parameter_floats_;
    LeanNetwork network_;
    std::unique_ptr<Normaliser const> normaliser_;
    std::unique_ptr<Augmenter const> augmenter_;
    std::shared_ptr<LeanMemory> memory_;
    MutableBytes state_;
    Counters counters_;
};

}  // namespace hopscotch
